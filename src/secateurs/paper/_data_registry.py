"""Registry of data sets: one line per data set in datasets.csv."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from secateurs.typing import JsonObject


@dataclass(frozen=True)
class Dataset:
    """Description of a data set.

    Attributes
    ----------
    name : str
        Name of the file, without ``.csv.gz``.
    paper_name : str
        The name printed in the paper; empty if there is none.
    role : {"paper", "authors' code", "extra", "stand-in"}
        "paper" if the paper names it, "authors' code" if only the authors' program does (29 data
        sets in total), "extra" for other useful data sets. A "stand-in" is a data set of
        scikit-learn, or a small generated one, for runs without a data folder.
    task : {"binary", "multiclass"}
        Two classes or more.
    n_rows, n_features : int or None
        Number of samples and of features; None if unknown.
    class_counts : mapping of str to int
        Number of samples of each class.
    openml_id : int or None
        Identifier at openml.org, if the table there is certainly the same.
    openml_target : str or None
        Column of the labels, if it is not OpenML's default target.
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
    """Return the lines of a CSV file of this package."""
    text = (files("secateurs.paper") / name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def _parse_dataset(line: dict[str, str]) -> Dataset:
    counts = (part.rsplit("=", 1) for part in line["class_counts"].split("; ") if part)
    values: JsonObject = dict(line)
    values |= {name: line[name] or None for name in ("openml_target", "sha256")}
    for name in ("n_rows", "n_features", "openml_id"):
        values[name] = int(line[name]) if line[name] else None
    values["class_counts"] = MappingProxyType({label: int(count) for label, count in counts})
    return Dataset(**values)


DATASETS = MappingProxyType(
    {line["name"]: _parse_dataset(line) for line in read_package_csv("datasets.csv")}
)
