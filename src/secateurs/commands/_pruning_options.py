"""Options of a pruning: the method, the number of members to keep, and the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from secateurs._methods import AUTO, DEFAULT_TOLERANCE, METHODS
from secateurs.commands._member_costs import read_member_costs
from secateurs.commands._table_files import require_file
from secateurs.commands.command_errors import Refusal
from secateurs.commands.console_output import Output
from secateurs.commands.parameter_types import (
    KEEP,
    LATENCY,
    LOSS,
    SIZE,
    TOLERANCE,
    WEIGHT,
    combine_tolerances,
)
from secateurs.commands.shared_options import (
    N_JOBS,
    RANDOM_STATE,
    Decorator,
    bundle_options,
    file_option,
    option,
)
from secateurs.exceptions import BudgetError, ExecutorError, describe_error, import_extra
from secateurs.text_format import format_list

if TYPE_CHECKING:
    import pandas as pd

    from secateurs.pruners import BasePruner
    from secateurs.typing import MissingRule

WEIGHTED = tuple(name for name, method in METHODS.items() if method.has_diversity_weight)


@dataclass(frozen=True)
class MethodOptions:
    """Options about the selection of members that apply to several methods."""

    diversity_weight: float | str | None = None
    n_groups: int | None = None
    oob: bool = False
    missing: MissingRule | None = None
    scoring: tuple[str, ...] = ()
    cv: int | None = None
    random_state: int = 0
    n_jobs: int | None = None
    executor: str | None = None

    @property
    def main_scoring(self) -> str | None:
        """The score to optimise; None for the default."""
        return self.scoring[0] if self.scoring else None

    @property
    def scoring_parameter(self) -> str | list[str] | None:
        """The parameter ``scoring`` of `prune`: one score, or several."""
        return list(self.scoring) if len(self.scoring) > 1 else self.main_scoring

    @property
    def is_grouped(self) -> bool:
        """Whether members are pruned in groups."""
        return bool(self.n_groups) or self.executor is not None

    @property
    def default_pruner(self) -> str:
        """Method without ``--pruner``: COMEP if an option needs it, otherwise auto."""
        return AUTO if self.diversity_weight is None and not self.is_grouped else "comep"

    def check_options(self, name: str) -> None:
        """Raise if an option has no effect on the method."""
        if self.diversity_weight is not None and name not in WEIGHTED:
            raise click.UsageError(
                f"--diversity-weight applies to {format_list(WEIGHTED, ' and ')}, not to {name}."
            )
        if name == AUTO and self.is_grouped:
            raise click.UsageError("--pruner auto cannot be used with --n-groups or --scheduler.")

    def build_pruner(self, name: str) -> str | BasePruner:
        """Return the pruner with these options; "auto" stays a name."""
        from secateurs import DOMEP, EPFD, make_pruner

        if name == AUTO:
            return name
        has_weight = self.diversity_weight is not None and name in WEIGHTED
        weight: dict[str, Any] = {"diversity_weight": self.diversity_weight} if has_weight else {}
        grouping: dict[str, Any] = {
            "n_groups": self.n_groups or "auto",
            "n_jobs": self.n_jobs,
            "random_state": self.random_state,
        }
        if name == "domep" or (name == "comep" and self.n_groups):
            return DOMEP(**grouping, **weight)
        pruner = make_pruner(name, **weight).seed(self.random_state)
        if self.scoring and "scoring" in pruner.get_params(deep=False):
            pruner.set_params(scoring=self.main_scoring)
        return EPFD(pruner, **grouping) if name != "comep" and self.is_grouped else pruner


@dataclass(frozen=True)
class BudgetOptions:
    """Budgets of the pruned ensemble, with the parameter names of `secateurs.prune`."""

    tolerance: float | tuple[tuple[str, float], ...] | None = None
    max_bytes: float | None = None
    max_latency: float | None = None
    cost: Path | list[float] | None = None  # the file; after `with_costs`, the costs in it
    max_cost: float | None = None
    max_group_loss: float | None = None

    def check_options(self) -> None:
        """Raise if ``--max-cost`` is set without ``--cost``, or the file does not exist."""
        if self.cost is None and self.max_cost is not None:
            raise click.UsageError("--max-cost needs --cost FILE: the cost of each member.")
        if isinstance(self.cost, Path):
            require_file(self.cost)

    def with_costs(self, names: Sequence[str]) -> Self:
        """Return the budgets with the costs of these members, read from the file."""
        if not isinstance(self.cost, Path):
            return self
        return replace(self, cost=read_member_costs(self.cost, names))

    @property
    def cost_arguments(self) -> list[str]:
        """``--cost`` and ``--max-cost`` as words of a command, before `with_costs`."""
        if self.cost is None or getattr(self, "keep", None) is not None:
            return []
        limit = [] if self.max_cost is None else ["--max-cost", f"{self.max_cost:.15g}"]
        return ["--cost", str(self.cost), *limit]

    @property
    def given_limits(self) -> dict[str, Any]:
        """The budgets that are set, by parameter name."""
        values = {name: getattr(self, name) for name in BudgetOptions.__dataclass_fields__}
        values["tolerance"] = self.tolerance_parameter
        return {name: value for name, value in values.items() if value is not None}

    @property
    def tolerance_parameter(self) -> float | dict[str, float] | None:
        """The parameter ``tolerance`` of `prune`: one for the first score, or one per score."""
        return dict(self.tolerance) if isinstance(self.tolerance, tuple) else self.tolerance

    def filter_leaderboard(self, board: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a leaderboard that meet all budgets."""
        from secateurs.units import format_bytes, format_milliseconds, round_up

        # The majority class has no members: it meets no budget.
        meets = board["members"] > 0 if self.given_limits else board["members"] >= 0
        is_pruned = (board["members"] > 0) & (board["members"] < board["members"].max())
        pruned = board[is_pruned]
        best = []  # per budget, the best value of the comparison
        # 1e-12 allows for rounding errors: a value equal to the budget meets it.
        if isinstance(self.tolerance, float):
            meets &= board["change"] >= -self.tolerance - 1e-12
            best.append(f"the least loss is {round_up(max(0.0, -pruned['change'].max())):.15g}")
        if self.max_bytes is not None:
            meets &= board["bytes"] <= self.max_bytes
            best.append(f"the smallest takes {format_bytes(pruned['bytes'].min())}")
        if self.max_latency is not None:
            meets &= board["ms"] <= 1e3 * self.max_latency
            best.append(f"the fastest takes {format_milliseconds(pruned['ms'].min() / 1e3)}")
        if self.max_cost is not None:
            meets &= board["cost"] <= self.max_cost * (1 + 1e-12)
            best.append(f"the cheapest costs {round_up(pruned['cost'].min(), 6):.15g}")
        if not meets[pruned.index].any():
            raise BudgetError(
                f"no result of the comparison meets the budget: {format_list(best)}. Allow more, "
                "or compare other sizes with {keep}.",
                keep=...,
            )
        return board[meets]


@dataclass(frozen=True)
class SizeOptions(BudgetOptions):
    """A number of members to keep, or budgets."""

    keep: int | float | None = None
    relative_to: str = "best"

    def check_options(self) -> None:
        """Raise if a number of members is combined with a budget."""
        super().check_options()
        if self.keep is not None and set(self.given_limits) - {"cost"}:
            raise click.UsageError("--keep and a budget exclude each other. Pass only one.")

    @property
    def budget_parameters(self) -> dict[str, Any]:
        """Budgets for `secateurs.prune` that are set."""
        if self.keep is not None:
            return {}
        return self.given_limits | {"relative_to": self.relative_to}

    @property
    def keep_parameter(self) -> int | float | str | None:
        """The parameter ``keep`` of `secateurs.prune`: "auto" without a number or budget."""
        return AUTO if self.keep is None and not self.given_limits else self.keep

    def describe_reason(self, score: str, decided_by: str = "", size_reason: str = "") -> str:
        """Return the reason for the number of kept members, to follow that number."""
        if size_reason:
            return f": {size_reason}"
        if self.limits_score:
            reference = "the best size's" if self.relative_to == "best" else "the full ensemble's"
            decision = f"; {decided_by} decided" if decided_by else ""
            return f": the fewest {self._tolerance_text(reference, score)}{decision}"
        decision = f" ({decided_by})" if decided_by else ""
        return "" if self.keep is not None else f": as many as the budget allows{decision}"

    @property
    def limits_score(self) -> bool:
        """Whether held-out scores decide the number of members."""
        given = self.budget_parameters
        is_cheapest = "cost" in given and "max_cost" not in given
        return is_cheapest or bool({"tolerance", "max_group_loss"} & set(given))

    def _tolerance_text(self, reference: str, score: str) -> str:
        tolerance = self.budget_parameters.get("tolerance", DEFAULT_TOLERANCE)
        if isinstance(tolerance, dict):
            texts = [f"{loss:g} of {reference} {name}" for name, loss in tolerance.items()]
        else:
            texts = [f"{tolerance:g} of {reference} {score}"]
        return f"within {format_list(texts, ' and ')} on held-out samples"

    def check_result(
        self,
        n_kept: int,
        n_members: int,
        score: str,
        least_tolerance: float | None = None,
        size_reason: str = "",
    ) -> None:
        """Raise if the result is the full ensemble."""
        if n_kept < n_members:
            return
        if size_reason:
            raise BudgetError(
                f"all {n_members} members are needed: {size_reason}. Allow a loss with "
                "{tolerance}, or pass {keep}.",
                tolerance=...,
                keep=...,
            )
        if self.limits_score:
            from secateurs.units import round_up

            reached = ""
            if least_tolerance is not None:
                reached = f" The smallest possible tolerance is {round_up(least_tolerance):.15g}."
            raise BudgetError(
                f"no sub-ensemble smaller than all {n_members} members is "
                f"{self._tolerance_text('their', score)}.{reached} Allow more with {{tolerance}}, "
                "or pass {keep}.",
                tolerance=...,
                keep=...,
            )
        raise Refusal(
            "nothing_to_prune",
            f"all {n_members} members meet the budget: there is nothing to prune. Lower it.",
        )


def check_keep_option(keep: int | float | None, n_members: int, out: Output) -> None:
    """Raise if ``--keep`` keeps all members, and warn if it keeps a single member."""
    from secateurs.pruners.parameters import resolve_keep

    if keep is None:
        return
    n_keep = keep if isinstance(keep, int) else resolve_keep(keep, n_members) or 1
    if n_keep >= n_members:
        raise Refusal(
            "nothing_to_prune",
            f"--keep {keep} keeps all {n_members} members: there is nothing to prune. Pass a count "
            f"up to {n_members - 1}, or a fraction.",
        )
    if n_keep == 1:
        out.warn(f"--keep {keep} leaves a single member, which is no longer an ensemble.")


@contextmanager
def dask_client(scheduler: str | None, n_jobs: int | None, out: Output) -> Iterator[Any]:
    """Yield a client of a Dask cluster, started if it is local; None without ``--scheduler``."""
    if scheduler is None:
        yield None
        return
    distributed = import_extra("distributed", "dask", "--scheduler")
    try:
        if scheduler == "local":
            client = distributed.Client(
                n_workers=n_jobs or 2,
                threads_per_worker=1,
                host="127.0.0.1",  # not reachable from other machines
                dashboard_address="127.0.0.1:0",  # any free port
                silence_logs=50,  # only critical messages: stderr is for our own lines
            )
        else:
            client = distributed.Client(scheduler, timeout="10s")
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        raise ExecutorError(
            f"--scheduler {scheduler}: {describe_error(error)}. Start it first: dask scheduler"
        ) from error
    with client:
        out.print_note(f"cluster: {client.dashboard_link}")
        yield client


def cost_option(text: str) -> Decorator:
    """Declare ``--cost``; ``text`` is added to its help."""
    return file_option(
        "--cost",
        help="Costs of the members: a table with the columns name and cost, or one number per "
        f"line, in the order of the members. {text}",
    )


def scheduler_option(text: str) -> Decorator:
    """Declare ``--scheduler`` with its help."""
    return option("--scheduler", "executor", metavar="ADDRESS|local", help=text)


_SCORE_OPTIONS = (
    option("--oob", is_flag=True, help="DATA is the training set: use out-of-bag predictions."),
    option(
        "--missing",
        type=click.Choice(["wrong", "ignore"]),
        help="What a missing prediction means: a wrong answer, or nothing. Default: wrong for "
        "--predictions, ignore for --oob.",
    ),
    option(
        "--scoring",
        metavar="NAME",
        multiple=True,
        help="Score to optimise and report, by its name in scikit-learn: balanced_accuracy, "
        "neg_log_loss, roc_auc, … Repeatable: the first is optimised, all are reported. Default: "
        "accuracy; r2 for regressors.",
    ),
    option(
        "--cv",
        type=click.IntRange(min=2),
        metavar="N",
        help="Number of cross-validation folds. Default: 5.",
    ),
    RANDOM_STATE,
    N_JOBS,
)
SCORE_OPTIONS = bundle_options("method", MethodOptions, *_SCORE_OPTIONS)
METHOD_OPTIONS = bundle_options(
    "method",
    MethodOptions,
    option(
        "--diversity-weight",
        type=WEIGHT,
        aliases=["--lambda"],
        help=f"Weight of diversity (λ) in {format_list(WEIGHTED, ' and ')}: from 0 to 1, or auto. "
        "Default: 0.5.",
    ),
    option(
        "--n-groups",
        type=click.IntRange(min=1),
        metavar="M",
        help="Prune in M random groups of members, then prune the members that the groups keep.",
    ),
    *_SCORE_OPTIONS,
    scheduler_option(
        "Prune on a Dask cluster: address of its scheduler, or local to start one. Methods other "
        "than comep and domep then prune in groups."
    ),
)
_LIMIT_OPTIONS = (
    option(
        "--tolerance",
        type=TOLERANCE,
        multiple=True,
        callback=combine_tolerances,
        help="Maximum loss of accuracy (or --scoring) on held-out samples, such as 0.01 or 1%; or "
        "of several scores, each as NAME=LOSS.",
    ),
    option(
        "--max-bytes",
        type=SIZE,
        aliases=["--max-size"],
        help="Maximum size of the pickled model, such as 5MB.",
    ),
    option("--max-latency", type=LATENCY, help="Maximum time to predict one sample, such as 2ms."),
    cost_option("Without --max-cost, the cheapest members within --tolerance are kept."),
    option(
        "--max-cost",
        type=click.FloatRange(min=0),
        metavar="TOTAL",
        help="Maximum total of the kept members' costs (--cost).",
    ),
    option(
        "--max-group-loss",
        type=LOSS,
        help="Maximum loss of the score in any subgroup of --sensitive-features.",
    ),
)
LIMIT_OPTIONS = bundle_options("limits", BudgetOptions, *_LIMIT_OPTIONS)
SIZE_OPTIONS = bundle_options(
    "size",
    SizeOptions,
    option(
        "-k",
        "--keep",
        type=KEEP,
        help="Number of members to keep: 50, 0.1 or 10%. "
        "Default: the fewest that keep the ensemble's predictions nearly unchanged; of different "
        "models, the best size.",
    ),
    option(
        "--relative-to",
        type=click.Choice(["best", "full"]),
        default="best",
        show_default=True,
        help="Reference of --tolerance: the better of the full ensemble and the size with the best "
        "held-out score, or the full ensemble.",
    ),
    *_LIMIT_OPTIONS,
)
