"""
Serve a pruned model: bytes and milliseconds
============================================

A model that is smaller is cheaper to keep, quicker to load and quicker to ask.
This example prunes a forest to a budget of bytes, writes both forests for
scikit-learn (skops) and for ONNX Runtime, and weighs and times them. It needs
the extra ``onnx``: ``pip install "secateurs[onnx]"``.
"""

# %%
# A budget instead of a size
# --------------------------
#
# ``max_bytes`` keeps as many trees as fit; ``max_latency="5ms"`` would keep as
# many as answer one row in time.
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from secateurs import prune

X, y = load_digits(return_X_y=True)
X_fit, X_rest, y_fit, y_rest = train_test_split(
    X, y, test_size=0.5, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
forest = RandomForestClassifier(100, random_state=0).fit(X_fit, y_fit)
pruning = prune(forest, X_choose, y_choose, "joint", max_bytes="1MB")
small = pruning.estimator
print(f"{len(small.estimators_)} of 100 trees fit")
before, after = forest.score(X_test, y_test), small.score(X_test, y_test)
print(f"accuracy {before:.4f} -> {after:.4f}")

# %%
# Files
# -----
#
# ``save`` writes skops files, which load without running code that they bring
# along. ``export`` converts to ONNX, compares the predictions of both models
# on the rows given, and writes the file only if they agree.
import tempfile
from pathlib import Path

from secateurs import export, load, save

folder = tempfile.TemporaryDirectory()
files = {}
for name, model in {"all trees": forest, "pruned": small}.items():
    stem = Path(folder.name) / name.replace(" ", "-")
    files[name, "skops"] = save(model, stem.with_suffix(".skops"))
    files[name, "ONNX"] = export(model, stem.with_suffix(".onnx"), X_test)
kilobytes = {key: path.stat().st_size / 1000 for key, path in files.items()}
for (name, kind), size in kilobytes.items():
    print(f"{name:>9}, {kind:>5}: {size:6.0f} kB")

# %%
# Time for one row
# ----------------
#
# Of many repeats the median counts. Scikit-learn asks every tree from Python,
# ONNX Runtime does not.
import time

import numpy as np
import onnxruntime

row = X_test[:1].astype(np.float32)


def milliseconds(predict, *given):
    """Return how long a prediction takes."""
    times = []
    for _ in range(30):
        start = time.perf_counter()
        predict(*given)
        times.append(time.perf_counter() - start)
    return 1000 * np.median(times)


took = {}
for (name, kind), path in files.items():
    if kind == "skops":
        took[name, kind] = milliseconds(load(path).predict, row)
    else:
        session = onnxruntime.InferenceSession(
            path, providers=["CPUExecutionProvider"]
        )
        given = {session.get_inputs()[0].name: row}
        took[name, kind] = milliseconds(session.run, None, given)
for (name, kind), time_taken in took.items():
    print(f"{name:>9}, {kind:>5}: {time_taken:6.3f} ms")
folder.cleanup()

# %%
# Axes are logarithmic: the same distance is the same factor everywhere.
import matplotlib.pyplot as plt

_, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
kinds = ["skops", "ONNX"]
for ax, values, label in (
    (axes[0], kilobytes, "size of the file in kB"),
    (axes[1], took, "ms to predict one row"),
):
    before, after = (
        [values[name, kind] for kind in kinds]
        for name in ("all trees", "pruned")
    )
    ax.hlines(kinds, after, before, color="0.7")
    ax.plot(before, kinds, "o", color="0.4", label="all trees")
    ax.plot(after, kinds, "D", color="#0072b2", label="pruned")
    ax.set(xscale="log", xlabel=label, ylim=(-0.5, 1.5))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter("")
axes[0].set_xlim(100, 4000)
axes[1].legend(loc="center")
plt.show()
