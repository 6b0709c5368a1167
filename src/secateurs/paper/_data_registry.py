"""What is known of the data sets: one line each in datasets.csv."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType


@dataclass(frozen=True)
class Dataset:
    """What is known of a data set.

    Attributes
    ----------
    name : str
        Name of the file, without ``.csv.gz``.
    paper_name : str
        The name that the paper prints; empty if it prints none.
    role : {"paper", "authors' code", "extra", "stand-in"}
        Named in the paper, or in the authors' code alone (together 29 sets); another useful set; or
        a set of scikit-learn for trials without a data folder.
    task : {"binary", "multiclass"}
        Two classes or more.
    n_rows, n_features : int or None
        Its size.
    class_counts : mapping of str to int
        Rows of each class.
    openml_id : int or None
        Number at openml.org of the same table, where that is certain.
    openml_target : str or None
        Its label, where OpenML names another column.
    sha256 : str or None
        Checksum of ``NAME.csv.gz``.
    note : str
        Remarks.
    """

    name: str
    paper_name: str
    role: str
    task: str
    n_rows: int | None
    n_features: int | None
    class_counts: Mapping[str, int]
    openml_id: int | None
    openml_target: str | None
    sha256: str | None
    note: str


def _registry() -> Mapping[str, Dataset]:
    text = (files("secateurs.paper") / "datasets.csv").read_text("utf-8")
    known = {}
    for row in csv.DictReader(text.splitlines()):
        counts = dict(part.rsplit("=", 1) for part in row["class_counts"].split("; ") if part)
        known[row["name"]] = Dataset(
            name=row["name"],
            paper_name=row["paper_name"],
            role=row["role"],
            task=row["task"],
            n_rows=int(row["rows"]) if row["rows"] else None,
            n_features=int(row["features"]) if row["features"] else None,
            class_counts=MappingProxyType({label: int(n) for label, n in counts.items()}),
            openml_id=int(row["openml_id"]) if row["openml_id"] else None,
            openml_target=row["openml_target"] or None,
            sha256=row["sha256"] or None,
            note=row["note"],
        )
    return MappingProxyType(known)


DATASETS = _registry()
