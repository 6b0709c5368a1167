"""Write the page docs/kept.md with its tables and figures."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.kept import judge
from benchmarks.kept.judge import Record
from benchmarks.kept.situations import SITUATIONS
from secateurs.displays import CriticalDifferenceDisplay
from secateurs.statistics import average_ranks, nemenyi, wilcoxon_holm

AUTO = "auto"
_ONE_OF_EACH = ("comep λ=0.1", "comep λ=0.2", "joint refined", "caruana log loss", "pcomep")
# Names of situations in the records, and on the page.
_TITLES = {
    "forest of numbers": "forest regressor",
    "extra trees of numbers": "extra trees regressor",
}
_DRAWN = (AUTO, "joint", "comep", "re", "best", "es", "random")

_HEAD = """# Benchmark of methods

This page compares the accuracy of ensembles after pruning for every method and the default (`auto`)
on {n_sets} data sets ({n_numbers} of them for regression) with {n_splits} random splits each.
[Benchmark of refitting](kept-refitting.md) measures refitted leaves and pruned branches, and
[How often a plain call is safe](kept-safe.md) measures the default number of members. This page is
created by

```
python -m benchmarks.kept --data DIR --page docs/kept.md --prior src/secateurs/evaluation/prior.json
```

from a folder of tables, and from the data sets that scikit-learn contains. 45 % of the samples are
for training (at most 4,000), 15 % are the validation set (at most 1,500), and the others are the
test set (at most 12,000). Points are hundredths of accuracy, or of R², on the test set, compared
with the full ensemble: −0.5 means 90.0 % if the full ensemble has 90.5 %. Each data set counts
once, as the mean of its splits. [Benchmark against smaller models](kept-rivals.md) compares pruned
forests with smaller models trained from scratch, and [benchmark of blends and
panels](kept-blends.md) compares weights of libraries of models.

**`auto` has no information about the data set on which it is evaluated**: its prior scores of
methods come from data sets of other families. Names with the same first word are a family, such as
the three sensor readings.
"""


def written(records: Sequence[Record], path: Path | None) -> str:
    """Return the page; with a path, also write it and its figures."""
    frame = judge.with_auto(records)
    labels, numbers = frame[frame["score"] == "accuracy"], frame[frame["score"] == "r2"]
    losses = frame[frame["score"] == "neg_log_loss"]
    facts = {
        "n_sets": frame["data"].nunique(),
        "n_numbers": numbers["data"].nunique(),
        "n_splits": frame["split"].nunique(),
    }
    parts = [
        _HEAD.format(**facts),
        "## Summary\n",
        table(["measurement", "target", "result", "met"], bars(labels)),
        "\n![Average ranks](images/kept-ranks.svg)\n",
        "![Points by situation](images/kept-points.svg)\n",
        "## Points of accuracy\n",
        *_tables(labels),
        "## Average ranks\n",
        ranks_text(labels),
        "## Worst case\n",
        "For each method, the data set on which it loses most, in points, over all situations.\n",
        table(["method", "points", "data set", "situation"], worst(labels)),
        "\n## Log loss\n",
        "Hundredths of log loss gained (+) or lost (−) compared with the full ensemble.\n",
        *_tables(losses),
        "## Numbers\n",
        "Regression: hundredths of R², compared with the full ensemble.\n",
        *_tables(numbers),
        "## Seconds\n",
        "Mean processor time to select members.\n",
        *_seconds(labels),
    ]
    text = "\n".join(parts) + "\n"
    if path is not None:
        _draw(labels, path.parent / "images")
        path.write_text(text, encoding="utf-8")
    return text


def by_set(frame: pd.DataFrame) -> pd.DataFrame:
    """Return mean points, (situation, size, data set) × method."""
    keys = ["situation", "size", "data", "method"]
    return frame.groupby(keys)["points"].mean().unstack("method")


def bars(labels: pd.DataFrame) -> list[list[str]]:
    """Return the lines of targets and results."""
    wide = _fixed(labels)
    ranks = average_ranks(wide)
    other = ranks.drop(AUTO).idxmin()
    lines = [
        _bar(
            "average rank of auto among all methods, all situations",
            "the best",
            f"{ranks[AUTO]:.2f}; next {other}, {ranks[other]:.2f}",
            ranks.idxmin() == AUTO,
        )
    ]
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
            "library, 6 of 24: auto compared with the best members, ensemble selection and the "
            "single best",
            "at least as good",
            f"{_points(library[AUTO])} against " + ", ".join(map(_points, others.values())),
            library[AUTO] >= max(others.values()),
        )
    )
    return lines


def _bar(what: str, wanted: str, found: str, holds: bool) -> list[str]:
    return [what, wanted, found, "yes" if holds else "**no**"]


def _fixed(labels: pd.DataFrame) -> pd.DataFrame:
    """Return the points of auto and of methods that were measured nearly everywhere."""
    wide = by_set(labels).drop(columns=[*_ONE_OF_EACH, "single best"], errors="ignore")
    return wide.dropna(axis=1, thresh=int(0.95 * len(wide))).dropna()


def _significantly_worse(labels: pd.DataFrame, situation: str) -> bool:
    """Return whether auto is significantly worse than the best fixed method (Wilcoxon, Holm)."""
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
    titles = [f"{_TITLES.get(situation, situation)}, {size}" for situation, size in means.index]
    head = ["method", *titles]
    return [table(head, lines), ""]


def ranks_text(labels: pd.DataFrame) -> str:
    """Return the table of average ranks by situation, and the critical difference."""
    wide = _fixed(labels)
    ranks = wide.rank(axis=1, ascending=False)
    shown = ranks.groupby("situation").mean().T
    shown["all"] = ranks.mean()
    lines = [[n, *(f"{v:.1f}" for v in row)] for n, row in shown.sort_values("all").iterrows()]
    apart = nemenyi(wide.groupby("data").mean()).critical_difference
    return (
        f"Average ranks of {wide.shape[1]} methods; rank 1 is the best. Over data sets, average "
        f"ranks that differ by less than {apart:.1f} do not differ significantly (Nemenyi, 5 %)."
        "\n\n" + table(["method", *shown.columns], lines) + "\n"
    )


def worst(labels: pd.DataFrame) -> list[list[str]]:
    """Return a line with the largest loss of each method."""
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
    """Return a Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def _draw(labels: pd.DataFrame, folder: Path) -> None:
    """Draw average ranks, and the points of selected methods by situation."""
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
    for position, name in enumerate(_DRAWN, 1):
        shape = "D" if name == AUTO else "o"
        y = np.arange(len(order)) + 0.35 - 0.1 * position
        ax.plot(means.loc[order, name], y, shape, label=name, color=f"C{position}", markersize=5)
    ax.axvline(0, color="0.7", linewidth=1, zorder=0)
    ax.set_yticks(np.arange(len(order)), [f"{situation}, {size}" for situation, size in order])
    ax.invert_yaxis()
    ax.set_xlim(left=max(-3.0, float(means[list(_DRAWN)].min().min()) - 0.1))
    ax.set_xlabel("points of accuracy against all members, mean over data sets")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.savefig(folder / "kept-points.svg", metadata={"Date": None})
