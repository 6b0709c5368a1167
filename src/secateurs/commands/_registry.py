"""What there is to know of each method without loading any: for help, completion and citing."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """A pruning method, for people who choose one.

    Attributes
    ----------
    pruner : str
        Its class.
    summary : str
        What it goes by.
    cost : str
        What it has to count, for n members, k to keep and d rows.
    citation : str or None
        Key of its paper in ``references.bib``.
    """

    pruner: str
    summary: str
    cost: str
    citation: str | None = None


_PAIRS = "pairs of members, each over d rows"
_ROUNDS = "n² ln n rounds, at most 50,000, of one vote over d rows each"

METHODS = {
    "comep": Method(
        "COMEP", "diversity and relevance, by information", f"n·k {_PAIRS}", "bian2020"
    ),
    "domep": Method(
        "DOMEP",
        "COMEP in random groups, then among their choices",
        f"n·k/m {_PAIRS}, for each of m groups at once; then m·k²",
        "bian2020",
    ),
    "kl": Method(
        "KLDivergencePruner",
        "distributions that diverge",
        "n·k pairs of distributions",
        "margineantu1997",
    ),
    "kp": Method("KappaPruner", "pairs that agree least", f"n²/2 {_PAIRS}", "margineantu1997"),
    "oo": Method(
        "OrientationOrderingPruner",
        "where the ensemble falls short",
        "n members over d rows",
        "martinez2006",
    ),
    "re": Method(
        "ReducedErrorPruner", "errors of the vote", "n·k votes over d rows", "margineantu1997"
    ),
    "drep": Method(
        "DREP",
        "errors of the vote among the most different",
        f"n·k {_PAIRS}, and votes over d rows for a share of them",
        "li2012",
    ),
    "sep": Method("SEP", "errors of the vote, by random search", _ROUNDS, "qian2015"),
    "oep": Method("OEP", "errors of the vote, by ordering", "n·k votes over d rows", "qian2015"),
    "pep": Method(
        "PEP",
        "errors and size at once",
        "n² ln n rounds, at most 50,000, some of n² votes over d rows",
        "qian2015",
    ),
    "es": Method("EarlyStoppingPruner", "the order of training", "nothing", "margineantu1997"),
    "random": Method("RandomPruner", "nothing: the floor", "nothing"),
    "best": Method("BestMembersPruner", "accuracy of each member alone", "n members over d rows"),
}
