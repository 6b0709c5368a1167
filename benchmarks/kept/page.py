"""The page docs/kept.md: what is kept, in tables and pictures."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.kept import judge
from benchmarks.kept.judge import Record
from benchmarks.kept.situations import SITUATIONS
from secateurs.displays import CriticalDifferenceDisplay
from secateurs.statistics import average_ranks, nemenyi, wilcoxon_holm

AUTO, REFITTED = "auto", "auto, refitted"
_ONE_OF_EACH = ("comep λ=0.1", "comep λ=0.2", "joint refined", "caruana log loss", "pcomep")
_LARGE = 4000  # rows from which a data set is large
_DRAWN = (REFITTED, AUTO, "joint", "comep", "re", "best", "es", "random")

_HEAD = """# What is kept

Pruning is worth what is left afterwards. This page compares every method, the default (`auto`) and
the default with refitted leaves, on {n_sets} data sets ({n_numbers} of them with numbers to
predict), {n_splits} random splits each. It is made by

```
python -m benchmarks.kept --data DIR --page docs/kept.md --prior src/secateurs/evaluation/prior.json
```

from a folder of tables, and the data sets that scikit-learn carries. 45 % of the rows train (at
most 4,000), 15 % choose (at most 1,500), the others test (at most 12,000). Points are hundredths
of accuracy, or of R², against all members on test rows: −0.5 means 90.0 % where all members have
90.5 %. Each data set counts once, as the mean of its splits. "auto, refitted" has the training
rows as rows without labels (`X_unlabelled`) where members are chosen on rows held out.

**`auto` never sees the data set it is judged on**: what it knows of methods comes from data sets of
other families (names with the same first word are a family, such as the three sensor readings).
"""


def written(records: Sequence[Record], refits: Sequence[Record], path: Path | None) -> str:
    """Return the page; with a path, write it there and its pictures beside it."""
    frame = pd.concat([judge.with_auto(records), _refitted(records, refits)], ignore_index=True)
    frame["large"] = frame["data"].isin([r["data"] for r in records if r["n_rows"] >= _LARGE])
    labels, numbers = frame[frame["score"] == "accuracy"], frame[frame["score"] == "r2"]
    losses = frame[frame["score"] == "neg_log_loss"]
    facts = {
        "n_sets": frame["data"].nunique(),
        "n_numbers": numbers["data"].nunique(),
        "n_splits": frame["split"].nunique(),
    }
    parts = [
        _HEAD.format(**facts),
        "## In short\n",
        table(["what", "wanted", "found", "holds"], bars(labels)),
        "\n![Average ranks](images/kept-ranks.svg)\n",
        "![Points by situation](images/kept-points.svg)\n",
        "## Points of accuracy\n",
        *_tables(labels),
        "## Average ranks\n",
        ranks_text(labels),
        "## Worst case\n",
        "The data set on which a method loses most, in points, over all situations.\n",
        table(["method", "points", "data set", "situation"], worst(labels)),
        "\n## Log loss\n",
        "Hundredths of log loss that are won (+) or lost (−) against all members.\n",
        *_tables(losses),
        "## Numbers\n",
        "Hundredths of R².\n",
        *_tables(numbers),
        "## Seconds\n",
        "Processor time to choose, on average; for `auto, refitted`, of refitting.\n",
        *_seconds(labels),
    ]
    text = "\n".join(parts) + "\n"
    if path is not None:
        _draw(labels, path.parent / "images")
        path.write_text(text, encoding="utf-8")
    return text


def _refitted(records: Sequence[Record], refits: Iterable[Record]) -> pd.DataFrame:
    """Return lines for what "auto" took, refitted."""
    known = {_key(record): record for record in records}
    lines = []
    for refit in refits:
        record = known[_key(refit)]
        for score, whole in record["whole"].items():
            found = refit["refitted"]
            about = {key: record.get(key) for key in judge.KEYS} | {"score": score}
            own = {"method": REFITTED, "points": 100 * (found[score] - whole)}
            lines.append(about | own | {"seconds": found["seconds"]})
    return pd.DataFrame(lines)


def _key(record: Record) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("data", "split", "situation", "size"))


def by_set(frame: pd.DataFrame) -> pd.DataFrame:
    """Return mean points: (situation, size, data set) by method."""
    keys = ["situation", "size", "data", "method"]
    return frame.groupby(keys)["points"].mean().unstack("method")


def bars(labels: pd.DataFrame) -> list[list[str]]:
    """Return what is wanted, and what was found."""
    lines = []
    for size, most in ((20, 0.3), (40, 0.15)):
        for where in ("forest, out of bag", "forest, held out"):
            here = labels[(labels["situation"] == where) & (labels["size"] == size)]
            wide = by_set(here)[[REFITTED, "es"]].dropna()
            large = by_set(here[here["large"]])[[REFITTED, "es"]].dropna()
            if size == 20:
                lost, first = wide[REFITTED].mean(), wide["es"].mean()
                lines.append(
                    _bar(
                        f"{where}, 20 of 200: loss of auto, refitted, against that of the first 20",
                        "at most half",
                        f"{lost / first:.2f} ({_points(lost)} of {_points(first)})",
                        lost >= 0.5 * first,
                    )
                )
            mean = large[REFITTED].mean()
            lines.append(
                _bar(
                    f"{where}, {size} of 200: auto, refitted, on {len(large)} sets of at least "
                    f"{_LARGE:,} rows",
                    f"≥ −{most}",
                    _points(mean),
                    mean >= -most,
                )
            )
    wide = _fixed(labels)
    ranks = average_ranks(wide)
    other = ranks.drop(AUTO).idxmin()
    lines.append(
        _bar(
            "average rank of auto among all methods, all situations",
            "the best",
            f"{ranks[AUTO]:.2f}; next {other}, {ranks[other]:.2f}",
            ranks.idxmin() == AUTO,
        )
    )
    worse = [s for s in labels["situation"].unique() if _significantly_worse(labels, s)]
    lines.append(
        _bar(
            "situations in which auto is significantly worse than the best fixed method",
            "none",
            ", ".join(worse) or "none",
            not worse,
        )
    )
    library = by_set(labels[labels["situation"] == "library"]).mean()
    others = {name: library[name] for name in ("best", "caruana", "single best")}
    lines.append(
        _bar(
            "library, 6 of 24: auto against best members, ensemble selection, the single best",
            "at least as good",
            f"{_points(library[AUTO])} against " + ", ".join(map(_points, others.values())),
            library[AUTO] >= max(others.values()),
        )
    )
    return lines


def _bar(what: str, wanted: str, found: str, holds: bool) -> list[str]:
    return [what, wanted, found, "yes" if holds else "**no**"]


def _fixed(labels: pd.DataFrame) -> pd.DataFrame:
    """Return points of methods that were measured nearly everywhere, and of auto."""
    wide = by_set(labels).drop(columns=[REFITTED, *_ONE_OF_EACH, "single best"], errors="ignore")
    return wide.dropna(axis=1, thresh=int(0.95 * len(wide))).dropna()


def _significantly_worse(labels: pd.DataFrame, situation: str) -> bool:
    """Return whether auto is worse than the best fixed method, by Wilcoxon's test with Holm."""
    wide = _fixed(labels[labels["situation"] == situation]).groupby("data").mean()
    best = wide.drop(columns=AUTO).mean().idxmax()
    pairs = wilcoxon_holm(wide[[AUTO, best]], control=AUTO)
    return bool(wide[best].mean() > wide[AUTO].mean() and pairs.p_values.loc[AUTO, best] < 0.05)


def _points(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _tables(frame: pd.DataFrame) -> list[str]:
    means = by_set(frame).groupby(["situation", "size"]).mean()
    order = [s.name for s in SITUATIONS if s.name in means.index.get_level_values(0)]
    means = means.reindex(order, level=0)
    best = means.mean().sort_values(ascending=False).index
    lines = [
        [name, *("" if np.isnan(value) else _points(value) for value in means[name])]
        for name in best
    ]
    head = ["method", *(f"{situation}, {size}" for situation, size in means.index)]
    return [table(head, lines), ""]


def ranks_text(labels: pd.DataFrame) -> str:
    """Return average ranks by situation, and the critical difference."""
    wide = _fixed(labels)
    ranks = wide.rank(axis=1, ascending=False)
    shown = ranks.groupby("situation").mean().T
    shown["all"] = ranks.mean()
    lines = [[n, *(f"{v:.1f}" for v in row)] for n, row in shown.sort_values("all").iterrows()]
    apart = nemenyi(wide.groupby("data").mean()).critical_difference
    return (
        f"Of {wide.shape[1]} methods, the best having rank 1. Over data sets, averages that differ "
        f"by less than {apart:.1f} do not differ significantly (Nemenyi, 5 %).\n\n"
        + table(["method", *shown.columns], lines)
        + "\n"
    )


def worst(labels: pd.DataFrame) -> list[list[str]]:
    """Return the largest loss of each method."""
    wide = by_set(labels)
    lines = []
    for name in wide.min().sort_values(ascending=False).index:
        situation, size, data = wide[name].idxmin()
        lines.append([name, _points(wide[name].min()), data, f"{situation}, {size}"])
    return lines


def _seconds(labels: pd.DataFrame) -> list[str]:
    means = labels.groupby(["method", "situation"])["seconds"].mean().unstack()
    means = means.drop(index=AUTO).dropna(how="all").sort_values(means.columns[0])
    lines = [
        [name, *("" if np.isnan(value) else f"{value:.2f}" for value in row)]
        for name, row in means.iterrows()
    ]
    return [table(["method", *means.columns], lines)]


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def _draw(labels: pd.DataFrame, folder: Path) -> None:
    """Draw average ranks, and the points of some methods by situation."""
    from matplotlib.figure import Figure

    folder.mkdir(exist_ok=True)
    figure = Figure((8, 4.5), layout="constrained")
    wide = _fixed(labels).groupby("data").mean()
    CriticalDifferenceDisplay(nemenyi(wide)).plot(figure.subplots())
    figure.savefig(folder / "kept-ranks.svg", metadata={"Date": None})
    means = by_set(labels).groupby(["situation", "size"]).mean()
    order = [
        (s.name, size) for s in SITUATIONS for size in s.sizes if (s.name, size) in means.index
    ]
    figure = Figure((8, 4.5), layout="constrained")
    ax = figure.subplots()
    for place, name in enumerate(_DRAWN):
        shape = "D" if name in {AUTO, REFITTED} else "o"
        y = np.arange(len(order)) + 0.35 - 0.1 * place
        ax.plot(means.loc[order, name], y, shape, label=name, color=f"C{place}", markersize=5)
    ax.axvline(0, color="0.7", linewidth=1, zorder=0)
    ax.set_yticks(np.arange(len(order)), [f"{situation}, {size}" for situation, size in order])
    ax.invert_yaxis()
    ax.set_xlim(left=max(-3.0, float(means[list(_DRAWN)].min().min()) - 0.1))
    ax.set_xlabel("points of accuracy against all members, mean over data sets")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.savefig(folder / "kept-points.svg", metadata={"Date": None})
