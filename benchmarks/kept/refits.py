"""Measure refitting and pruned branches: ``python -m benchmarks.kept --refits FILE --data DIR``."""

import json
import pickle
import re
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets as own
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.kept import data
from secateurs import LeafRefit, make_pruner, prune
from secateurs.problem import Problem

# Data sets that decided about priors, folds and numbers of trees. They are not reported.
DECIDING = (
    *("landsat", "spam", "yeast", "segmentation_test", "ringnorm", "digits", "waveform", "page"),
    *("card", "mammographic_masses", "friedman1: number", "page: number", "diabetes: number"),
)
_FAMILIES = frozenset(name.split("_")[0] for name in DECIDING if name != "friedman1: number")
_MOST_TRAINED, _MOST_TESTED = 1500, 4000  # limit the time of a data set to half a minute
_LEAST_ROWS = 1000  # with fewer test samples than 400, differences of a point are noise
_N_MADE = 6000
# Extra trees and bagging are measured on these data sets only, to limit the time.
_OTHER_KINDS = (
    *("made_2", "made_3", "made_10", "made_rare", "hastie", "quantiles"),
    *("eeg_eye_state", "sensor_readings_2", "wilt", "breast_cancer"),
)
SHARES = (0.1, 0.05, 0.025)

# Generated data sets with large test sets: arguments of `make_classification`.
_MADE = {
    "made_2": {"n_features": 20, "n_informative": 6, "n_classes": 2, "flip_y": 0.05},
    "made_3": {"n_features": 15, "n_informative": 8, "n_classes": 3, "flip_y": 0.02},
    "made_6": {"n_features": 20, "n_informative": 10, "n_classes": 6},
    "made_10": {"n_features": 30, "n_informative": 12, "n_classes": 10, "class_sep": 1.5},
    "made_noisy": {"n_features": 40, "n_informative": 5, "n_classes": 2, "flip_y": 0.2},
    "made_rare": {"n_features": 12, "n_informative": 6, "n_classes": 2, "weights": [0.9]},
    "made_wide": {"n_features": 60, "n_informative": 30, "n_classes": 4},
    "made_few": {"n_features": 5, "n_informative": 4, "n_redundant": 0, "n_classes": 3},
}


GENERATED = (*_MADE, "hastie", "quantiles")
_ON_TABLES = "accuracy, tables of DIR"


def names(folder: Path | None) -> list[str]:
    """Return the reported data sets: all but those of families that decided."""
    given = [name for name in data.names(folder) if name not in DECIDING]
    given = [name for name in given if name.split("_")[0].split(":")[0] not in _FAMILIES]
    return [*GENERATED, *given]


def read(name: str, folder: Path | None) -> data.Table | None:
    """Return a data set, generated or from the folder."""
    if name in _MADE:
        return data.Table(name, *own.make_classification(_N_MADE, random_state=1, **_MADE[name]))
    if name == "hastie":
        return data.Table(name, *own.make_hastie_10_2(_N_MADE, random_state=1))
    if name == "quantiles":
        return data.Table(
            name, *own.make_gaussian_quantiles(n_samples=_N_MADE, n_features=8, random_state=1)
        )
    return data.read(name, folder)


def ensembles(table: data.Table, X: Any, y: Any, seed: int) -> Iterator[tuple[str, Any, bool]]:
    """Yield names and ensembles of 200 trees, and whether they are selected out of bag too."""
    if table.is_regression:
        forest = RandomForestRegressor(200, max_features=0.4, random_state=seed)
        yield "forest regressor", forest.fit(X, y), True
        return
    yield "forest", RandomForestClassifier(200, random_state=seed).fit(X, y), True
    if table.name not in _OTHER_KINDS:
        return
    yield "extra trees", ExtraTreesClassifier(200, random_state=seed).fit(X, y), False
    yield "bagging", BaggingClassifier(n_estimators=200, random_state=seed).fit(X, y), False


def scores(model: Any, X: Any, y: Any) -> dict[str, float]:
    """Return test scores in points: accuracy, Brier score, log loss and AUC, or R²."""
    if not hasattr(model, "classes_"):
        error = float(np.mean((model.predict(X) - y) ** 2) / np.var(y))
        return {"R²": 100 * (1 - error)}
    shares = model.predict_proba(X)
    truth = (np.asarray(y)[:, None] == model.classes_).astype(float)
    found = {
        "accuracy": 100 * float(np.mean(model.classes_[shares.argmax(axis=1)] == y)),
        "Brier": 100 * float(((shares - truth) ** 2).sum(axis=1).mean()),
        "log loss": 100 * log_loss(y, shares.clip(1e-3), labels=model.classes_),
    }
    if truth.any(axis=0).all():
        positive = shares[:, 1] if truth.shape[1] == 2 else shares
        found["AUC"] = 100 * roc_auc_score(y, positive, multi_class="ovr", labels=model.classes_)
    return found


def measured(name: str, split: int, folder: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a record for each model: its scores minus those of the full ensemble."""
    table = read(name, folder)
    if table is None or len(table.X) < _LEAST_ROWS:
        return
    rows = data.parts(table, split)
    train, test = rows.train[:_MOST_TRAINED], rows.test[:_MOST_TESTED]
    X, y = table.X[train], table.y[train]
    if not table.is_regression:  # rare classes may be missing from the training samples
        test = test[np.isin(table.y[test], y)]
    X_test, y_test = table.X[test], table.y[test]
    for kind, model, has_oob in ensembles(table, X, y, split):
        full, n_bytes = scores(model, X_test, y_test), len(pickle.dumps(model))
        for oob in (True, False) if has_oob else (False,):
            samples = (X, y) if oob else (table.X[rows.choose], table.y[rows.choose])
            where = "out of bag" if oob else "held out"
            about = {"data": name, "split": split, "situation": f"{kind}, {where}"}
            problem = Problem.from_input(model, *samples, oob=oob)  # collects predictions once
            for size, way, given in _ways(kind, oob, X, n_bytes):
                start = time.process_time()
                pruned = prune(problem, pruner=make_pruner("joint"), random_state=0, **given)
                seconds = time.process_time() - start
                found = scores(pruned.estimator, X_test, y_test)
                change = {score: found[score] - full[score] for score in full}
                yield about | {"size": size, "way": way, "change": change, "seconds": seconds}


def _ways(
    kind: str, oob: bool, X_train: Any, n_bytes: int
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield size, name and parameters of each pruning that is measured."""
    is_main = kind.startswith("forest")
    for keep in (20, 40) if is_main else (20,):
        size = f"{keep} of 200"
        yield size, "no refit", {"keep": keep, "refit": False}
        if is_main and keep == 20:
            imitation = LeafRefit(synthetic_ratio=20, n_steps=0)
            yield size, "imitation without labels", {"keep": keep, "refit": imitation}
        yield size, "refit", {"keep": keep, "refit": True}
        yield size, "auto", {"keep": keep, "refit": "auto"}
        if not oob:
            more = {"X_unlabelled": X_train}
            yield size, "refit, training samples", {"keep": keep, "refit": True, **more}
            yield size, "auto, training samples", {"keep": keep, "refit": "auto", **more}
    if is_main:
        yield "all", "corrected full ensemble", {"keep": 1.0, "refit": True}
    for share in SHARES if is_main and oob else ():
        size = f"{100 * share:g} % of the bytes"
        given = {"max_bytes": share * n_bytes}
        yield size, "whole trees, no refit", {"refit": False, **given}
        yield size, "whole trees, refit", {"refit": True, "branches": False, **given}
        yield size, "branches", {"refit": True, "branches": True, **given}


def run(folder: Path | None, out: Path, splits: int, only: Iterable[str] | None) -> None:
    """Measure all data sets that have no file of results yet."""
    warnings.simplefilter("ignore")
    out.mkdir(parents=True, exist_ok=True)
    chosen = None if only is None else set(only)
    for split in range(splits):
        for name in names(folder):
            path = out / f"{name.replace(': ', '-')}-{split}.jsonl"
            if path.exists() or (chosen is not None and name not in chosen):
                continue
            start = time.process_time()
            records = list(measured(name, split, folder))
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
            print(f"{path.stem}: {time.process_time() - start:.0f} s", flush=True)


def page(out: Path) -> str:
    """Return tables of the mean changes, with standard errors over data sets."""
    records = [json.loads(line) for path in sorted(out.glob("*.jsonl")) for line in path.open()]
    frame = pd.DataFrame(records)
    frame = pd.concat([frame.drop(columns="change"), pd.json_normalize(frame["change"])], axis=1)
    parts = [_HEAD.format(n_sets=frame["data"].nunique(), n_splits=frame["split"].nunique())]
    for situation, part in frame.groupby("situation", sort=False):
        shown = [s for s in ("accuracy", "Brier", "log loss", "AUC", "R²") if part[s].notna().any()]
        if "accuracy" in shown:  # generated data sets are harder: many informative features
            on_tables = part["accuracy"].where(~part["data"].isin(GENERATED))
            part = part.assign(**{_ON_TABLES: on_tables})  # noqa: PLW2901
            shown.insert(1, _ON_TABLES)
        by_set = part.groupby(["size", "way", "data"], sort=False)[[*shown, "seconds"]].mean()
        groups = by_set.groupby(["size", "way"], sort=False)
        means, errors = groups.mean(), groups.sem()
        lines = [
            [
                *key,
                *(f"{means.loc[key, s]:+.2f} ± {errors.loc[key, s]:.2f}" for s in shown),
                f"{means.loc[key, 'seconds']:.1f}",
            ]
            for key in means.index
        ]
        head = ["size", "way", *shown, "seconds of CPU"]
        rows = [head, ["---"] * len(head), *lines]
        text = "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)
        n_sets = part["data"].nunique()
        parts.append(f"## {situation[0].upper()}{situation[1:]} ({n_sets} data sets)\n\n{text}\n")
    return re.sub(r"\| -(?=\d)", "| −", "\n".join(parts))


_HEAD = """# Benchmark of refitting and pruned branches

Changes against the full ensemble of 200 trees on the test set, in hundredths (points), mean over
data sets ± standard error. Higher is better for accuracy, AUC and R², lower for Brier score and log
loss (probabilities clipped at 0.001). "Tables of DIR" leaves out generated data sets, which are
harder to prune. {n_sets} data sets of at least 1,000 samples, {n_splits}
random split(s) each, up to 1,500 training samples, 1,500 validation samples and 4,000 test samples.
Members are selected by `joint`. The data sets that decided about parameters are not among them.
Created by

```
python -m benchmarks.kept --refits docs/kept-refitting.md --data DIR
```
"""
