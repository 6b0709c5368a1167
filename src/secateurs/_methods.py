"""The registry of pruning methods: the description of each, without importing its class."""

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import NamedTuple, TypeAlias

from secateurs.thread_safety import ForkSafeLock

TraitValue: TypeAlias = tuple[str, ...] | bool | int | None


class Style(NamedTuple):
    """The style of a method's line in figures."""

    colour: str  # a name of the palette
    dashes: tuple[float, ...]  # lengths on and off; empty for a solid line
    marker: str | tuple[int, int, int]  # as in Matplotlib


@dataclass(frozen=True)
class MethodTraits:
    """The properties that a method's class declares, see `secateurs.pruners.BasePruner`."""

    outputs: tuple[str, ...] = ("labels",)
    needs_y: bool = True
    takes_missing: bool = True
    is_nested: bool = False  # with default parameters
    may_keep_fewer: bool = False
    larger_is_better: bool | None = None  # None without an objective
    most_rounds: int | None = None


@dataclass(frozen=True)
class Method:
    """The registry entry of a pruning method."""

    name: str  # the short name
    path: str  # module and class, relative to the package
    citation: str | None  # key of its paper in ``references.bib``
    summary: str  # one line for the command line
    criterion: str  # by which members are selected
    cost: str  # computational cost, for n members, k to keep and d samples
    traits: MethodTraits
    size_rule: str | None = None  # members kept with ``keep=None``; None if that is not allowed
    has_diversity_weight: bool = False  # whether it has a ``diversity_weight``
    report_rank: int | None = 8  # order among the alternatives of a report; None: not shown
    is_baseline: bool = False  # whether every other method must beat it
    heading: str | None = None  # in tables and figures; None for the short name in capitals
    style: Style | None = None  # in figures; None derives it from its position in the registry

    @property
    def module_name(self) -> str:
        """The full name of the method's module."""
        return f"secateurs.{self.path}".rpartition(".")[0]

    @property
    def class_name(self) -> str:
        """The name of the method's class."""
        return self.path.rpartition(".")[2]

    @property
    def size_description(self) -> str:
        """The number of members that the method keeps, in words."""
        exactly = "at most `keep`" if self.traits.may_keep_fewer else "`keep`"
        return exactly if self.size_rule is None else f"{exactly}, or {self.size_rule}"

    @property
    def display_name(self) -> str:
        """The method's name in tables and figures."""
        return self.heading or self.name.upper()

    @property
    def class_attributes(self) -> dict[str, TraitValue]:
        """The class attributes that `BasePruner` sets on the method's class."""
        return asdict(self.traits) | {"may_decide_size": self.size_rule is not None}

    def load(self) -> type:
        """Import and return the method's class."""
        return getattr(import_module(self.module_name), self.class_name)


@dataclass(frozen=True)
class UserMethod(Method):
    """A method that was added with `secateurs.register`, whose class is imported already."""

    pruner_class: type | None = None

    @property
    def module_name(self) -> str:
        """The full name of the method's module."""
        return self.load().__module__

    @property
    def class_name(self) -> str:
        """The name of the method's class."""
        return self.load().__qualname__

    def load(self) -> type:
        """Return the method's class."""
        assert self.pruner_class is not None
        return self.pruner_class


class MethodRegistry(Mapping[str, Method]):
    """The methods by short name.

    A change replaces the whole dictionary, so that other threads never see it change while they
    iterate over it.
    """

    def __init__(self, methods: Iterable[Method]) -> None:
        self._methods = {method.name: method for method in methods}
        self._lock = ForkSafeLock()

    def __getitem__(self, name: str) -> Method:
        return self._methods[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._methods)

    def __len__(self) -> int:
        return len(self._methods)

    def values(self) -> ValuesView[Method]:
        """Return the methods."""
        return self._methods.values()

    def items(self) -> ItemsView[str, Method]:
        """Return the short names and methods."""
        return self._methods.items()

    def __setitem__(self, name: str, method: Method) -> None:
        with self._lock:
            self._methods = {**self._methods, name: method}

    def __delitem__(self, name: str) -> None:
        with self._lock:
            self._methods = {key: kept for key, kept in self._methods.items() if key != name}


AUTO = "auto"  # the default: the method that is likely to be best
# Without a size or budget, the fewest members within this distance of the full ensemble's
# cross-validated score are kept (docs/decisions/0019 has the measured sizes and losses).
DEFAULT_TOLERANCE = 0.005

_PAIRS = "pairs of members, each over d samples"
_LABELS_OR_NUMBERS = ("labels", "numbers")
_ALL_OUTPUTS = ("labels", "probabilities", "numbers")
_ROUNDS = "n² ln n rounds, at most 50,000, "

METHODS = MethodRegistry(
    method
    for method in (
        Method(
            *("comep", "pruners._comep.COMEP", "bian2020"),
            "Add the member farthest from the selected ones, by diversity and relevance",
            "diversity and relevance, by information",
            f"n·k {_PAIRS}",
            MethodTraits(is_nested=True, larger_is_better=True),
            has_diversity_weight=True,
            report_rank=1,
            style=Style("blue", (), "o"),
        ),
        Method(
            *("domep", "distributed.epfd.DOMEP", "bian2020"),
            "Run COMEP in random groups, then among the members that they select",
            "diversity and relevance, in random groups",
            f"n·k/m {_PAIRS}, for each of m groups at once; then m·k²",
            MethodTraits(larger_is_better=True),
            has_diversity_weight=True,
            report_rank=2,
            style=Style("orange", (), "*"),
        ),
        Method(
            *("kl", "pruners._kl.KLDivergencePruner", "margineantu1997"),
            "Add the member whose distribution differs most from the selected members",
            "divergence of the members' distributions",
            "n·k pairs of distributions",
            MethodTraits(needs_y=False, is_nested=True, larger_is_better=True),
            report_rank=None,
            style=Style("sky", (4, 1.5), "v"),
        ),
        Method(
            *("kp", "pruners._kappa.KappaPruner", "margineantu1997"),
            "Select the pairs of members that agree least",
            "agreement of pairs (Cohen's κ)",
            f"n²/2 {_PAIRS}",
            MethodTraits(needs_y=False, is_nested=True),
            report_rank=7,
            style=Style("purple", (1, 1), "^"),
        ),
        Method(
            *("oo", "pruners._orientation.OrientationOrderingPruner", "martinez2006"),
            "Order members by their angle to the errors of the ensemble",
            "errors of the ensemble, by angle",
            "n members over d samples",
            MethodTraits(takes_missing=False, is_nested=True),
            size_rule="all members with an angle below 90°",
            report_rank=6,
            style=Style("green", (6, 1, 1, 1), "s"),
        ),
        Method(
            *("re", "pruners._reduced_error.ReducedErrorPruner", "margineantu1997"),
            "Add the member that most improves the vote",
            "errors of the vote",
            "n·k votes over d samples",
            MethodTraits(is_nested=True, larger_is_better=False),
            report_rank=3,
            style=Style("amber", (5, 1), "D"),
        ),
        Method(
            *("drep", "pruners._drep.DREP", "li2012"),
            "Add the member that most improves the vote, among the most different members",
            "errors of the vote, among the most different members",
            f"n·k {_PAIRS}, and votes over d samples for a share of them",
            MethodTraits(is_nested=True, larger_is_better=False),
            size_rule="the best prefix",
            report_rank=5,
            style=Style("grey", (3, 1, 1, 1, 1, 1), "P"),
        ),
        Method(
            *("sep", "pruners._sep.SEP", "qian2015"),
            "Flip random members in and out, and keep changes that are not worse",
            "errors of the vote, by random search",
            f"{_ROUNDS}of one vote over d samples each",
            MethodTraits(may_keep_fewer=True, larger_is_better=False, most_rounds=2000),
            size_rule="the size that it finds",
            report_rank=None,
            style=Style("sky", (1, 2), "X"),
        ),
        Method(
            *("oep", "pruners._oep.OEP", "qian2015"),
            "Order members by the vote, and cut where it has the fewest errors",
            "errors of the vote, by ordering",
            "n·k votes over d samples",
            MethodTraits(is_nested=True, larger_is_better=False),
            size_rule="the best prefix",
            report_rank=4,
            style=Style("purple", (8, 2), "<"),
        ),
        Method(
            *("pep", "pruners._pep.PEP", "qian2015"),
            "Search at random for few errors and few members at once",
            "errors and size at once",
            f"{_ROUNDS}some of n² votes over d samples",
            MethodTraits(may_keep_fewer=True, larger_is_better=False, most_rounds=50),
            size_rule="the size that it finds",
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
            "n·k members over d samples",
            MethodTraits(is_nested=True),
        ),
        Method(
            *("cluster", "pruners._cluster.ClusterPruner", "giacinto2000"),
            "Cluster similar members, and keep one of each cluster",
            "clusters of members that fail together",
            f"n²/2 {_PAIRS}",
            MethodTraits(),
            size_rule="the number with the best vote",
        ),
        Method(
            *("pcomep", "pruners._pareto_comep.ParetoCOMEP", "bian2020"),
            "Find the Pareto front of diversity and relevance, and keep the set with the best vote",
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
            "n·k members over d samples",
            MethodTraits(is_nested=True, larger_is_better=False),
            report_rank=None,
        ),
        Method(
            *("uwa", "pruners._uncertainty_weighted.UncertaintyWeightedPruner", "partalas2010"),
            "Add the member that is right where the selected members are split",
            "samples on which the selected members are split",
            "n·k members over d samples",
            MethodTraits(is_nested=True, larger_is_better=False),
            report_rank=None,
        ),
        Method(
            *("epic", "pruners._contribution.ContributionPruner", "lu2010"),
            "Order members by the contribution of their votes to the ensemble's vote",
            "contributions to the vote of the ensemble",
            "n members over d samples",
            MethodTraits(is_nested=True),
            report_rank=None,
        ),
        Method(
            *("caruana", "pruners._ensemble_selection.EnsembleSelection", "caruana2004"),
            "Add members, with repetition, that improve the score of the selected mean most",
            "any score of the weighted mean",
            "50·n means over d samples",
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
            "nothing (a baseline)",
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
            "n members over d samples",
            MethodTraits(outputs=_LABELS_OR_NUMBERS, is_nested=True),
            report_rank=9,
            heading="Best",
            style=Style("black", (4, 4), "+"),
        ),
    )
)


def find_method(pruner: object) -> Method | None:
    """Return the registry entry of a pruner or its class; None if the class is not registered."""
    kind = pruner if isinstance(pruner, type) else type(pruner)
    path = (kind.__module__, kind.__qualname__)
    return next((m for m in METHODS.values() if (m.module_name, m.class_name) == path), None)


def short_name(pruner: object) -> str | None:
    """Return the name that `make_pruner` accepts for a pruner or class; None if there is none."""
    method = find_method(pruner)
    return None if method is None else method.name


def regression_methods() -> list[str]:
    """Return the short names of the methods that support regression."""
    return [name for name, method in METHODS.items() if "numbers" in method.traits.outputs]


def baseline_methods() -> list[str]:
    """Return the names of the baselines: methods without a criterion, which others must beat."""
    return [method.name for method in METHODS.values() if method.is_baseline]


def report_methods() -> list[str]:
    """Return the names of the methods that a report compares with the one used, in order."""
    shown = [(method.report_rank, method.name) for method in METHODS.values() if method.report_rank]
    return [name for _, name in sorted(shown, key=lambda pair: pair[0])]
