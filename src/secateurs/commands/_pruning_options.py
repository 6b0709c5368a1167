"""Settings of a pruning: the method, how many members to keep, and where the work runs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import click

from secateurs._methods import AUTO, DEFAULT_TOLERANCE, METHODS
from secateurs.commands._member_costs import read_member_costs
from secateurs.commands._table_files import require_file
from secateurs.commands.command_errors import Refusal
from secateurs.commands.console_output import Output
from secateurs.commands.shared_options import (
    KEEP,
    LATENCY,
    LOSS,
    N_JOBS,
    RANDOM_STATE,
    SIZE,
    WEIGHT,
    Decorator,
    bundle_options,
    file_option,
    option,
)
from secateurs.exceptions import BudgetError, ExecutorError, describe_error, import_extra
from secateurs.text_format import format_list

WEIGHTED = tuple(name for name, method in METHODS.items() if method.has_diversity_weight)


@dataclass(frozen=True)
class MethodOptions:
    """How members are chosen, by whichever pruner."""

    diversity_weight: float | str | None = None
    n_groups: int | None = None
    oob: bool = False
    scoring: str | None = None
    random_state: int = 0
    n_jobs: int | None = None
    executor: str | None = None

    @property
    def is_grouped(self) -> bool:
        """Whether pruners work in groups of members."""
        return bool(self.n_groups) or self.executor is not None

    @property
    def default_pruner(self) -> str:
        """The method for these options where none is named: COMEP if they are about it."""
        return AUTO if self.diversity_weight is None and not self.is_grouped else "comep"

    def check_options(self, name: str) -> None:
        """Refuse options that have no effect on the pruner."""
        if self.diversity_weight is not None and name not in WEIGHTED:
            raise click.UsageError(
                f"--diversity-weight applies to {format_list(WEIGHTED, ' and ')}, not to {name}."
            )
        if name == AUTO and self.is_grouped:
            raise click.UsageError("--pruner auto cannot be used with --n-groups or --scheduler.")

    def build_pruner(self, name: str) -> Any:
        """Return the pruner; "auto" stays a name."""
        from secateurs import DOMEP, EPFD, make_pruner

        if name == AUTO:
            return name
        weighted = self.diversity_weight is not None and name in WEIGHTED
        own: dict[str, Any] = {"diversity_weight": self.diversity_weight} if weighted else {}
        spread: dict[str, Any] = {
            "n_groups": self.n_groups or "auto",
            "n_jobs": self.n_jobs,
            "random_state": self.random_state,
        }
        if name == "domep" or (name == "comep" and self.n_groups):
            return DOMEP(**spread, **own)
        pruner = make_pruner(name, **own).seed(self.random_state)
        if self.scoring is not None and "scoring" in pruner.get_params(deep=False):
            pruner.set_params(scoring=self.scoring)
        return EPFD(pruner, **spread) if name != "comep" and self.is_grouped else pruner


@dataclass(frozen=True)
class BudgetOptions:
    """What the kept members may cost, by the names that `secateurs.prune` has for it."""

    tolerance: float | None = None
    max_bytes: float | None = None
    max_latency: float | None = None
    cost: Any = None  # a file; with `with_costs`, the costs in it
    max_cost: float | None = None

    def check_options(self) -> None:
        """Refuse costs without a total, and the other way round, before anything is read."""
        if (self.cost is None) != (self.max_cost is None):
            raise click.UsageError("--cost and --max-cost go together. Give both, or none.")
        if self.cost is not None:
            require_file(self.cost)

    def with_costs(self, names: Sequence[str]) -> Self:
        """Return the limits with the costs that the file has for these members."""
        return (
            self if self.cost is None else replace(self, cost=read_member_costs(self.cost, names))
        )

    @property
    def cost_arguments(self) -> list[str]:
        """The options that say what members may cost, if the costs are not read yet."""
        if self.cost is None:
            return []
        return ["--cost", str(self.cost), "--max-cost", f"{self.max_cost:.15g}"]

    @property
    def given_limits(self) -> dict[str, Any]:
        """The limits that are set."""
        named = {name: getattr(self, name) for name in BudgetOptions.__dataclass_fields__}
        return {name: value for name, value in named.items() if value is not None}

    def filter_leaderboard(self, board: Any) -> Any:
        """Return the rows of a leaderboard that meet the limits."""
        from secateurs.units import format_bytes, format_milliseconds, round_up

        meets = board["members"] > 0
        others = board[board["members"] < board["members"].max()]
        reached = []
        if self.tolerance is not None:
            meets &= board["change"] >= -self.tolerance - 1e-12
            reached.append(f"the least loss is {round_up(max(0.0, -others['change'].max())):.15g}")
        if self.max_bytes is not None:
            meets &= board["bytes"] <= self.max_bytes
            reached.append(f"the smallest takes {format_bytes(others['bytes'].min())}")
        if self.max_latency is not None:
            meets &= board["ms"] <= 1e3 * self.max_latency
            reached.append(f"the fastest takes {format_milliseconds(others['ms'].min() / 1e3)}")
        if self.max_cost is not None:
            meets &= board["cost"] <= self.max_cost * (1 + 1e-12)
            reached.append(f"the cheapest costs {round_up(others['cost'].min(), 6):.15g}")
        if not meets[others.index].any():
            raise BudgetError(
                f"no result of the comparison meets the budget: {format_list(reached)}. Allow more, or "
                "compare other sizes with {keep}.",
                keep=...,
            )
        return board[meets]


@dataclass(frozen=True)
class SizeOptions(BudgetOptions):
    """A number of members, or limits."""

    keep: int | float | None = None

    def check_options(self) -> None:
        """Refuse a number combined with limits."""
        super().check_options()
        if self.keep is not None and self.given_limits:
            raise click.UsageError("--keep and a budget exclude each other. Give one of them.")

    @property
    def budget_parameters(self) -> dict[str, Any]:
        """What `secateurs.prune` takes besides keep: the limits, or the default tolerance."""
        if self.given_limits or self.keep is not None:
            return self.given_limits
        return {"tolerance": DEFAULT_TOLERANCE}

    def describe_reason(self, score: str) -> str:
        """Return why this many members are kept."""
        if "tolerance" in self.budget_parameters:
            tolerance = f"within {self.budget_parameters['tolerance']:g} of all members' {score}"
            return f": the fewest {tolerance} on held-out rows"
        return "" if self.keep is not None else ": as many as the budget allows"

    def check_result(
        self, n_kept: int, n_members: int, score: str, least: float | None = None
    ) -> None:
        """Refuse a result that is the whole ensemble; a tolerance of ``least`` would help."""
        if n_kept < n_members:
            return
        if "tolerance" in self.budget_parameters:
            from secateurs.units import round_up

            reached = "" if least is None else f" Reachable is {round_up(least):.15g}."
            raise BudgetError(
                f"no sub-ensemble smaller than all {n_members} members is within "
                f"{self.budget_parameters['tolerance']:g} of their {score} on held-out rows.{reached} Allow "
                "more with {tolerance}, or give {keep}.",
                tolerance=...,
                keep=...,
            )
        raise Refusal(
            "nothing_to_prune",
            f"all {n_members} members meet the budget: there is nothing to prune. Give less.",
        )


def check_keep_option(keep: int | float | None, n_members: int, out: Output) -> None:
    """Refuse to keep all members, and warn about keeping a single one."""
    from secateurs.pruners.parameters import resolve_keep

    if keep is None:
        return
    n_keep = keep if isinstance(keep, int) else resolve_keep(keep, n_members) or 1
    if n_keep >= n_members:
        raise Refusal(
            "nothing_to_prune",
            f"--keep {keep} keeps all {n_members} members: there is nothing to prune. Give a count "
            f"up to {n_members - 1}, or a fraction.",
        )
    if n_keep == 1:
        out.warn(f"--keep {keep} leaves a single member, which is no longer an ensemble.")


@contextmanager
def dask_client(scheduler: str | None, n_jobs: int | None, out: Output) -> Iterator[Any]:
    """Connect to a Dask cluster, or start one on this machine; None without ``--scheduler``."""
    if scheduler is None:
        yield None
        return
    distributed = import_extra("distributed", "dask", "--scheduler")
    try:
        if scheduler == "local":
            client = distributed.Client(
                n_workers=n_jobs or 2,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=50,
            )
        else:
            client = distributed.Client(scheduler, timeout="10s")
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        raise ExecutorError(
            f"--scheduler {scheduler}: {describe_error(error)}. Start one first: dask scheduler"
        ) from error
    with client:
        out.print_note(f"cluster: {client.dashboard_link}")
        yield client


def scheduler_option(text: str) -> Decorator:
    """Declare ``--scheduler`` with its help."""
    return option("--scheduler", "executor", metavar="ADDRESS|local", help=text)


METHOD_OPTIONS = bundle_options(
    "method",
    MethodOptions,
    option(
        "--diversity-weight",
        type=WEIGHT,
        aliases=["--lambda"],
        help=f"Weight of diversity (λ) in {format_list(WEIGHTED, ' and ')}: 0 to 1, or auto. "
        "Default: 0.5.",
    ),
    option(
        "--n-groups",
        type=click.IntRange(min=1),
        metavar="M",
        aliases=["--groups"],
        help="Prune in M random groups of members, then among the members they keep.",
    ),
    option("--oob", is_flag=True, help="DATA is the training set: use out-of-bag votes only."),
    option(
        "--scoring",
        metavar="NAME",
        help="The score that matters, by its name in scikit-learn: balanced_accuracy, "
        "neg_log_loss, roc_auc, … Default: accuracy, for regressors r2.",
    ),
    RANDOM_STATE,
    N_JOBS,
    scheduler_option(
        "Address of a Dask scheduler, or local: prune on a cluster. Pruners other than comep and "
        "domep then work in groups."
    ),
)
_LIMIT_OPTIONS = (
    option(
        "--tolerance",
        type=LOSS,
        help="Maximum loss of accuracy, or of --scoring, on held-out rows, such as 0.01 or 1%.",
    ),
    option(
        "--max-bytes",
        type=SIZE,
        aliases=["--max-size"],
        help="Maximum size of the pickled model, such as 5MB.",
    ),
    option("--max-latency", type=LATENCY, help="Maximum time to predict one row, such as 2ms."),
    file_option(
        "--cost",
        help="What each member costs: a table with the columns name and cost, or one number a line "
        "in the order of the members.",
    ),
    option(
        "--max-cost",
        type=click.FloatRange(min=0),
        metavar="TOTAL",
        help="Maximum total cost of the members kept, by --cost.",
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
        f"Default: the fewest that meet --tolerance {DEFAULT_TOLERANCE}.",
    ),
    *_LIMIT_OPTIONS,
)
