"""``python -m benchmarks.kept blends``: weights of model libraries, and panels of voters.

The first part compares ways to blend the probabilities of 24 models, the second part selections of
a few voters, among them greedy selection by mutual information [1]_.

.. [1] Turkmen, Buyukates and Bastopcu. "Don't always pick the highest-performing model: an
   information theoretic view of LLM ensemble selection". arXiv 2602.08003, 2026.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import norm
from sklearn.linear_model import RidgeCV
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks import peers
from benchmarks.kept import data, situations
from secateurs import EnsembleSelection, Votes, make_pruner

Values = NDArray[np.float64]
Record = dict[str, Any]
N_VALIDATION = (150, 1500)
_LEAST_ROWS = 1000  # with fewer test samples than 400, differences of a point are noise
_MOST_FEATURES = 100  # more take too long to train on
_MOST_TESTED = 4000
_SMALLEST = 1e-3  # probabilities are clipped here, so that a single sample does not decide
SELECTIONS: dict[str, dict[str, Any]] = {
    "caruana (default: best prefix of 50 steps)": {},
    "caruana, best_prefix=False": {"best_prefix": False},
    "caruana, max_models=10": {"max_models": 10},
    "caruana, sorted_start=5": {"sorted_start": 5},
    "caruana, n_bags=20": {"n_bags": 20},
    "caruana, n_bags=20, best_prefix=False": {"n_bags": 20, "best_prefix": False},
}


def tasks(folder: Path | None) -> list[str]:
    """Return the classification tasks with enough samples, one of each family."""
    tables = [data.read(name, folder) for name in data.names(folder) if ": " not in name]
    found = {
        table.family: table
        for table in reversed(tables)
        if table is not None
        and len(table.X) >= _LEAST_ROWS
        and table.X.shape[1] <= _MOST_FEATURES
        and np.bincount(table.y).min() >= 20  # so that every part has every class
    }
    return [table.name for table in sorted(found.values(), key=lambda table: table.X.shape[1])]


def measured(name: str, split: int, folder: Path | None) -> list[Record]:
    """Return the records of all blends and panels on a split of a data set."""
    warnings.simplefilter("ignore")
    table = data.read(name, folder)
    assert table is not None
    parts = data.parts(table, split)
    models = situations._library(table.X[parts.train], table.y[parts.train], split)
    chosen, tested = (
        np.stack([model.predict_proba(table.X[rows]) for model in models], axis=1)
        for rows in (parts.choose, parts.test[:_MOST_TESTED])
    )
    y_test, records = table.y[parts.test[:_MOST_TESTED]], []
    for n in N_VALIDATION:
        probabilities, y = chosen[:n], table.y[parts.choose][:n]
        if n > N_VALIDATION[0] and len(y) <= 2 * N_VALIDATION[0]:
            continue
        about = {"task": name, "split": split, "validation": n}
        if len(np.unique(y)) == chosen.shape[2]:
            for score in ("log loss", "AUC"):
                for way, predict in blends(probabilities, y, score):
                    predicted, n_kept = predict(tested)
                    value = scored(score, predicted, y_test)
                    records.append(
                        about | {"score": score, "way": way, "value": value, "kept": n_kept}
                    )
        votes = Votes.encode(probabilities.argmax(axis=2), y)
        for way, correct in panels(votes, tested.argmax(axis=2), y_test):
            records.append(about | {"score": "panel", "way": way, "value": correct})
    return records


def scored(score: str, probabilities: Values, y: NDArray[np.int64]) -> float:
    """Return the log loss or the AUC of probabilities, the AUC one-vs-rest for several classes."""
    if score == "log loss":
        clipped = np.clip(probabilities, _SMALLEST, None)
        clipped /= clipped.sum(axis=1, keepdims=True)
        return float(log_loss(y, clipped, labels=np.arange(clipped.shape[1])))
    if probabilities.shape[1] == 2:
        return float(roc_auc_score(y, probabilities[:, 1]))
    totals = probabilities.sum(axis=1, keepdims=True)
    return float(roc_auc_score(y, probabilities / totals, multi_class="ovr"))


Predict = Callable[[Values], tuple[Values, int]]


def blends(table: Values, y: NDArray[np.int64], score: str) -> Iterator[tuple[str, Predict]]:
    """Yield ways to blend, each a function that returns predictions and the members used."""
    n_members, n_classes = table.shape[1:]
    values = [scored(score, table[:, member], y) for member in range(n_members)]
    best = int(np.argmin(values) if score == "log loss" else np.argmax(values))
    yield "single best model", _weighted(np.eye(n_members)[best])
    yield "mean of all models", _weighted(np.full(n_members, 1 / n_members))
    scoring = "neg_log_loss" if score == "log loss" else "roc_auc_ovr"
    for way, parameters in SELECTIONS.items():
        pruner = EnsembleSelection(scoring=scoring, random_state=0, **parameters).fit(table, y)
        weights = np.zeros(n_members)
        weights[pruner.member_indices_] = pruner.weights_
        yield way, _weighted(weights)
    modules = peers.autogluon_modules(peers.AUTOGLUON)
    if modules is not None:
        yield "AutoGluon's selection, 50 steps", _weighted(_autogluon(modules, table, y, score))
    target = np.eye(n_classes)[y]
    flat = table.transpose(0, 2, 1).reshape(-1, n_members)
    weights = nnls(flat, target.ravel())[0]
    yield "non-negative least squares", _weighted(weights / weights.sum())
    ridge = RidgeCV(np.logspace(-3, 4, 15)).fit(table.reshape(len(y), -1), target)

    def stack(new: Values) -> tuple[Values, int]:
        predicted = np.clip(ridge.predict(new.reshape(len(new), -1)), _SMALLEST, None)
        return predicted / predicted.sum(axis=1, keepdims=True), n_members

    yield "ridge stacking", stack


def _weighted(weights: Values) -> Predict:
    def predict(new: Values) -> tuple[Values, int]:
        return np.einsum("smc,m->sc", new, weights), int((weights > 0).sum())

    return predict


def _autogluon(modules: Any, table: Values, y: NDArray[np.int64], score: str) -> Values:
    selection, metrics = modules
    is_binary = table.shape[2] == 2
    name = "log_loss" if score == "log loss" else "roc_auc" if is_binary else "roc_auc_ovr"
    tables = list(table[:, :, 1].T if is_binary else table.transpose(1, 0, 2))
    kind = "binary" if is_binary else "multiclass"
    peer = selection.EnsembleSelection(50, kind, getattr(metrics, name))
    return peer.fit([np.ascontiguousarray(t) for t in tables], y).weights_


N_VOTERS = 5
_N_PANELS = 10  # simulated panels for each number of classes
_METHODS = ("best", "joint", "re", "comep", "caruana")


def panels(
    votes: Votes, tested: NDArray[np.int64], y: NDArray[np.int64]
) -> Iterator[tuple[str, float]]:
    """Yield the test accuracy of panels of five voters."""
    n_classes = len(votes.classes)

    def accuracy(members: Any, weights: Any = None) -> float:
        weights = np.ones(len(members)) if weights is None else weights
        counts = [(tested[:, members] == label) @ weights for label in range(n_classes)]
        return float(np.mean(np.argmax(counts, axis=0) == y))

    everyone = list(range(votes.n_members))
    yield "all voters", accuracy(everyone)
    yield "single best voter", accuracy(make_pruner("best", keep=1).fit(votes).member_indices_)
    for method in _METHODS:
        pruner = make_pruner(method, keep=N_VOTERS).fit(votes)
        weights = getattr(pruner, "weights_", None)
        yield f"{method} (vote)", accuracy(pruner.member_indices_, weights)
    labels = np.stack([votes.codes([m])[0] for m in everyone], axis=1).astype(np.int64)
    members, shares = mutual_information(labels, votes.truth, n_classes)
    yield "mutual information (vote)", accuracy(members)
    decoded = likeliest(labels[:, members], votes.truth, tested[:, members], n_classes)
    yield "mutual information (likeliest class)", float(np.mean(decoded == y))
    yield "mutual information: share of the entropy of y that it claims", shares[-1]


def mutual_information(
    labels: NDArray[np.int64], y: NDArray[np.int64], n_classes: int
) -> tuple[list[int], list[float]]:
    """Add the voter that most increases I(y; votes), estimated by the frequencies of patterns."""
    selected: list[int] = []
    shares = []
    pattern = np.zeros(len(y), dtype=np.int64)
    while len(selected) < N_VOTERS:
        free = [member for member in range(labels.shape[1]) if member not in selected]
        entropies = [
            _entropy(pattern * n_classes + labels[:, t], y, n_classes) for t in free
        ]  # of y, if the votes are known
        best = int(np.argmin(entropies))
        selected.append(free[best])
        pattern = np.unique(pattern * n_classes + labels[:, free[best]], return_inverse=True)[1]
        shares.append(1 - entropies[best] / _entropy(np.zeros_like(y), y, n_classes))
    return selected, shares


def _entropy(pattern: NDArray[np.int64], y: NDArray[np.int64], n_classes: int) -> float:
    """Return the conditional entropy H(y | pattern) in nats."""
    joint = np.unique(pattern * n_classes + y, return_counts=True)[1] / len(y)
    alone = np.unique(pattern, return_counts=True)[1] / len(y)
    return float((alone * np.log(alone)).sum() - (joint * np.log(joint)).sum())


def likeliest(
    labels: NDArray[np.int64],
    y: NDArray[np.int64],
    new: NDArray[np.int64],
    n_classes: int,
) -> NDArray[np.int64]:
    """Return the most frequent class of each pattern of votes; of new patterns, the vote."""
    base = n_classes ** np.arange(labels.shape[1])
    known: dict[int, Values] = {}
    for key, label in zip(labels @ base, y, strict=True):
        known.setdefault(int(key), np.zeros(n_classes))[label] += 1
    votes = np.argmax([(new == label).sum(axis=1) for label in range(n_classes)], axis=0)
    pairs = zip(new @ base, votes, strict=True)
    return np.array([known[int(k)].argmax() if int(k) in known else vote for k, vote in pairs])


def simulated(n_classes: int, split: int) -> list[Record]:
    """Return the records of a simulated panel: families of voters with errors in common.

    A Gaussian copula: a voter is right where a normal variable is below a quantile. The variables
    have a part in common with all voters and a part with those of their family. Wrong voters of a
    family predict the same class half of the time.
    """
    rng = np.random.default_rng([n_classes, split])
    n_samples, n_members, n_families = 20_000, 20, 5
    y = rng.integers(n_classes, size=n_samples)
    family = rng.integers(n_families, size=n_members)
    skill = rng.uniform(0.55, 0.8, size=n_members)
    shared = rng.normal(size=(n_samples, 1)), rng.normal(size=(n_samples, n_families))[:, family]
    own = rng.normal(size=(n_samples, n_members))
    latent = np.sqrt(0.2) * shared[0] + np.sqrt(0.4) * shared[1] + np.sqrt(0.4) * own
    lure = rng.integers(1, n_classes, size=(n_samples, n_families))[:, family]
    any_wrong = rng.integers(1, n_classes, size=own.shape)
    wrong = np.where(rng.random(own.shape) < 0.5, lure, any_wrong)
    labels = np.where(latent < norm.ppf(skill), 0, wrong)
    labels = (labels + y[:, None]) % n_classes
    records = []
    for n in N_VALIDATION:
        votes = Votes.encode(labels[:n], y[:n])
        about = {"task": f"simulated, {n_classes} classes", "split": split, "validation": n}
        for way, value in panels(votes, labels[1500:], y[1500:]):
            records.append(about | {"score": "panel", "way": way, "value": value})
    return records


def written(records: list[Record], n_splits: int) -> str:
    """Return the page."""
    frame = pd.DataFrame(records)
    frame["kind"] = np.where(frame["task"].str.startswith("simulated"), "simulated", "libraries")
    names = frame.loc[frame["kind"] == "libraries", "task"].unique()
    about = {"n_tasks": len(names), "n_splits": n_splits, "names": " ".join(sorted(names))}
    lines = [_INTRODUCTION.format(**about)]
    for score, name in (("log loss", "log loss"), ("AUC", "ROC AUC")):
        for n in N_VALIDATION:
            part = frame[(frame["score"] == score) & (frame["validation"] == n)]
            if len(part):
                size = f"{n}" if n == N_VALIDATION[0] else f"up to {n:,}"
                n_part = part["task"].nunique()
                lines.append(f"## {name}, {size} validation samples, {n_part} tasks\n")
                lines.append(_blend_table(part, score))
    lines.append(_PANELS)
    lines.append(_panel_table(frame[frame["score"] == "panel"]))
    return "\n".join(lines) + "\n"


def _blend_table(part: pd.DataFrame, score: str) -> str:
    values = part.pivot_table("value", ["task"], "way", sort=False)
    sign = -1 if score == "log loss" else 1
    reference = values["single best model"]
    if score == "log loss":
        gains = 100 * (values.rsub(reference, axis=0)).div(reference, axis=0)
    else:
        gains = 100 * values.sub(reference, axis=0)
    ranks = (sign * values).rank(axis=1, ascending=False).mean()
    kept = part.groupby("way")["kept"].mean()
    unit = "% lower than the single best" if score == "log loss" else "points above the single best"
    lines = [f"| way | {unit} | worst task | average rank | models |", "| --- " * 5 + "|"]
    for way in values.columns:
        error = gains[way].std() / np.sqrt(len(gains))
        figures = f"{gains[way].mean():+.2f} ± {error:.2f} | {gains[way].min():+.2f}"
        figures = figures.replace("-", "−").replace("+0.00 ± 0.00 | +0.00", "0 | 0")
        lines.append(f"| {way} | {figures} | {ranks[way]:.1f} | {kept[way]:.1f} |")
    return "\n".join(lines) + "\n"


def _panel_table(part: pd.DataFrame) -> str:
    means = part.groupby(["way", "kind", "validation", "task"], sort=False)["value"].mean()
    table = means.groupby(["way", "kind", "validation"], sort=False).mean().unstack([1, 2])
    lines = [
        "| way | " + " | ".join(f"{kind}, {n}" for kind, n in table.columns) + " |",
        "| --- " * (1 + len(table.columns)) + "|",
    ]
    for way, row in table.iterrows():
        lines.append(f"| {way} | " + " | ".join(f"{100 * value:.1f}" for value in row) + " |")
    return "\n".join(lines)


_INTRODUCTION = """# Benchmark of blends and panels

This page measures ways to blend the predictions of a library of models, and to select a panel of
voters. It is created by

```
python -m benchmarks.kept blends --data DIR --autogluon DIR --splits {n_splits} \\
    --page docs/kept-blends.md --only {names}
```

The tasks are {n_tasks} classification data sets, one of each family, with {n_splits} random
split(s).
A library has 24 models of many kinds, good and bad (`benchmarks/kept/situations.py`). Weights are
fitted on the validation samples, and scored on test samples that are used for nothing else. Each
task counts once, as the mean of its splits; ± is the standard error over tasks. For the log loss,
probabilities are clipped at 0.001.
"""
_PANELS = """## Panels of five voters

Test accuracy in per cent, by the number of validation samples. Voters predict labels: those of the
libraries above, and simulated panels of 20 voters in five families with correlated errors (a
Gaussian copula), with two and with four classes.

*Mutual information* is the greedy selection of arXiv 2602.08003 for panels of language models: it
adds the voter that most increases the mutual information between the true label and the votes. It
is not a method of secateurs. The estimate from the frequencies of vote patterns has a number of
cells that grows exponentially with the panel: the last line shows the share of the label's entropy
that five voters seem to explain on the validation samples. Where patterns are as rare as samples,
this share approaches 100 % for any voters, and the next voter is chosen by noise. It also measures
information and not agreement: a voter that is reliably wrong is informative, but harms a vote. Its
own decision, the likeliest class of a pattern, needs a table of patterns instead of a vote.
"""


def _kept(path: Path, measure: Callable[..., list[Record]], *arguments: Any) -> list[Record]:
    """Return the records of a file, or measure and write them if it does not exist."""
    if not path.exists():
        records = measure(*arguments)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        print(path.stem, flush=True)
    return [json.loads(line) for line in path.read_text().splitlines()]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kept blends", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of tables NAME.csv or NAME.csv.gz")
    parser.add_argument("--autogluon", type=Path, help="a copy of AutoGluon's repository")
    parser.add_argument("--out", type=Path, default=Path("blend-results"), help="for results")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--page", type=Path, help="write the page to this file")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    peers.AUTOGLUON = options.autogluon
    if peers.autogluon_modules(options.autogluon) is None:
        print("AutoGluon's selection is left out: pass --autogluon DIR, a copy of its repository.")
    names = options.only or tasks(options.data)
    print(f"{len(names)} tasks: {', '.join(names)}", flush=True)
    calls = [
        delayed(_kept)(options.out / f"{name}-{split}.jsonl", measured, name, split, options.data)
        for split in range(options.splits)
        for name in names
    ]
    calls += [
        delayed(_kept)(
            options.out / f"panel-{n_classes}-{split}.jsonl", simulated, n_classes, split
        )
        for n_classes in (2, 4)
        for split in range(_N_PANELS)
    ]
    parallel = Parallel(n_jobs=options.jobs, batch_size=1, prefer="threads", verbose=1)
    records = [record for found in parallel(calls) for record in found]
    text = written(records, options.splits)
    if options.page is None:
        print(text)
    else:
        options.page.write_text(text, encoding="utf-8")
