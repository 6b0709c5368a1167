"""Write the page docs/kept-rivals.md with its tables and its picture."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.kept import refits
from secateurs.text_format import format_count

PICTURE = "kept-rivals.png"
SCORES = ("accuracy", "AUC", "log loss")
_OURS = "refitted, out of bag"
_SMALL = "10 of 100"  # the size of the tables by data set and number of classes
# The order of rows, and which lines the picture has: label, colour and style.
_WAYS = (
    *("pruned, held out", "refitted, held out", "pruned, out of bag", _OURS),
    *("branches, out of bag", "fresh forest, equal trees", "fresh forest, equal bytes"),
    *("LightGBM, equal bytes", "HistGradientBoosting, equal bytes"),
    *("LightGBM, equal latency", "HistGradientBoosting, equal latency"),
)
_DRAWN = {
    "pruned, out of bag": ("pruned", "#8fb4d9", "o-"),
    _OURS: ("pruned and refitted", "#1f6fb2", "o-"),
    "branches, out of bag": ("with pruned branches", "#0b3c66", "o-"),
    "fresh forest, equal trees": ("fresh forest, as many trees", "#c9b28f", "s--"),
    "fresh forest, equal bytes": ("fresh forest, as many bytes", "#8a6d3b", "s--"),
    "LightGBM, equal bytes": ("LightGBM", "#c0392b", "^:"),
    "HistGradientBoosting, equal bytes": ("HistGradientBoosting", "#e08e79", "^:"),
}
_BRANCHES, _FULL = "branches, out of bag", "full forest"
_BOOSTED = ("LightGBM", "HistGradientBoosting")
# Pairs of models whose accuracy is compared: size, both models, and which data sets.
_PAIRS = (
    *(("all", f"{name}, early stopping", _FULL, "") for name in _BOOSTED),
    *(
        (size, f"fresh forest, equal {what}", other, "")
        for size in ("default size", "20 of 100", "10 of 100", "5 of 100")
        for what, other in (("trees", _OURS), ("bytes", _OURS), ("bytes", _BRANCHES))
    ),
    *(
        (_SMALL, f"{name}, equal {what}", other, which)
        for what, other in (("bytes", _BRANCHES), ("latency", _OURS))
        for name in _BOOSTED
        for which in ("", "two", "more")
    ),
)
_TICKS = (1, 2, 5, 10, 20, 50, 100)  # per cent of the bytes
_HEAD = """# Benchmark against smaller models

Why not train a smaller model instead? This page compares pruned forests with forests and boosted
models that were trained from scratch, on {n_sets} data sets with {splits}
each. It is created by

```
python -m benchmarks.kept rivals --data DIR --splits {n_splits} --page docs/kept-rivals.md
```

from the tables of a folder with at least 1,000 samples, and from generated data sets. Data sets
that decided about parameters of secateurs are not among them. Up to 1,500 samples are for training,
500 for validation and 4,000 for testing. The full forest has 100 trees, scikit-learn's default.

- **Every model may use the training and the validation samples.** Forests that are pruned out of
  bag, fresh forests and boosted models are trained on both. Forests that are pruned on held-out
  samples are trained on the training samples, and selected and refitted on the validation samples.
- *Pruned* and *refitted* forests have the given number of trees, selected by `joint`. *Branches*
  has at most as many bytes as the refitted forest, by pruned branches. *Default size* is the plain
  call `prune(forest, X, y, oob=True)`.
- *Fresh forests* have as many trees, or as many trees as fit into the same bytes, with the best of
  `min_samples_leaf` 1, 3, 5 and 10 by out-of-bag accuracy. For it, 2.7 times as many trees are
  trained, so that as many trees predict each sample.
- *LightGBM* and *HistGradientBoosting* have their default parameters. The number of rounds is the
  best by log loss on the validation samples, but at most as many as fit into the bytes of the
  refitted forest (*equal bytes*) or into its time to predict 1,000 samples (*equal latency*). It is
  at least one, even if one round does not fit.

Scores are changes against the full forest of all samples, in points (hundredths) on the test set:
mean over data sets ± standard error. Higher is better for accuracy and AUC, lower for log loss
(probabilities clipped at 0.001). AUC needs 10 test samples of each class. "Tables" leaves out the
generated data sets. "Better" is the number of data sets on which the accuracy is higher than that
of the refitted forest out of bag, with ties in brackets. Bytes are those of the pickle,
milliseconds the time of one core for 1,000 samples; both are medians.

Three rules were changed after partial runs, whose results were discarded: AUC needs 10 samples of
each class, because rare classes of one table dominated its mean; boosted models have at least one
round; and fresh forests are scored with 2.7 times as many trees, because fewer selected worse leaf
sizes on five data sets that are not reported.

![Change of accuracy and AUC by bytes](images/{picture})
"""


def write(out: Path, page: Path) -> None:
    """Write the page and its picture from the records of a folder."""
    frame = read(out)
    pictures = page.parent / "images"
    pictures.mkdir(exist_ok=True)
    draw(frame, pictures / PICTURE)
    page.write_text(text(frame), encoding="utf-8")


def read(out: Path) -> pd.DataFrame:
    """Return a row for each model, with its changes against the full forest."""
    records = [json.loads(line) for path in sorted(out.glob("*.jsonl")) for line in path.open()]
    frame = pd.json_normalize(records).rename(columns=lambda name: name.removeprefix("scores."))
    keys = ["data", "split"]
    full = frame[frame["way"] == "full forest"].set_index(keys)
    reference = full.loc[pd.MultiIndex.from_frame(frame[keys])].reset_index(drop=True)
    for score in SCORES:
        frame[f"{score} change"] = frame[score] - reference[score]
    frame["bytes share"] = frame["bytes"] / reference["bytes"]
    frame["is table"] = ~frame["data"].isin(refits.GENERATED)
    return frame


def text(frame: pd.DataFrame) -> str:
    """Return the page."""
    n_splits = frame["split"].nunique()
    facts = {"n_splits": n_splits, "splits": format_count(n_splits, "random split")}
    parts = [_HEAD.format(**facts, n_sets=frame["data"].nunique(), picture=PICTURE)]
    for size in sorted(frame["size"].unique(), key=_size_order):
        title = {"all": "Without a limit", "default size": "Default size"}.get(size, size)
        parts += [f"## {title}\n", _size_table(frame[frame["size"] == size])]
    small = frame[frame["size"].isin([_SMALL, "all"])]
    parts += [
        "## Paired differences\n",
        "Differences of accuracy on the same data sets, in points. In the mean and its standard\n"
        "error, tables of the same origin count once; median and count are over data sets.\n",
        _pairs_table(frame),
        f"## By number of classes, {_SMALL}\n",
        "Change of accuracy, in points.\n",
        _classes_table(small),
        f"## By data set, {_SMALL}\n",
        "Accuracy in per cent.\n",
        _sets_table(small),
    ]
    return "\n".join(parts)


def _pairs_table(frame: pd.DataFrame) -> str:
    """Return differences of accuracy on the same data sets; a family of tables counts once."""
    classes = {"": frame["classes"] > 1, "two": frame["classes"] == 2, "more": frame["classes"] > 2}
    lines = []
    for size, way, other, which in _PAIRS:
        part = frame[classes[which] & (frame["size"] == size)].set_index(["data", "split"])
        accuracy = [part[part["way"] == name]["accuracy"] for name in (way, other)]
        difference = (accuracy[0] - accuracy[1]).groupby("data").mean().round(9)
        families = difference.groupby(_family).mean()
        higher = f"{int((difference > 0).sum())} of {len(difference)}"
        mean = f"{_signed(families.mean())} ± {families.sem():.2f}"
        lines.append([way, other, size, which, mean, _signed(difference.median()), higher])
    heads = ["model", "compared with", "size", "classes", "mean", "median", "higher on"]
    return table(heads, lines)


def _family(name: str) -> str:
    """Return the first word of a table's name, which tables of the same origin share."""
    return name if name in refits.GENERATED else name.split("_", maxsplit=1)[0]


def _size_order(size: str) -> tuple[int, int]:
    if size[0].isdigit():
        return 2, -int(size.split(maxsplit=1)[0])
    return ["all", "default size"].index(size), 0


def _size_table(part: pd.DataFrame) -> str:
    heads = ["model", "members", "accuracy", "accuracy, tables", "AUC", "log loss", "better"]
    ours = part[part["way"] == _OURS].set_index(["data", "split"])["accuracy"]
    lines = []
    for way in _ordered(part["way"].unique()):
        rows = part[part["way"] == way]
        changes = [_mean(rows, f"{score} change") for score in SCORES]
        changes.insert(1, _mean(rows[rows["is table"]], "accuracy change"))
        members = rows["members"].median()
        shown = "" if np.isnan(members) else f"{members:.0f}"
        better = "" if way == _OURS or ours.empty else _count_better(rows, ours)
        costs = [_size(rows["bytes"].median()), f"{rows['ms'].median():.1f}"]
        lines.append([way, shown, *changes, better, *costs])
    return table([*heads, "bytes", "ms"], lines)


def _ordered(ways: Iterable[str]) -> list[str]:
    found = list(ways)
    return [way for way in found if way not in _WAYS] + [way for way in _WAYS if way in found]


def _mean(rows: pd.DataFrame, column: str) -> str:
    """Return the mean over data sets with its standard error."""
    by_set = rows.groupby("data")[column].mean().dropna()
    if by_set.empty:
        return ""
    error = by_set.sem() if len(by_set) > 1 else np.nan
    return _signed(by_set.mean()) + ("" if np.isnan(error) else f" ± {error:.2f}")


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _count_better(rows: pd.DataFrame, ours: "pd.Series[float]") -> str:
    """Return on how many data sets a model is more accurate, and on how many equally accurate."""
    paired = rows.set_index(["data", "split"])["accuracy"]
    difference = (paired - ours.reindex(paired.index)).groupby("data").mean().round(9)
    n_equal = int((difference == 0).sum())
    ties = f" (+ {n_equal})" if n_equal else ""
    return f"{int((difference > 0).sum())}{ties} of {len(difference)}"


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:.2f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"


def _classes_table(part: pd.DataFrame) -> str:
    groups = {"two classes": part["classes"] == 2, "more classes": part["classes"] > 2}
    heads = [f"{name} ({part[mask]['data'].nunique()} data sets)" for name, mask in groups.items()]
    ways = [way for way in _ordered(part["way"].unique()) if way != "full forest"]
    lines = [
        [
            way,
            *(
                _mean(part[mask & (part["way"] == way)], "accuracy change")
                for mask in groups.values()
            ),
        ]
        for way in ways
    ]
    return table(["model", *heads], lines)


def _sets_table(part: pd.DataFrame) -> str:
    shown = ["full forest", _OURS, "branches, out of bag", "fresh forest, equal bytes"]
    shown += ["LightGBM, equal bytes", "LightGBM, equal latency"]
    shown += ["HistGradientBoosting, equal bytes"]
    wide = part.pivot_table(index="data", columns="way", values="accuracy")[shown]
    lines = [[name, *(f"{value:.1f}" for value in row)] for name, row in wide.iterrows()]
    return table(["data set", *shown], lines)


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def draw(frame: pd.DataFrame, path: Path) -> None:
    """Draw the changes of accuracy and AUC by bytes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.2), layout="constrained", facecolor="white")
    for axes, score in zip(figure.subplots(1, 2, sharex=True), ("accuracy", "AUC"), strict=True):
        axes.axhline(0, color="#999999", linewidth=0.8)
        axes.plot([100], [0], "D", color="#333333", label="full forest, 100 trees")
        sized = frame[frame["size"] != "all"]
        for way, (label, colour, style) in _DRAWN.items():
            rows = sized[sized["way"] == way].assign(order=lambda f: f["size"].map(_size_order))
            by_size = rows.groupby("order")
            shares = by_size["bytes share"].agg(lambda s: 100 * np.exp(np.log(s).mean()))
            changes = by_size[f"{score} change"].mean()
            points = pd.DataFrame({"x": shares, "y": changes}).sort_values("x")
            axes.plot(points["x"], points["y"], style, color=colour, label=label, markersize=5)
        axes.set(xscale="log", xlabel="bytes, % of the full forest", title=f"test {score}")
        axes.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
        axes.minorticks_off()
        axes.grid(color="#eeeeee")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylabel("points against the full forest")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=130)
