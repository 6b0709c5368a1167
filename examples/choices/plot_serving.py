"""
Serving a pruned model: file size and latency
=============================================

A smaller model is cheaper to store, faster to load and faster to predict. This
example prunes a forest to a budget of bytes, writes both forests for
scikit-learn (skops) and for ONNX Runtime, and compares file sizes and
prediction times. It needs the extra ``onnx``:
``pip install "secateurs[onnx]"``.
"""

# %%
# A budget instead of a size
# --------------------------
#
# ``max_bytes`` keeps as many trees as fit into the budget;
# ``max_latency="5ms"`` would keep as many as can predict one sample in this
# time.
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from secateurs import prune

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.5, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
forest = RandomForestClassifier(100, random_state=0).fit(X_train, y_train)
pruning = prune(forest, X_val, y_val, "joint", max_bytes="1MB")
small = pruning.estimator
print(f"{len(small.estimators_)} of 100 trees fit into the budget")
before, after = forest.score(X_test, y_test), small.score(X_test, y_test)
print(f"accuracy {before:.4f} -> {after:.4f}")

# %%
# Files
# -----
#
# ``save`` writes skops files, which can be loaded without running any code in
# them. ``export`` converts a model to ONNX, compares the predictions of both
# models on the given samples, and writes the file only if they agree.
import tempfile
from pathlib import Path

from secateurs import export, load, save

folder = tempfile.TemporaryDirectory()
files = {}
for name, model in {"full": forest, "pruned": small}.items():
    stem = Path(folder.name) / name.replace(" ", "-")
    files[name, "skops"] = save(model, stem.with_suffix(".skops"))
    files[name, "ONNX"] = export(model, stem.with_suffix(".onnx"), X_test)
kilobytes = {key: path.stat().st_size / 1000 for key, path in files.items()}
for (name, kind), size in kilobytes.items():
    print(f"{name:>9}, {kind:>5}: {size:6.0f} kB")

# %%
# Latency of one sample
# ---------------------
#
# The reported time is the median of many repetitions. scikit-learn calls every
# tree from Python, ONNX Runtime does not.
import time

import numpy as np
import onnxruntime

sample = X_test[:1].astype(np.float32)


def milliseconds(predict, *arguments):
    """Return the median time of a prediction."""
    times = []
    for _ in range(30):
        start = time.perf_counter()
        predict(*arguments)
        times.append(time.perf_counter() - start)
    return 1000 * np.median(times)


latencies = {}
for (name, kind), path in files.items():
    if kind == "skops":
        latencies[name, kind] = milliseconds(load(path).predict, sample)
    else:
        session = onnxruntime.InferenceSession(
            path, providers=["CPUExecutionProvider"]
        )
        inputs = {session.get_inputs()[0].name: sample}
        latencies[name, kind] = milliseconds(session.run, None, inputs)
for (name, kind), latency in latencies.items():
    print(f"{name:>9}, {kind:>5}: {latency:6.3f} ms")
folder.cleanup()

# %%
# The axes are logarithmic: equal distances along an axis are equal factors.
import matplotlib.pyplot as plt

_, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
kinds = ["skops", "ONNX"]
for ax, values, label in (
    (axes[0], kilobytes, "file size in kB"),
    (axes[1], latencies, "ms to predict one sample"),
):
    before, after = (
        [values[name, kind] for kind in kinds] for name in ("full", "pruned")
    )
    ax.hlines(kinds, after, before, color="0.7")
    ax.plot(before, kinds, "o", color="0.4", label="full forest")
    ax.plot(after, kinds, "D", color="#0072b2", label="pruned")
    ax.set(xscale="log", xlabel=label, ylim=(-0.5, 1.5))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter("")
axes[0].set_xlim(100, 4000)
axes[1].legend(loc="center")
plt.show()
