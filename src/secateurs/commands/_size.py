"""How many members to keep: a number, or what they may cost."""

from dataclasses import dataclass
from typing import Any

import click

from secateurs.commands._errors import Refusal
from secateurs.commands._options import bundled
from secateurs.commands._output import Output
from secateurs.commands._types import KEEP, LATENCY, SIZE
from secateurs.exceptions import BudgetError

DEFAULT_TOLERANCE = 0.005
_LIMITS = (
    click.option(
        "--tolerance",
        type=click.FloatRange(0, 1),
        help="The fewest members that lose at most so much accuracy on rows held out.",
    ),
    click.option("--max-size", type=SIZE, help="At most so large, pickled: 5MB."),
    click.option("--max-latency", type=LATENCY, help="One row predicted in at most: 2ms."),
)


@dataclass(frozen=True)
class Limits:
    """What the kept members may cost."""

    tolerance: float | None = None
    max_size: float | None = None
    max_latency: float | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The limits that are set, by the names that `secateurs.prune` has for them."""
        named = {
            "tolerance": self.tolerance,
            "max_bytes": self.max_size,
            "max_latency": self.max_latency,
        }
        return {name: value for name, value in named.items() if value is not None}

    def apply(self, board: Any) -> Any:
        """Keep the lines of a leaderboard that meet the limits."""
        meets = board["members"] > 0
        if self.tolerance is not None:
            meets &= board["change"] >= -self.tolerance - 1e-12
        if self.max_size is not None:
            meets &= board["bytes"] <= self.max_size
        if self.max_latency is not None:
            meets &= board["ms"] <= 1e3 * self.max_latency
        whole = board["members"] == board["members"].max()
        if not (meets & ~whole).any():
            raise BudgetError("no line of the comparison meets the budget. Allow more.")
        return board[meets]


@dataclass(frozen=True)
class Size(Limits):
    """A number of members, or limits."""

    keep: int | float | None = None

    def check(self) -> None:
        """Refuse a number beside limits."""
        if self.keep is not None and self.given:
            raise click.UsageError("--keep and a budget exclude each other. Give one of them.")

    @property
    def budget(self) -> dict[str, Any]:
        """What `secateurs.prune` takes besides keep: the limits, or the usual tolerance."""
        if self.given or self.keep is not None:
            return self.given
        return {"tolerance": DEFAULT_TOLERANCE}

    @property
    def reason(self) -> str:
        """Say why it is so many."""
        if "tolerance" in self.budget:
            least = f"the fewest within {self.budget['tolerance']:g} of all members' accuracy"
            return f": {least} on rows held out"
        return "" if self.keep is not None else ": as many as the budget allows"

    def check_result(self, n_kept: int, n_members: int) -> None:
        """Refuse a result that is the whole ensemble."""
        if n_kept < n_members:
            return
        if "tolerance" in self.budget:
            raise BudgetError(
                f"no sub-ensemble smaller than all {n_members} members is within "
                f"{self.budget['tolerance']:g} of their accuracy on rows held out. Allow more with "
                "--tolerance, or give --keep."
            )
        raise Refusal(
            "nothing_to_prune",
            f"all {n_members} members meet the budget: there is nothing to prune. Give less.",
        )


def check_keep(keep: int | float | None, n_members: int, out: Output) -> None:
    """Refuse to keep everything, and warn of keeping a single member."""
    from secateurs.pruners._base import resolve_keep

    if keep is None:
        return
    n_keep = keep if isinstance(keep, int) else resolve_keep(keep, n_members) or 1
    if n_keep >= n_members:
        raise Refusal(
            "nothing_to_prune",
            f"--keep {keep} keeps all of the {n_members} members: there is nothing to prune. Give "
            f"a count up to {n_members - 1}, or a fraction.",
        )
    if n_keep == 1:
        out.warn(f"--keep {keep} leaves a single member, which is no ensemble any more.")


LIMITS = bundled("limits", Limits, *_LIMITS)
SIZE_OPTIONS = bundled(
    "size",
    Size,
    click.option(
        "-k",
        "--keep",
        type=KEEP,
        help="Members to keep: 50, 0.1 or 10%. "
        f"Default: the fewest within --tolerance {DEFAULT_TOLERANCE}.",
    ),
    *_LIMITS,
)
