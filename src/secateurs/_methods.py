"""The registry of pruning methods: all that is known of each, without importing any of them."""

from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, NamedTuple


class Style(NamedTuple):
    """Colour (by name), dashes (lengths on and off, none for a solid line) and marker of a line."""

    colour: str
    dashes: tuple[float, ...]
    marker: str | tuple[int, int, int]


@dataclass(frozen=True)
class MethodTraits:
    """What a method's class declares, see `secateurs.pruners.BasePruner`."""

    outputs: tuple[str, ...] = ("labels",)
    needs_y: bool = True
    takes_missing: bool = True
    is_nested: bool = False  # with default parameters
    may_keep_fewer: bool = False
    larger_is_better: bool | None = None  # None where there is no objective
    most_rounds: int | None = None


@dataclass(frozen=True)
class Method:
    """What the package knows of a pruning method."""

    name: str  # the short one
    path: str  # module and class, inside of the package
    citation: str | None  # key of its paper in ``references.bib``
    summary: str  # what it does
    criterion: str  # what it looks at
    cost: str  # what it has to count, for n members, k to keep and d rows
    traits: MethodTraits
    size_rule: str | None = None  # what it keeps with ``keep=None``; None where that is not allowed
    has_diversity_weight: bool = False  # whether it has a ``diversity_weight``
    report_rank: int | None = 8  # place beside the one that pruned in a report; None: not shown
    is_baseline: bool = False  # whether it is what every other method must beat
    heading: str | None = None  # in tables and figures; None for the short name in capitals
    style: Style | None = None  # in figures; None derives one from its place in the registry

    @property
    def module_name(self) -> str:
        """The full name of its module."""
        return f"secateurs.{self.path}".rpartition(".")[0]

    @property
    def class_name(self) -> str:
        """The name of its class."""
        return self.path.rpartition(".")[2]

    @property
    def size_description(self) -> str:
        """What it keeps, in words."""
        exactly = "at most `keep`" if self.traits.may_keep_fewer else "`keep`"
        return exactly if self.size_rule is None else f"{exactly}, or {self.size_rule}"

    @property
    def display_name(self) -> str:
        """Its name in tables and figures."""
        return self.heading or self.name.upper()

    @property
    def class_attributes(self) -> dict[str, Any]:
        """The class attributes of its class, by name."""
        return asdict(self.traits) | {"may_decide_size": self.size_rule is not None}

    def load(self) -> Any:
        """Import its class."""
        return getattr(import_module(self.module_name), self.class_name)


@dataclass(frozen=True)
class UserMethod(Method):
    """A method of the user's, see `secateurs.register`: its class is there already."""

    pruner_class: Any = None

    @property
    def module_name(self) -> str:
        """The full name of its module."""
        return str(self.pruner_class.__module__)

    @property
    def class_name(self) -> str:
        """The name of its class."""
        return str(self.pruner_class.__qualname__)

    def load(self) -> Any:
        """Return its class."""
        return self.pruner_class


AUTO = "auto"  # the default: the method that is likely best
DEFAULT_TOLERANCE = 0.005  # of the score on rows held out, where neither size nor budget is given

_PAIRS = "pairs of members, each over d rows"
_LABELS_OR_NUMBERS = ("labels", "numbers")
_ALL_OUTPUTS = ("labels", "probabilities", "numbers")
_ROUNDS = "n² ln n rounds, at most 50,000, "

METHODS = {
    method.name: method
    for method in (
        Method(
            *("comep", "pruners._comep.COMEP", "bian2020"),
            "Add the member farthest from those chosen, by diversity and relevance",
            "diversity and relevance, by information",
            f"n·k {_PAIRS}",
            MethodTraits(is_nested=True, larger_is_better=True),
            has_diversity_weight=True,
            report_rank=1,
            style=Style("blue", (), "o"),
        ),
        Method(
            *("domep", "distributed.epfd.DOMEP", "bian2020"),
            "COMEP in random groups, then among their choices",
            "diversity and relevance, in random groups",
            f"n·k/m {_PAIRS}, for each of m groups at once; then m·k²",
            MethodTraits(larger_is_better=True),
            has_diversity_weight=True,
            report_rank=2,
            style=Style("orange", (), "*"),
        ),
        Method(
            *("kl", "pruners._kl.KLDivergencePruner", "margineantu1997"),
            "Add the member whose distribution diverges most from those chosen",
            "how members' distributions diverge",
            "n·k pairs of distributions",
            MethodTraits(needs_y=False, is_nested=True, larger_is_better=True),
            report_rank=None,
            style=Style("sky", (4, 1.5), "v"),
        ),
        Method(
            *("kp", "pruners._kappa.KappaPruner", "margineantu1997"),
            "Take the pairs of members that agree least",
            "agreement of pairs (Cohen's κ)",
            f"n²/2 {_PAIRS}",
            MethodTraits(needs_y=False, is_nested=True),
            report_rank=7,
            style=Style("purple", (1, 1), "^"),
        ),
        Method(
            *("oo", "pruners._orientation.OrientationOrderingPruner", "martinez2006"),
            "Order members by their angle to what the ensemble gets wrong",
            "where the ensemble falls short",
            "n members over d rows",
            MethodTraits(takes_missing=False, is_nested=True),
            size_rule="all that point the right way",
            report_rank=6,
            style=Style("green", (6, 1, 1, 1), "s"),
        ),
        Method(
            *("re", "pruners._reduced_error.ReducedErrorPruner", "margineantu1997"),
            "Add the member that most improves the vote",
            "errors of the vote",
            "n·k votes over d rows",
            MethodTraits(is_nested=True, larger_is_better=False),
            report_rank=3,
            style=Style("amber", (5, 1), "D"),
        ),
        Method(
            *("drep", "pruners._drep.DREP", "li2012"),
            "Add the member that most improves the vote, of those that differ most",
            "errors of the vote among the most different",
            f"n·k {_PAIRS}, and votes over d rows for a share of them",
            MethodTraits(is_nested=True, larger_is_better=False),
            size_rule="the best prefix",
            report_rank=5,
            style=Style("grey", (3, 1, 1, 1, 1, 1), "P"),
        ),
        Method(
            *("sep", "pruners._sep.SEP", "qian2015"),
            "Flip random members in and out, and stay with what is no worse",
            "errors of the vote, by random search",
            f"{_ROUNDS}of one vote over d rows each",
            MethodTraits(may_keep_fewer=True, larger_is_better=False, most_rounds=2000),
            size_rule="what it finds",
            report_rank=None,
            style=Style("sky", (1, 2), "X"),
        ),
        Method(
            *("oep", "pruners._oep.OEP", "qian2015"),
            "Order members by the vote, and cut where it has the fewest errors",
            "errors of the vote, by ordering",
            "n·k votes over d rows",
            MethodTraits(is_nested=True, larger_is_better=False),
            size_rule="the best prefix",
            report_rank=4,
            style=Style("purple", (8, 2), "<"),
        ),
        Method(
            *("pep", "pruners._pep.PEP", "qian2015"),
            "Search at random for few errors and few members at once",
            "errors and size at once",
            f"{_ROUNDS}some of n² votes over d rows",
            MethodTraits(may_keep_fewer=True, larger_is_better=False, most_rounds=50),
            size_rule="what it finds",
            report_rank=None,
            style=Style("green", (2, 1), ">"),
        ),
        Method(
            *("joint", "pruners._joint_error.JointErrorPruner", "zhou2002"),
            "Add the member that keeps the squared error of the average smallest",
            "squared error of the average",
            f"n·k {_PAIRS}",
            MethodTraits(outputs=_ALL_OUTPUTS, is_nested=True, larger_is_better=False),
        ),
        Method(
            *("boost", "pruners._boosting.BoostingPruner", "martinez2007"),
            "Add the member with the fewest errors on samples weighted as by boosting",
            "errors where the last member was wrong",
            "n·k members over d rows",
            MethodTraits(is_nested=True),
        ),
        Method(
            *("cluster", "pruners._cluster.ClusterPruner", "giacinto2000"),
            "Cluster members that are alike, and keep one of each cluster",
            "clusters of members that fail together",
            f"n²/2 {_PAIRS}",
            MethodTraits(),
            size_rule="as many as vote best",
        ),
        Method(
            *("pcomep", "pruners._pareto_comep.ParetoCOMEP", "bian2020"),
            "Find the front of diversity against relevance, and keep the set that votes best",
            "diversity and relevance, without a weight",
            f"n²/2 {_PAIRS}, and up to a million swaps; six times",
            MethodTraits(),
            report_rank=None,
        ),
        Method(
            *("mdm", "pruners._margin_distance.MarginDistancePruner", "martinez2009"),
            "Add the member that brings the margins closest to a small target",
            "margins of the vote, all close to a small target",
            f"n·k {_PAIRS}",
            MethodTraits(is_nested=True),
        ),
        Method(
            *("comp", "pruners._complementarity.ComplementarityPruner", "martinez2004"),
            "Add the member that is right most often where the vote is wrong",
            "samples that the vote gets wrong",
            "n·k members over d rows",
            MethodTraits(is_nested=True, larger_is_better=False),
            report_rank=None,
        ),
        Method(
            *("uwa", "pruners._uncertainty_weighted.UncertaintyWeightedPruner", "partalas2010"),
            "Add the member that is right where those chosen are split",
            "samples on which the chosen members are split",
            "n·k members over d rows",
            MethodTraits(is_nested=True, larger_is_better=False),
            report_rank=None,
        ),
        Method(
            *("epic", "pruners._contribution.ContributionPruner", "lu2010"),
            "Order members by what their votes contribute to that of the ensemble",
            "contributions to the vote of the ensemble",
            "n members over d rows",
            MethodTraits(is_nested=True),
            report_rank=None,
        ),
        Method(
            *("caruana", "pruners._ensemble_selection.EnsembleSelection", "caruana2004"),
            "Add members, also again, with which the mean of those chosen scores best",
            "any score of the mean, weights included",
            "50·n means over d rows",
            MethodTraits(
                outputs=("labels", "probabilities", "numbers"),
                may_keep_fewer=True,
                larger_is_better=True,
            ),
            size_rule="the best prefix",
        ),
        Method(
            *("es", "pruners._early_stopping.EarlyStoppingPruner", "margineantu1997"),
            "Keep the members trained first",
            "the order of training",
            "nothing",
            MethodTraits(outputs=_LABELS_OR_NUMBERS, needs_y=False, is_nested=True),
            report_rank=11,
            is_baseline=True,
            style=Style("amber", (1, 4), "p"),
        ),
        Method(
            *("random", "pruners._random.RandomPruner", None),
            "Keep random members, which every other method must beat",
            "nothing: the floor",
            "nothing",
            MethodTraits(outputs=_LABELS_OR_NUMBERS, needs_y=False, is_nested=True),
            report_rank=10,
            is_baseline=True,
            heading="Random",
            style=Style("black", (1, 3), "x"),
        ),
        Method(
            *("best", "pruners._best_members.BestMembersPruner", None),
            "Keep the most accurate members",
            "accuracy of each member alone",
            "n members over d rows",
            MethodTraits(outputs=_LABELS_OR_NUMBERS, is_nested=True),
            report_rank=9,
            heading="Best",
            style=Style("black", (4, 4), "+"),
        ),
    )
}


def find_method(pruner: Any) -> Method | None:
    """Return the entry of a pruner or of its class; None for a class that is not registered."""
    kind = pruner if isinstance(pruner, type) else type(pruner)
    known = (kind.__module__, kind.__qualname__)
    return next((m for m in METHODS.values() if (m.module_name, m.class_name) == known), None)


def short_name(pruner: Any) -> str | None:
    """Return the name by which `make_pruner` knows a pruner or class; None if it does not."""
    method = find_method(pruner)
    return None if method is None else method.name


def regression_methods() -> list[str]:
    """Return the short names of the methods that work with numbers, of regressors."""
    return [name for name, method in METHODS.items() if "numbers" in method.traits.outputs]


def baseline_methods() -> list[str]:
    """Return the names of the methods that every other one must beat: they look at nothing."""
    return [method.name for method in METHODS.values() if method.is_baseline]


def report_methods() -> list[str]:
    """Return the methods that a report shows beside the one that pruned, in order."""
    shown = [(method.report_rank, method.name) for method in METHODS.values() if method.report_rank]
    return [name for _, name in sorted(shown, key=lambda pair: pair[0])]
