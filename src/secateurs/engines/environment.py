"""Show the environment for bug reports: versions, machine and threads."""

import os
import platform
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from secateurs import __version__

_DEPENDENCIES = (
    *("numpy", "scipy", "scikit-learn", "joblib", "click", "jinja2", "numba", "pandas", "rich"),
    *("skops", "threadpoolctl"),
)
_EXTRAS = (
    *("dask", "distributed", "pyarrow", "matplotlib", "zarr", "skl2onnx", "onnx", "onnxruntime"),
    "treelite",
)


def show_versions() -> None:
    """Print the versions of secateurs, Python and all dependencies, for bug reports.

    Packages that are not installed are shown as None.

    Examples
    --------
    >>> import secateurs
    >>> secateurs.show_versions()
    System
        secateurs: ...
    """
    sections: dict[str, Mapping[str, object]] = {
        "System": {
            "secateurs": __version__,
            "python": " ".join(sys.version.split()),
            "executable": sys.executable,
            "machine": platform.platform(),
        },
        "Dependencies": {name: _installed_version(name) for name in _DEPENDENCIES},
        "Extras": {name: _installed_version(name) for name in _EXTRAS},
        "Threads": _thread_counts(),
    }
    lines = []
    for title, entries in sections.items():
        width = max(map(len, entries))
        lines += [title, *(f"    {name:>{width}}: {value}" for name, value in entries.items()), ""]
    print("\n".join(lines[:-1]))


def _installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _thread_counts() -> dict[str, int | None]:
    """Return the number of threads of the machine, joblib and each compiled library."""
    for module in ("numpy", "scipy.linalg", "sklearn"):  # these load the compiled libraries
        import_module(module)
    pools = import_module("threadpoolctl").threadpool_info()
    return {
        "machine": os.cpu_count(),
        "joblib": import_module("joblib").cpu_count(),
        **{pool["prefix"]: pool["num_threads"] for pool in pools},
    }
