"""Evaluate the records: points against the full ensemble, and the methods that "auto" selects."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from secateurs.evaluation.auto_method import N_CANDIDATES, rank_candidates
from secateurs.evaluation.ensemble_kind import kind_from_spread
from secateurs.evaluation.method_decision import MethodScores, decide_method

Record = dict[str, Any]
SCORES = {"accuracy": "labels", "neg_log_loss": "probabilities", "r2": "numbers"}
_LEFT_OUT = ("single best", "pcomep", "joint refined", "caruana log loss")
_BETWEEN = 0.3  # assumed standard deviation of a method's lead between data sets, in points
_MOVED = 0.05  # assumed share of test samples on which two sub-ensembles differ
KEYS = ["family", "data", "split", "situation", "size", "score"]


def read(folder: Path) -> list[Record]:
    """Return all records of a folder."""
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.open()]


def points(records: Iterable[Record]) -> pd.DataFrame:
    """Return a line per method and situation with its change against the full ensemble.

    Changes are in hundredths: points of accuracy, or of R².
    """
    lines = []
    for record in records:
        for score, whole in record["whole"].items():
            about = {key: record.get(key) for key in KEYS} | {"score": score}
            for method, found in record["methods"].items():
                own = {"method": method, "points": 100 * (found[score] - whole)}
                lines.append(about | own | {"seconds": found.get("seconds", np.nan)})
    return pd.DataFrame(lines)


def prior_of(records: Sequence[Record], without: str | None = None) -> dict[str, Any]:
    """Return the lead of each method over the median method, by kind of ensemble and score.

    Leads are in points; for log loss, in hundredths of the full ensemble's log loss. Data sets are
    weighted by the inverse variance of their points, so that few test samples count less. Data sets
    of one family, which share their origin, can be left out.
    """
    lines = []
    for record in with_trials(records):
        if record["family"] == without:
            continue
        weight = 1 / (_BETWEEN**2 + 100**2 * _MOVED / _n_tested(record))
        for score, whole in record["whole"].items():
            found = {label(m): f[score] for m, f in record["methods"].items() if m not in _LEFT_OUT}
            unit = max(abs(whole), 1e-9) if score == "neg_log_loss" else 1.0
            middle = float(np.median(list(found.values())))
            about = {"kind": kind_of(record), "score": SCORES[score], "weight": weight}
            about |= {"situation": record["situation"]}
            lines += [
                about | {"method": m, "ahead": weight * 100 * (value - middle) / unit}
                for m, value in found.items()
            ]
    frame = pd.DataFrame(lines)
    sums = frame.groupby(["kind", "score", "method", "situation"])[["ahead", "weight"]].sum()
    means = (sums["ahead"] / sums["weight"]).groupby(["kind", "score", "method"]).mean().round(3)
    found_of: dict[str, Any] = {}
    for (kind, score, method), value in means.items():
        found_of.setdefault(kind, {}).setdefault(score, {})[method] = float(value)
    return found_of


def label(method: str) -> str:
    """Return the label of a method in comparisons."""
    return {"comep": "comep λ=0.5", "domep": "domep λ=0.5"}.get(method, method)


def _n_tested(record: Record) -> float:
    return min(12_000.0, 0.4 * record["n_rows"])


def with_trials(records: Iterable[Record]) -> list[Record]:
    """Return the records with cross-validated scores of the candidates."""
    return [record for record in records if "features" in record]


def kind_of(record: Record) -> str:
    """Return the kind of ensemble, as "auto" determines it."""
    numbers = "r2" in record["whole"]
    boosted = record["situation"] == "AdaBoost"
    return kind_from_spread(record["features"]["spread"], numbers, boosted)


def taken(records: Sequence[Record]) -> dict[tuple[Any, ...], str]:
    """Return the method that "auto" selects with priors from other families only.

    The keys are data set, split, situation and score.
    """
    families = {record["family"] for record in records}
    priors = {family: prior_of(records, family) for family in families}
    found = {}
    for record in with_trials(records):
        for score in record["whole"]:
            before = priors[record["family"]][kind_of(record)][SCORES[score]]
            names = [n for n in rank_candidates(before) if n in record["tried"]][:N_CANDIDATES]
            if record["situation"] == "library":
                before = {"caruana" if score == "neg_log_loss" else "best": 1.0}
                names = [n for n in ("best", "joint", "caruana") if n in record["tried"]]
            places = [record["tried"].index(name) for name in names]
            trial = MethodScores(
                np.array(record[score]["values"])[places],
                np.array(record[score]["errors"])[np.ix_(places, places)],
            )
            place, _ = decide_method(names, trial, before)
            key = (record["data"], record["split"], record["situation"], score)
            found[key] = names[place]
    return found


def with_auto(records: Sequence[Record]) -> pd.DataFrame:
    """Return the points of all methods and of "auto"."""
    chosen = taken(records)
    frame = points(records)
    keys = zip(frame["data"], frame["split"], frame["situation"], frame["score"], strict=True)
    same = [chosen.get(key) == method for key, method in zip(keys, frame["method"], strict=True)]
    return pd.concat([frame, frame[same].assign(method="auto")], ignore_index=True)
