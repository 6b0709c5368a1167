"""``python -m benchmarks.kept rivals``: pruned forests beside smaller models trained from scratch.

Every model may use the training and the validation samples. Rivals of a pruned forest are fresh
forests with as many trees or as many bytes, and gradient boosting with as many bytes, or with as
many milliseconds to predict 1,000 samples.
"""

import argparse
import json
import pickle
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier, early_stopping
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

from benchmarks.kept import data, refits, rivals_page
from secateurs import make_pruner, prune
from secateurs.ensembles import Ensemble, as_ensemble
from secateurs.evaluation.fresh_forests import LEAF_SIZES, TrainingSet, n_scored_trees
from secateurs.outputs.collect import collect_encoded_predictions
from secateurs.problem import Problem
from secateurs.problem.latency import bisect_largest_size
from secateurs.problem.model_costs import pickle_bytes

Record = dict[str, Any]
N_TREES, SIZES = 100, (5, 10, 20)
_MOST_TRAINED, _MOST_CHOSEN, _MOST_TESTED = 1500, 500, 4000  # limit the time of a data set
_LEAST_ROWS = 1000
_LEAST_OF_CLASS = 10  # test samples: with fewer, the AUC of a class is noise
_MOST_ROUNDS, _PATIENCE = 300, 30
_N_PREDICTED, _N_REPEATS = 1000, 3


@dataclass(frozen=True, eq=False)
class Split:
    """The training, validation and test samples of a data set, and models trained on them."""

    X_train: Any
    y_train: Any
    X_val: Any
    y_val: Any
    X_test: Any
    y_test: Any
    seed: int

    @classmethod
    def of(cls, table: data.Table, seed: int) -> "Split":
        """Return the samples of a random split."""
        rows = data.parts(table, seed)
        train, val = rows.train[:_MOST_TRAINED], rows.choose[:_MOST_CHOSEN]
        # Rare classes may be missing from the training samples.
        val = val[np.isin(table.y[val], table.y[train])]
        test = rows.test[np.isin(table.y[rows.test], table.y[train])][:_MOST_TESTED]
        parts = [(table.X[part], table.y[part]) for part in (train, val, test)]
        return cls(*(array for pair in parts for array in pair), seed)

    @cached_property
    def everything(self) -> TrainingSet:
        """The training and the validation samples."""
        X = np.concatenate([self.X_train, self.X_val])
        return TrainingSet(X, np.concatenate([self.y_train, self.y_val]))

    def forest(self, X: Any, y: Any, **parameters: Any) -> RandomForestClassifier:
        """Return a forest of 100 trees."""
        return RandomForestClassifier(N_TREES, random_state=self.seed, **parameters).fit(X, y)

    @cached_property
    def held_out(self) -> Problem:
        """The forest without the validation samples, to be pruned on them."""
        forest = self.forest(self.X_train, self.y_train)
        return Problem.from_input(forest, self.X_val, self.y_val)

    @cached_property
    def out_of_bag(self) -> Problem:
        """The forest of all samples, to be pruned out of bag."""
        forest = self.forest(self.everything.X, self.everything.y)
        return Problem.from_input(forest, self.everything.X, self.everything.y, oob=True)

    @cached_property
    def fresh_orders(self) -> dict[int, tuple[Ensemble, Any]]:
        """Forests of 100 trees by leaf size, with their out-of-bag predictions."""
        found = {}
        for leaf in LEAF_SIZES:
            X, y = self.everything.X, self.everything.y
            ensemble = self.out_of_bag.ensemble
            if leaf > 1:
                ensemble = as_ensemble(self.forest(X, y, min_samples_leaf=leaf))
            found[leaf] = ensemble, collect_encoded_predictions(ensemble, X, y, True)
        return found

    @cached_property
    def boosted(self) -> dict[str, tuple[Ensemble, int]]:
        """Boosted models of all samples, and the best number of rounds by early stopping."""
        X, y, val = self.everything.X, self.everything.y, (self.X_val, self.y_val)
        light = LGBMClassifier(n_estimators=_MOST_ROUNDS, n_jobs=1, random_state=0, verbose=-1)
        stop = [early_stopping(_PATIENCE, verbose=False)]
        light.fit(self.X_train, self.y_train, eval_set=[val], callbacks=stop)
        n_light = light.best_iteration_
        hist = HistGradientBoostingClassifier(
            max_iter=_MOST_ROUNDS,
            early_stopping=True,
            n_iter_no_change=_PATIENCE,
            tol=0.0,
            random_state=0,
        )
        hist.fit(self.X_train, self.y_train, X_val=val[0], y_val=val[1])
        # The first score is that of no round.
        n_hist = 1 + int(np.argmax(hist.validation_score_[1:]))
        light = clone(light).set_params(n_estimators=n_light).fit(X, y)
        hist = clone(hist).set_params(max_iter=n_hist, early_stopping=False).fit(X, y)
        return {
            "LightGBM": (as_ensemble(light), n_light),
            "HistGradientBoosting": (as_ensemble(hist), n_hist),
        }


def milliseconds(model: Any, X: Any) -> float:
    """Return the milliseconds of CPU to predict 1,000 samples: the least of three repeats."""
    samples = X[np.arange(_N_PREDICTED) % len(X)]
    times = []
    for _ in range(1 + _N_REPEATS):  # the first one warms up
        start = time.process_time()
        model.predict_proba(samples)
        times.append(time.process_time() - start)
    return 1e3 * min(times[1:])


def measured(name: str, seed: int, folder: Path | None) -> Iterator[Record]:
    """Yield a record for each model: its scores, bytes and milliseconds."""
    table = refits.read(name, folder)
    if table is None or table.is_regression or len(table.X) < _LEAST_ROWS:
        return
    split = Split.of(table, seed)
    has_rare_class = np.unique(split.y_test, return_counts=True)[1].min() < _LEAST_OF_CLASS

    def record(size: str, way: str, model: Any, **more: Any) -> Record:
        scores = refits.scores(model, split.X_test, split.y_test)
        if has_rare_class:
            scores.pop("AUC", None)
        return (
            {"data": name, "split": seed, "classes": len(model.classes_), "size": size, "way": way}
            | {
                "scores": scores,
                "bytes": len(pickle.dumps(model)),
                "ms": milliseconds(model, split.X_test),
            }
            | more
        )

    full = split.out_of_bag.ensemble.model
    yield record("all", "full forest", full)
    yield record("all", "full forest, without validation data", split.held_out.ensemble.model)
    for rival, (ensemble, best) in split.boosted.items():
        stopped = ensemble.as_predictor(range(best))
        yield record("all", f"{rival}, early stopping", stopped, members=best)
    default = prune(split.out_of_bag, random_state=0)
    groups = {"default size": (len(default.member_indices), default.estimator)}
    for keep in SIZES:
        pruned = dict(_prunings(split, keep))
        for way, model in pruned.items():
            yield record(f"{keep} of {N_TREES}", way, model, members=keep)
        groups[f"{keep} of {N_TREES}"] = keep, pruned["refitted, out of bag"]
    for size, (keep, pruned_model) in groups.items():
        if size == "default size":
            yield record(size, "refitted, out of bag", pruned_model, members=keep)
        n_bytes = len(pickle.dumps(pruned_model))
        branches = prune(
            split.out_of_bag,
            pruner=make_pruner("joint"),
            max_bytes=n_bytes,
            branches=True,
            refit=True,
            random_state=0,
        )
        yield record(
            size, "branches, out of bag", branches.estimator, members=len(branches.member_indices)
        )
        limit = milliseconds(pruned_model, split.X_test)
        for way, model, n_members in _rivals(split, keep, n_bytes, limit):
            yield record(size, way, model, members=n_members)


def _prunings(split: Split, keep: int) -> Iterator[tuple[str, Any]]:
    """Yield pruned forests with ``keep`` trees."""
    for where, problem in (("held out", split.held_out), ("out of bag", split.out_of_bag)):
        call = partial(prune, problem, pruner=make_pruner("joint"), keep=keep, random_state=0)
        yield f"pruned, {where}", call(refit=False).estimator
        more = {} if problem.oob else {"X_unlabelled": split.X_train}
        yield f"refitted, {where}", call(refit=True, **more).estimator


def _rivals(
    split: Split, n_trees: int, n_bytes: int, limit: float
) -> Iterator[tuple[str, Any, int]]:
    """Yield models trained from scratch: with as many trees, bytes or milliseconds."""
    yield "fresh forest, equal trees", *_best_fresh(split, lambda _: n_trees)
    yield "fresh forest, equal bytes", *_best_fresh(split, partial(_n_trees_within, n_bytes))
    for name, (ensemble, _) in split.boosted.items():

        def rounds(meets: Callable[[Any], bool], ensemble: Ensemble = ensemble) -> int:
            order = range(ensemble.n_members)
            return bisect_largest_size(order, lambda m: meets(ensemble.as_predictor(m)))

        for what, meets in (
            ("bytes", lambda model: len(pickle.dumps(model)) <= n_bytes),
            ("latency", lambda model: milliseconds(model, split.X_test) <= limit),
        ):
            n_rounds = max(1, rounds(meets))
            yield f"{name}, equal {what}", ensemble.as_predictor(range(n_rounds)), n_rounds


def _best_fresh(split: Split, n_trees_of: Callable[[Ensemble], int]) -> tuple[Any, int]:
    """Return the forest with the best leaf size by out-of-bag accuracy, as `compare` selects it.

    The first trees of a forest are those of a smaller forest, so that all sizes share a training.
    """
    found = []
    for ensemble, predictions in split.fresh_orders.values():
        if n_trees := n_trees_of(ensemble):
            scored = range(min(N_TREES, n_scored_trees(n_trees)))
            right = predictions.vote(scored) == split.everything.y
            found.append((right.mean(), ensemble.as_predictor(range(n_trees)), n_trees))
    _, model, n_trees = max(found, key=lambda entry: entry[0])
    return model, n_trees


def _n_trees_within(n_bytes: int, ensemble: Ensemble) -> int:
    return bisect_largest_size(range(N_TREES), lambda m: pickle_bytes(ensemble, m) <= n_bytes)


def names(folder: Path | None) -> list[str]:
    """Return the reported data sets: classes, and none that decided about a parameter."""
    return [name for name in reversed(refits.names(folder)) if not name.endswith(": number")]


def run(folder: Path | None, out: Path, splits: int, only: list[str] | None) -> None:
    """Measure all data sets that have no file of results yet."""
    warnings.simplefilter("ignore")
    out.mkdir(parents=True, exist_ok=True)
    for seed in range(splits):
        for name in names(folder):
            path = out / f"{name}-{seed}.jsonl"
            if path.exists() or (only and name not in only):
                continue
            start = time.process_time()
            with threadpool_limits(1):
                records = list(measured(name, seed, folder))
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
            print(f"{path.stem}: {time.process_time() - start:.0f} s", flush=True)


def main(arguments: list[str]) -> None:
    """Measure all data sets that have no results yet, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kept rivals", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of tables NAME.csv or NAME.csv.gz")
    parser.add_argument(
        "--out", type=Path, default=Path("rivals-results"), help="folder of results"
    )
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--page", type=Path, help="write the page to this file, with its picture")
    options = parser.parse_args(arguments)
    run(options.data, options.out, options.splits, options.only)
    if options.page is not None:
        rivals_page.write(options.out, options.page)
