"""Benchmarks of calls that people wait for, on processor time: prune, compare and reports."""

import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from benchmarks.report import Row, pretty, processor_time
from secateurs import COMEP, PEP, ParetoCOMEP, Votes, compare, prune
from secateurs.outputs.collect import collect_votes


def forest_and_samples(n_trees, n_samples, n_classes=3):
    """Return a forest, and as many validation samples as training samples."""
    X, y = make_classification(
        2 * n_samples,
        n_informative=10,
        n_classes=n_classes,
        n_clusters_per_class=2 if n_classes == 3 else 1,
        random_state=0,
    )
    forest = RandomForestClassifier(n_trees, random_state=0).fit(X[:n_samples], y[:n_samples])
    return forest, X[n_samples:], y[n_samples:]


def pruning() -> Iterator[Row]:
    """Processor time of `prune`, over the time to train as large a forest on as many samples."""
    options = {
        f'`pruner="{name}"`, a tenth': {"pruner": name, "keep": 0.1, "refit": False}
        for name in ("comep", "re", "joint")
    }
    options |= {
        "the plain call": {},
        "without refitting": {"refit": False},
        "with refitting": {"refit": True},
    }
    calls = {name: partial(prune, random_state=0, **given) for name, given in options.items()}
    yield from _over_training(200, 3, calls)


def class_counts() -> Iterator[Row]:
    """The same with more classes."""
    calls = {
        "the plain call": partial(prune, random_state=0),
        "`compare`": partial(compare, random_state=0),
    }
    for n_classes in (10, 30):
        yield from _over_training(100, n_classes, calls)


def _over_training(n_trees, n_classes, calls) -> Iterator[Row]:
    """Yield a row for each call, with its time over that of training."""
    small = forest_and_samples(20, 300, n_classes)
    for call in calls.values():
        call(*small)  # compiles
    forest, X, y = forest_and_samples(n_trees, 2000, n_classes)
    timed = {name: partial(call, forest, X, y) for name, call in calls.items()}
    best = processor_time({"training": partial(clone(forest).fit, X, y)} | timed, repeats=1)
    for name in calls:
        yield Row(
            f"{name}, {n_trees} trees, d=2000, {n_classes} classes: time over training",
            f"{pretty(best[name])} against {pretty(best['training'])}",
            best[name] / best["training"],
        )


def comparing() -> Iterator[Row]:
    """Processor time of `compare` with its default methods and sizes, without compiling.

    The ratio is that to a plain call of `prune`.
    """
    small = forest_and_samples(20, 200)
    compare(*small, random_state=0)
    prune(*small, random_state=0)
    for n_trees, n_samples, most in ((200, 2000, 5), (500, 5000, 30)):
        given = forest_and_samples(n_trees, n_samples)
        calls = {
            "compare": lambda given=given: compare(*given, random_state=0),
            "prune": lambda given=given: prune(*given, random_state=0),
        }
        best = processor_time(calls, repeats=2 if n_trees == 200 else 1)
        what = f"`compare`, {n_trees} trees, d={n_samples}, three classes"
        took = best["compare"]
        yield Row(what, "processor time", took, at_most=most, unit="s")
        figures = f"{pretty(took)} against {pretty(best['prune'])}"
        yield Row(f"{what}: time over the plain `prune`", figures, took / best["prune"])


def auc() -> Iterator[Row]:
    """Processor time of the plain `prune` of a library by AUC, over that by accuracy."""
    rng = np.random.default_rng(0)
    for n_members, n_samples in ((60, 1000), (400, 6000)):
        y = rng.integers(2, size=n_samples)
        skill = rng.normal(1.0, 0.4, size=n_members)
        logits = (2 * y - 1)[:, None] * skill + rng.normal(0, 2, size=(n_samples, n_members))
        table = 1 / (1 + np.exp(-logits))

        def by_score(score, table=table, y=y):
            return lambda: prune(table, y=y, scoring=score, random_state=0)

        calls = {score: by_score(score) for score in ("accuracy", "roc_auc")}
        if n_members == 60:
            for call in calls.values():
                call()  # compiles
        best = processor_time(calls, repeats=1)
        yield Row(
            f'`scoring="roc_auc"`, {n_members} models, d={n_samples}: time over accuracy',
            f"{pretty(best['roc_auc'])} against {pretty(best['accuracy'])}",
            best["roc_auc"] / best["accuracy"],
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


def reports() -> Iterator[Row]:
    """Processor time of summaries and report pages with a test set, over the plain `prune`.

    Both time predictions of the two models, some dozens of times.
    """
    for n_trees in (100, 1000):
        forest, X, y = forest_and_samples(n_trees, 2000)
        validation, test = (X[:1000], y[:1000]), (X[1000:], y[1000:])
        pruned = prune(forest, *validation, random_state=0)
        with tempfile.TemporaryDirectory() as folder:
            paths = (Path(folder) / f"{number}.html" for number in count())
            calls = {
                "prune": lambda f=forest, v=validation: prune(f, *v, random_state=0),
                "summary": lambda p=pruned, t=test: p.summary(*t),
                "report": lambda p=pruned, t=test, paths=paths: p.report(next(paths), *t),
            }
            pruned.report(next(paths), *test)
            best = processor_time(calls, repeats=2)
            size = next(Path(folder).iterdir()).stat().st_size
        for name, more in (("summary", ""), ("report", f"; a page of {size / 1e6:.1f} MB")):
            yield Row(
                f"`{name}` of {n_trees} trees, d=1000: time over the plain `prune`",
                f"{pretty(best[name])} against {pretty(best['prune'])}{more}",
                best[name] / best["prune"],
            )


PARTS = (pruning, class_counts, comparing, searching, auc, reports)
