"""A forest on handwritten digits, pruned with every method.

Run it with ``make demo`` or ``secateurs demo``.
"""

from pathlib import Path
from typing import Any

from secateurs.exceptions import InputError
from secateurs.progress import ProgressCallback

SIZES, SEED = (10, 30), 0
TARGET = "digit"
_LOW_WEIGHT = 0.2  # of diversity, next to the paper's 0.5
_MARK = ".secateurs-demo"  # file that marks the folder of a demo
FILES = (
    *("forest.skops", "forest.json", "choose.csv", "test.csv"),
    *("small.skops", "small.json", "report.html"),
)


def run_demo(
    folder: Path,
    n_trees: int = 300,
    callback: ProgressCallback | None = None,
) -> tuple[Any, Any]:
    """Train a forest, compare all methods, and write the best result and a report: all of `FILES`.

    Parameters
    ----------
    folder : Path
        Folder for the files, created if it does not exist. Files of an earlier demo are
        overwritten, other files are not.
    n_trees : int, default=300
        Number of trees in the forest.
    callback : callable(done, total, best), optional
        Progress callback, see `prune`.

    Returns
    -------
    comparison : Comparison
        All methods at all sizes.
    pruning : Pruning
        The pruning that is saved.
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
    X_choose, X_test, y_choose, y_test = halves
    forest = RandomForestClassifier(n_trees, random_state=SEED).fit(X_train, y_train)
    comparison = compare(
        forest,
        X_choose,
        y_choose,
        [*all_pruners(), COMEP(diversity_weight=_LOW_WEIGHT)],
        SIZES,
        X_test=X_test,
        y_test=y_test,
        random_state=SEED,
        callback=callback,
    )
    pruning = comparison.pruning()
    save(forest, folder / "forest.skops", force=True)
    for name, rows, labels in (("choose", X_choose, y_choose), ("test", X_test, y_test)):
        table = rows.assign(**{TARGET: labels}).to_csv(index=False, lineterminator="\n")
        write_file(folder / f"{name}.csv", table.encode())
    pruning.save(folder / "small.skops", force=True)
    data = report_data(comparison, command=prune_command(folder), source="forest.skops")
    write_report(data, folder / "report.html", force=True)
    return comparison, pruning


def prune_command(folder: Path) -> list[str]:
    """Return the start of a command that prunes the same forest on the same rows."""
    files = [str(folder / name) for name in ("forest.skops", "choose.csv", "test.csv")]
    return ["secateurs", "prune", *files[:2], "--target", TARGET, "--test", files[2]]


def _claim_folder(folder: Path) -> None:
    """Create the folder; refuse one with files that are not from a demo."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Give another one.")
    foreign = [name for name in FILES if (folder / name).exists()]
    if foreign and not (folder / _MARK).is_file():
        raise InputError(f"{folder / foreign[0]} is not from a demo. Give another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARK).touch()
