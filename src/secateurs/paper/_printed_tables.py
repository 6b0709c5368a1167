"""The printed tables of the paper: methods, accuracies, and reasons for differences.

The tables are from Bian et al., "Ensemble Pruning Based on Objection Maximization With a General
Distributed Framework", IEEE TNNLS 31(9), 2020. The printed numbers determine two conventions:

- Standard deviations are sample standard deviations (divisor 4 for five folds). The number of
  correct predictions in a small fold is an integer, so only few standard deviations are possible.
  All printed values of small data sets are possible with divisor 4, hardly any with divisor 5.
- Average ranks are computed from the printed means (two decimals), and equal means share their
  ranks: this gives all three printed rows of ranks to the last digit. If all methods have the same
  mean, none is bold.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from secateurs import _methods
from secateurs.benchmarking.score_tables import MARKS
from secateurs.paper._data_registry import read_package_csv

PAPER_METHODS = ("kl", "kp", "oo", "re", "drep", "sep", "oep", "pep", "comep", "domep")
OURS = ("comep", "domep")  # the paper's own methods
CONTROL = "domep"  # the method that the paper compares all others with
N_PRINTED_FOLDS = 5  # folds behind the printed means and standard deviations
RANDOM = "random"  # randomly drawn members
BASELINES = (RANDOM, "best", "full")
NAMES = {name: method.display_name for name, method in _methods.METHODS.items()} | {"full": "All"}
TABLES = {"table-dt": "table_dt.csv", "table-svm": "table_svm.csv", "table-knn": "table_knn.csv"}
TABLE_OF_LEARNER = {"dt": "table-dt", "svm-rbf": "table-svm", "knn-distance": "table-knn"}
TABLE_OF_LEARNER |= {f"{name}-stratified": table for name, table in TABLE_OF_LEARNER.items()}
LEARNER_NAMES = {
    "dt": "trees",
    "svm-linear": "linear SVMs",
    "svm-rbf": "SVMs",
    "knn": "nearest neighbours",
    "knn-distance": "nearest neighbours",
    "nb": "naive Bayes",
    "lm": "linear models (ridge)",
    "lm-sgd-l1": "linear models (SGD, l1)",
    "lm-sgd-l2": "linear models (SGD, l2)",
    "dt-stratified": "trees, stratified bags",
    "knn-distance-stratified": "nearest neighbours, stratified bags",
    "svm-rbf-stratified": "SVMs, stratified bags",
    "synthetic": "synthetic votes",
}
READING_NAMES = {
    "binary": "two classes",
    "multiclass": "all classes",
    "binary+01": "label as 0 and 1 among the features",
    "binary+pm1": "label as −1 and 1 among the features",
}
# Why rows differ from the printed ones; an empty column of methods stands for all methods.
REASONS = read_package_csv("printed/reasons.csv")


@dataclass(frozen=True)
class PrintedAccuracy:
    """A test accuracy printed in the paper, in per cent."""

    mean: float
    std: float  # over five folds
    bold: bool  # printed as the best of its row
    mark: str  # "‡" if DOMEP is significantly better, "†" if it is worse, else ""

    def __str__(self) -> str:
        return f"{self.mean:.2f}±{self.std:.2f}"


@cache
def printed_accuracies(table: str) -> dict[str, dict[str, PrintedAccuracy]]:
    """Return a table of the paper by data set and method; empty if the paper does not print it.

    Examples
    --------
    >>> from secateurs.paper._printed_tables import printed_accuracies
    >>> printed_accuracies("table-dt")["Liver"]["re"]
    PrintedAccuracy(mean=61.16, std=4.96, bold=False, mark='‡')
    """
    rows: dict[str, dict[str, PrintedAccuracy]] = {}
    for line in read_package_csv(f"printed/{TABLES[table]}") if table in TABLES else ():
        rows.setdefault(line["dataset"], {})[line["method"].lower()] = PrintedAccuracy(
            float(line["accuracy_mean"]),
            float(line["accuracy_std"]),
            line["bold"] == "1",
            MARKS[line["domep_vs_method"]],
        )
    return rows


def mismatch_reason(table: str, row: str, methods: Iterable[str]) -> str:
    """Return why methods of a row differ from the paper's; empty if no reason is known.

    Examples
    --------
    >>> from secateurs.paper._printed_tables import mismatch_reason
    >>> mismatch_reason("table-dt", "Landsat", ["kl"])[:14]
    'Fewer members:'
    """
    lines = [line for line in REASONS if (line["table"], line["row"]) == (table, row)]
    wanted = set(methods)
    reasons = ((set(line["methods"].split()), line["reason"]) for line in lines)
    return " ".join(reason for named, reason in reasons if not named or wanted & named)


def method_label(column: str) -> str:
    """Return the printed name of a method, with the variant if the column is ``method/variant``.

    Examples
    --------
    >>> from secateurs.paper._printed_tables import method_label
    >>> method_label("kp"), method_label("kp/authors")
    ('KP', 'KP (authors)')
    """
    method, _, variant = column.partition("/")
    name = NAMES.get(method, method)
    return f"{name} ({variant})" if variant else name
