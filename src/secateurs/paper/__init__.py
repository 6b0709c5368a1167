"""Experiments of the paper: data sets, protocol, plans, runner, tables and figures."""

from secateurs.paper._plan import PLANS, PaperRow, Plan
from secateurs.paper._plan_files import load_plan, read_plan
from secateurs.paper._plan_results import load_results
from secateurs.paper._plan_runner import Outcome, run
from secateurs.paper._reproduce import reproduce
from secateurs.paper.claims import Claim

__all__ = [
    "PLANS",
    "Claim",
    "Outcome",
    "PaperRow",
    "Plan",
    "load_plan",
    "load_results",
    "read_plan",
    "reproduce",
    "run",
]
