"""Benchmarks of calls that people wait for: comparing methods, and two methods of a comparison."""

from collections.abc import Iterator
from functools import partial

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from benchmarks.report import Row, pretty, processor_time
from secateurs import COMEP, PEP, ParetoCOMEP, Votes, compare
from secateurs.outputs.collect import collect_votes


def forest_and_samples(n_trees, n_samples):
    """Return a forest for three classes, and as many validation samples as training samples."""
    X, y = make_classification(2 * n_samples, 20, n_informative=10, n_classes=3, random_state=0)
    forest = RandomForestClassifier(n_trees, random_state=0).fit(X[:n_samples], y[:n_samples])
    return forest, X[n_samples:], y[n_samples:]


def comparing() -> Iterator[Row]:
    """Processor time of `compare` with its default methods and sizes, without compiling."""
    compare(*forest_and_samples(20, 200), random_state=0)
    for n_trees, n_samples, most in ((200, 2000, 5), (500, 5000, 30)):
        call = partial(compare, *forest_and_samples(n_trees, n_samples), random_state=0)
        took = processor_time({"compare": call}, repeats=1)["compare"]
        yield Row(
            f"`compare`, {n_trees} trees, d={n_samples}, three classes (seconds)",
            pretty(took),
            took,
            at_most=most,
        )


def searching() -> Iterator[Row]:
    """Searches of many sets, compared with one greedy search: processor time."""
    forest, X, y = forest_and_samples(200, 2000)
    votes = Votes.encode(collect_votes(forest, X), y)
    for keep in (10, 20, 40):
        calls = {
            "COMEP": lambda keep=keep: COMEP(keep).fit(votes),
            "ParetoCOMEP": lambda keep=keep: ParetoCOMEP(keep, random_state=0).fit(votes),
            "PEP": lambda keep=keep: PEP(keep, n_iterations=50, random_state=0).fit(votes),
        }
        for call in calls.values():
            call()
        best = processor_time(calls, repeats=3)
        for name in ("ParetoCOMEP", "PEP"):
            rounds = " of 50 rounds" if name == "PEP" else ""
            yield Row(
                f"{name}{rounds}, 200 trees, d=2000, three classes, k={keep}: time over COMEP",
                f"{pretty(best[name])} against {pretty(best['COMEP'])}",
                best[name] / best["COMEP"],
            )


PARTS = (comparing, searching)
