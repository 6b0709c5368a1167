"""The registry of pruning methods: all that is known of each, without importing any of them."""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple


class Style(NamedTuple):
    """Colour (by name), dashes (lengths on and off, none for a solid line) and marker of a line."""

    colour: str
    dashes: tuple[float, ...]
    marker: str | tuple[int, int, int]


@dataclass(frozen=True)
class Method:
    """What the package knows of a pruning method.

    Attributes
    ----------
    name : str
        Its short name.
    path : str
        Module and class, inside of the package.
    summary, criterion, cost : str
        What it does; what it looks at; what it counts, for n members, k to keep and d rows.
    citation : str or None
        Key of its paper in ``references.bib``.
    needs_y, takes_missing, is_nested, may_keep_fewer, larger_is_better, most_rounds
        Declarations, as `secateurs.pruners.BasePruner` documents them, for default parameters.
    decides : str or None
        What it keeps with ``keep=None``; None where ``keep`` must be given.
    weighted : bool
        Whether it has a ``diversity_weight``.
    by_member_order : bool
        Whether the order of the members plays a part beyond ties, as by training or random draws.
    by_class_order : bool
        Whether the order of the classes plays a part: tied votes go to the lowest.
    beside : int or None
        Its place among the methods that a report shows beside the one that pruned; None where it
        takes too long or says too little.
    is_floor : bool
        Whether it is what every other method must beat.
    heading : str or None
        Its name in tables and figures; None for the short name in capitals.
    style : Style or None
        How figures draw it; None derives a style from its place in the registry.
    """

    name: str
    path: str
    summary: str
    criterion: str
    cost: str
    citation: str | None = None
    needs_y: bool = True
    takes_missing: bool = True
    is_nested: bool = False
    may_keep_fewer: bool = False
    decides: str | None = None
    larger_is_better: bool | None = None
    weighted: bool = False
    by_member_order: bool = False
    by_class_order: bool = False
    most_rounds: int | None = None
    beside: int | None = 8
    is_floor: bool = False
    heading: str | None = None
    style: Style | None = None

    @property
    def home(self) -> str:
        """The full name of its module."""
        return f"secateurs.{self.path}".rpartition(".")[0]

    @property
    def pruner(self) -> str:
        """The name of its class."""
        return self.path.rpartition(".")[2]

    @property
    def keeps(self) -> str:
        """What it keeps, in words."""
        exactly = "at most `keep`" if self.may_keep_fewer else "`keep`"
        return exactly if self.decides is None else f"{exactly}, or {self.decides}"

    @property
    def label(self) -> str:
        """Its name in tables and figures."""
        return self.heading or self.name.upper()

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What its class declares, as class attributes of `secateurs.pruners.BasePruner`."""
        names = ("needs_y", "takes_missing", "is_nested", "may_keep_fewer", "larger_is_better")
        facts = {name: getattr(self, name) for name in (*names, "most_rounds")}
        return facts | {"may_decide_size": self.decides is not None}

    def load(self) -> Any:
        """Import its class."""
        return getattr(import_module(self.home), self.pruner)


_PAIRS = "pairs of members, each over d rows"
_ROUNDS = "n² ln n rounds, at most 50,000, "

METHODS = {
    method.name: method
    for method in (
        Method(
            "comep",
            "pruners._comep.COMEP",
            "Add the member farthest from those chosen, by diversity and relevance",
            "diversity and relevance, by information",
            f"n·k {_PAIRS}",
            "bian2020",
            is_nested=True,
            larger_is_better=True,
            weighted=True,
            beside=1,
            style=Style("blue", (), "o"),
        ),
        Method(
            "domep",
            "distributed._epfd.DOMEP",
            "COMEP in random groups, then among their choices",
            "diversity and relevance, in random groups",
            f"n·k/m {_PAIRS}, for each of m groups at once; then m·k²",
            "bian2020",
            larger_is_better=True,
            weighted=True,
            by_member_order=True,
            beside=2,
            style=Style("orange", (), "*"),
        ),
        Method(
            "kl",
            "pruners._kl.KLDivergencePruner",
            "Add the member whose distribution diverges most from those chosen",
            "how members' distributions diverge",
            "n·k pairs of distributions",
            "margineantu1997",
            needs_y=False,
            is_nested=True,
            larger_is_better=True,
            by_member_order=True,
            beside=None,
            style=Style("sky", (4, 1.5), "v"),
        ),
        Method(
            "kp",
            "pruners._kappa.KappaPruner",
            "Take the pairs of members that agree least",
            "agreement of pairs (Cohen's κ)",
            f"n²/2 {_PAIRS}",
            "margineantu1997",
            needs_y=False,
            is_nested=True,
            beside=7,
            style=Style("purple", (1, 1), "^"),
        ),
        Method(
            "oo",
            "pruners._orientation.OrientationOrderingPruner",
            "Order members by their angle to what the ensemble gets wrong",
            "where the ensemble falls short",
            "n members over d rows",
            "martinez2006",
            takes_missing=False,
            is_nested=True,
            decides="all that point the right way",
            beside=6,
            style=Style("green", (6, 1, 1, 1), "s"),
        ),
        Method(
            "re",
            "pruners._reduced_error.ReducedErrorPruner",
            "Add the member that most improves the vote",
            "errors of the vote",
            "n·k votes over d rows",
            "margineantu1997",
            is_nested=True,
            larger_is_better=False,
            by_class_order=True,
            beside=3,
            style=Style("amber", (5, 1), "D"),
        ),
        Method(
            "drep",
            "pruners._drep.DREP",
            "Add the member that most improves the vote, of those that differ most",
            "errors of the vote among the most different",
            f"n·k {_PAIRS}, and votes over d rows for a share of them",
            "li2012",
            is_nested=True,
            decides="the best prefix",
            larger_is_better=False,
            by_class_order=True,
            beside=5,
            style=Style("grey", (3, 1, 1, 1, 1, 1), "P"),
        ),
        Method(
            "sep",
            "pruners._sep.SEP",
            "Flip random members in and out, and stay with what is no worse",
            "errors of the vote, by random search",
            f"{_ROUNDS}of one vote over d rows each",
            "qian2015",
            may_keep_fewer=True,
            decides="what it finds",
            larger_is_better=False,
            by_member_order=True,
            most_rounds=2000,
            beside=None,
            style=Style("sky", (1, 2), "X"),
        ),
        Method(
            "oep",
            "pruners._oep.OEP",
            "Order members by the vote, and cut where it has the fewest errors",
            "errors of the vote, by ordering",
            "n·k votes over d rows",
            "qian2015",
            is_nested=True,
            decides="the best prefix",
            larger_is_better=False,
            beside=4,
            style=Style("purple", (8, 2), "<"),
        ),
        Method(
            "pep",
            "pruners._pep.PEP",
            "Search at random for few errors and few members at once",
            "errors and size at once",
            f"{_ROUNDS}some of n² votes over d rows",
            "qian2015",
            may_keep_fewer=True,
            decides="what it finds",
            larger_is_better=False,
            by_member_order=True,
            most_rounds=50,
            beside=None,
            style=Style("green", (2, 1), ">"),
        ),
        Method(
            "es",
            "pruners._early_stopping.EarlyStoppingPruner",
            "Keep the members trained first",
            "the order of training",
            "nothing",
            "margineantu1997",
            needs_y=False,
            is_nested=True,
            by_member_order=True,
            beside=None,
            style=Style("amber", (1, 4), "p"),
        ),
        Method(
            "random",
            "pruners._random.RandomPruner",
            "Keep random members, which every other method must beat",
            "nothing: the floor",
            "nothing",
            needs_y=False,
            is_nested=True,
            by_member_order=True,
            beside=10,
            is_floor=True,
            heading="Random",
            style=Style("black", (1, 3), "x"),
        ),
        Method(
            "best",
            "pruners._best_members.BestMembersPruner",
            "Keep the most accurate members",
            "accuracy of each member alone",
            "n members over d rows",
            is_nested=True,
            beside=9,
            heading="Best",
            style=Style("black", (4, 4), "+"),
        ),
    )
}


def method_of(pruner: Any) -> Method | None:
    """Return the entry of a pruner or of its class; None for a class that is not registered."""
    kind = pruner if isinstance(pruner, type) else type(pruner)
    known = (kind.__module__, kind.__qualname__)
    return next((m for m in METHODS.values() if (m.home, m.pruner) == known), None)


def short_name(pruner: Any) -> str | None:
    """Return the name by which `make_pruner` knows a pruner or class; None if it does not."""
    method = method_of(pruner)
    return None if method is None else method.name


def floor() -> str:
    """Return the name of the method that every other one must beat."""
    return next(method.name for method in METHODS.values() if method.is_floor)


def shown_beside() -> list[str]:
    """Return the methods that a report shows beside the one that pruned, in order."""
    shown = [(method.beside, method.name) for method in METHODS.values() if method.beside]
    return [name for _, name in sorted(shown, key=lambda pair: pair[0])]
