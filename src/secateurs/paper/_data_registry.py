"""What is known of the data sets: one line each in datasets.csv."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any


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
        a set of scikit-learn, or a small drawn one, for trials without a data folder.
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


@cache
def read_package_csv(name: str) -> list[dict[str, str]]:
    """Read a CSV file of this package."""
    text = (files("secateurs.paper") / name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def _parse_dataset(line: dict[str, str]) -> Dataset:
    counts = (part.rsplit("=", 1) for part in line["class_counts"].split("; ") if part)
    values: dict[str, Any] = {name: line[name] or None for name in ("openml_target", "sha256")}
    for name in ("n_rows", "n_features", "openml_id"):
        values[name] = int(line[name]) if line[name] else None
    values["class_counts"] = MappingProxyType({label: int(count) for label, count in counts})
    return Dataset(**line | values)


DATASETS = MappingProxyType(
    {line["name"]: _parse_dataset(line) for line in read_package_csv("datasets.csv")}
)
