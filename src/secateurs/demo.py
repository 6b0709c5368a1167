"""The demo: a forest for handwritten digits, pruned with all methods.

Run it with ``make demo`` or ``secateurs demo``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from secateurs.exceptions import InputError
from secateurs.progress import ProgressCallback

if TYPE_CHECKING:
    from secateurs.comparison import Comparison
    from secateurs.pruning import Pruning

SIZES, SEED = (10, 30), 0
TARGET = "digit"
_LOW_WEIGHT = 0.2  # of diversity, for comparison with the paper's 0.5
_MARKER = ".secateurs-demo"  # file in a folder that a demo created, and may overwrite
FILES = (
    *("forest.skops", "forest.skops.json", "choose.csv", "test.csv"),
    *("small.skops", "small.skops.json", "report.html"),
)


def run_demo(
    folder: Path, n_trees: int = 300, callback: ProgressCallback | None = None
) -> tuple[Comparison, Pruning]:
    """Train a forest, compare all methods, write `FILES`, and return comparison and best pruning.

    Files of an earlier demo in the folder are overwritten, other files are not.
    """
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    from secateurs import COMEP, all_pruners
    from secateurs.comparison import compare
    from secateurs.persistence import save
    from secateurs.persistence.atomic_files import write_file
    from secateurs.report import report_data, write_report

    _claim_folder(folder)
    X, y = load_digits(return_X_y=True, as_frame=True)
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.5, random_state=SEED)
    halves = train_test_split(X_rest, y_rest, test_size=0.5, random_state=SEED)
    X_val, X_test, y_val, y_test = halves
    forest = RandomForestClassifier(n_trees, random_state=SEED).fit(X_train, y_train)
    comparison = compare(
        forest,
        X_val,
        y_val,
        [*all_pruners(), COMEP(diversity_weight=_LOW_WEIGHT)],
        SIZES,
        X_test=X_test,
        y_test=y_test,
        fresh=True,
        X_train=X_train,
        y_train=y_train,
        random_state=SEED,
        callback=callback,
    )
    pruning = comparison.pruning()
    save(forest, folder / "forest.skops", force=True)
    for name, X_part, y_part in (("choose", X_val, y_val), ("test", X_test, y_test)):
        table = X_part.assign(**{TARGET: y_part}).to_csv(index=False, lineterminator="\n")
        write_file(folder / f"{name}.csv", table.encode())
    pruning.save(folder / "small.skops", force=True)
    data = report_data(comparison, command=prune_command(folder), source="forest.skops")
    write_report(data, folder / "report.html", force=True)
    return comparison, pruning


def prune_command(folder: Path) -> list[str]:
    """Return the first words of a command that prunes the demo's forest on the same data."""
    files = [str(folder / name) for name in ("forest.skops", "choose.csv", "test.csv")]
    return ["secateurs", "prune", *files[:2], "--target", TARGET, "--test", files[2]]


def _claim_folder(folder: Path) -> None:
    """Create and mark the folder; raise if it has files that no demo wrote."""
    from secateurs.persistence.atomic_files import check_output_folder

    check_output_folder(folder)
    existing = [name for name in FILES if (folder / name).exists()]
    if existing and not (folder / _MARKER).is_file():
        raise InputError(f"{folder / existing[0]} is not from a demo. Pass another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARKER).touch()
