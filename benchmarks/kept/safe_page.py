"""Write the page docs/kept-safe.md: how often a plain call is safe, alarms, and libraries."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.kept.libraries import KEEP, library_table
from benchmarks.kept.page import table

Record = dict[str, Any]
# The beginnings of alarms, by the name of their guard.
_GUARDS = {
    "majority class or mean": ("The pruned ensemble has no better", "Even the full ensemble"),
    "best single member": ("The best single member", "In cross-validation, the best single"),
    "first or random members": (
        *("As many of the first members", "In cross-validation, the first"),
        "In cross-validation, random",
    ),
    "other scores": ("Scores other than ", "Scores that were not asked for"),  # older records
    "tolerance on test data": ("On the test set",),
}

_HEAD = """# How often a plain call is safe

This page is created by

```
python -m benchmarks.kept safe --data DIR --generated 7 --page docs/kept-safe.md
```

from generated data sets and from tables of a folder. It prunes ensembles by the former default
(before: `tolerance=0.005, relative_to="full", refit=False`) and by the default rule (after), and
measures the losses on up to 3,000 test samples. *Safe* means accuracy and AUC at most one point
lower and a Brier score at most 5 % higher than for the full ensemble; for regression, R² at most
one point lower and a squared error at most 5 % higher; for labels, accuracy at most one point
lower. Forests have 120 trees, trained on up to 1,500 samples. Classes are imbalanced if the rarer
of two is at most 15 % of the samples.

No data set on this page decided a constant of the rule. Three parts were added after data sets of
this page had failed, with constants that other data sets or a formula decided: for ensembles that
hardly err (sensor_readings_2), for boosted models and perfect scores of libraries
(segmentation_test: rarest), and for libraries with a rare class (generated 22). Names with "rarest"
are tables of several classes of which the rarest one of at least 2 % is distinguished from all
others.

## Safe calls

{sets}
A false alarm is a warning of `prune` or of the summary on test data although the pruning is safe.
p95 is the 95th percentile of the losses: points of accuracy, R² and AUC, per cent of the Brier
score, squared error and log loss (clipped at 0.001).
"""
_ALARMS = """
## Alarms by guard

The number of prunings above with an alarm of each guard, and how many of these were not safe. A
note is not a warning: the cross-validated summary of the validation samples names scores of
probabilities that may be much worse (by the 95 % interval, AUC by more than two points or the Brier
score by more than 10 %), or says that samples are too few to tell a change of a point. Notes were
not counted for the former rule. The last row counts all prunings.
"""
_LIBRARIES = """
## Libraries

Mean gain over the vote or the mean of all models: points of accuracy, hundredths of log loss
(clipped at 0.001) or of R², per cent of the root mean squared error. Libraries have 24 classifiers
or 14 regressors, trained on up to 800 samples, with 300 and 800 validation samples. The members are
{keep}, or as many as the default rule keeps. The best fixed method is the best of `best`, `joint`
and `caruana` by its mean; the single best model is another number of members. `lowest` is the
worst case. {sets}
"""


def losses(record: Record) -> dict[str, float]:
    """Return the losses of a pruning on test data: points of scores, and per cent of the loss."""
    before, after = record["before"], record["after"]
    points = {
        name: 100 * (before[name] - after[name]) for name in ("score", "auc") if name in before
    }
    per_cent = {
        name: 100 * (after[name] / before[name] - 1) if before[name] > 0 else 0.0
        for name in ("loss", "log loss")
        if name in before
    }
    return points | per_cent


def is_safe(record: Record) -> bool:
    """Return whether a pruning loses at most a point of scores, and 5 % of the loss."""
    lost = losses(record)
    points = [lost[name] for name in ("score", "auc") if name in lost]
    return max(points) <= 1 + 1e-9 and lost.get("loss", 0.0) <= 5 + 1e-9


def safe_table(records: list[Record]) -> pd.DataFrame:
    """Return the shares of safe calls, mean sizes and losses, by situation, samples and rule."""
    rows = [
        {key: record[key] for key in ("situation", "n", "rule", "data")}
        | {
            "safe": is_safe(record),
            "kept": record["kept"] / record["members"],
            "warned": bool(record["warnings"]),
        }
        | losses(record)
        for record in records
    ]
    frame = pd.DataFrame(rows)
    every = frame.assign(n="all")
    frame = pd.concat([frame, every])
    frame["false alarm"] = frame["warned"] & frame["safe"]
    frame["silent"] = ~frame["warned"] & ~frame["safe"]
    grouped = frame.groupby(["situation", "n", "rule"], sort=False)
    shares = grouped[["safe", "kept", "false alarm", "silent"]].mean().mul(100)
    p95 = grouped[["score", "auc", "loss", "log loss"]].quantile(0.95).add_prefix("p95 ")
    return shares.join(p95).join(grouped["data"].count().rename("cases")).round(1)


def _safe_markdown(shares: pd.DataFrame) -> str:
    """Return the shares as Markdown, sorted by situation."""
    head = [
        *("situation", "samples", "rule", "safe", "members kept"),
        *("false alarms", "unsafe without alarm"),
        *("accuracy or R², p95 loss", "AUC, p95 loss", "Brier or squared error, p95"),
        *("log loss, p95", "cases"),
    ]
    lines = []
    for index, row in shares.sort_index(level=0, sort_remaining=False).iterrows():
        percentages = [f"{row[name]:.0f} %" for name in ("safe", "kept", "false alarm", "silent")]
        points = [_text(row[f"p95 {name}"], "") for name in ("score", "auc")]
        ratios = [_text(row[f"p95 {name}"], " %") for name in ("loss", "log loss")]
        lines.append([*map(str, index), *percentages, *points, *ratios, f"{row['cases']:.0f}"])
    return table(head, lines)


def _text(value: float, unit: str) -> str:
    return "" if np.isnan(value) else f"{value:z.1f}{unit}"  # z: no negative zero


def _alarm_markdown(records: Sequence[Record]) -> str:
    """Return how often each guard has an alarm, and how often the pruning is then unsafe."""
    rules = list(dict.fromkeys(record["rule"] for record in records))
    counts = {
        name: [_count(records, rule, starts) for rule in rules] for name, starts in _GUARDS.items()
    }
    counts["any guard"] = [_count(records, rule, ("",)) for rule in rules]
    counts["note: much worse scores are possible"] = [
        _count(records, rule, ("These samples cannot exclude",), "notes") for rule in rules
    ]
    counts["any note"] = [_count(records, rule, ("",), "notes") for rule in rules]
    counts["neither alarm nor note"] = [_count_silent(records, rule) for rule in rules]
    counts["prunings, not safe"] = [
        (len(part), sum(not is_safe(record) for record in part))
        for part in ([r for r in records if r["rule"] == rule] for rule in rules)
    ]
    lines = [[name, *(f"{n}, {bad}" for n, bad in found)] for name, found in counts.items()]
    return table(["alarms, of these not safe", *rules], lines)


def _count(
    records: Sequence[Record], rule: str, starts: tuple[str, ...], kind: str = "warnings"
) -> tuple[int, int]:
    alarmed = [
        record
        for record in records
        if record["rule"] == rule
        and any(text.removeprefix("Warning: ").startswith(starts) for text in record[kind])
    ]
    return len(alarmed), sum(not is_safe(record) for record in alarmed)


def _count_silent(records: Sequence[Record], rule: str) -> tuple[int, int]:
    silent = [
        record
        for record in records
        if record["rule"] == rule and not record["warnings"] and not record["notes"]
    ]
    return len(silent), sum(not is_safe(record) for record in silent)


def _library_markdown(records: list[Record]) -> str:
    gains = library_table(records)
    lines = [
        [*index, *(f"{value:+.2f}" for value in row[:-1]), f"{row.iloc[-1]:.0f}"]
        for index, row in gains.iterrows()
    ]
    return table([*gains.index.names, *gains.columns], lines)


def written(records: list[Record], library_records: list[Record]) -> str:
    """Return the page."""
    parts = [
        _HEAD.format(sets=_describe_sets(records)),
        _safe_markdown(safe_table(records)),
        _ALARMS,
        _alarm_markdown(records),
        _LIBRARIES.format(keep=KEEP, sets=_describe_sets(library_records)),
        _library_markdown(library_records),
    ]
    return "\n".join(parts) + "\n"


def _describe_sets(records: Sequence[Record]) -> str:
    names = sorted({record["data"] for record in records})
    return "\n" + fill(f"Data sets: {len(names)} ({', '.join(names)}).", 100) + "\n"
