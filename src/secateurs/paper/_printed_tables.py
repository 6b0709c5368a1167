"""What the paper prints: its methods, and the numbers of its tables.

The tables are those of Bian et al., "Ensemble Pruning Based on Objection Maximization With a
General Distributed Framework", IEEE TNNLS 31(9), 2020. Two facts about them, found by arithmetic:

- A standard deviation is that of a sample (divisor 4 for five folds). Right answers of five small
  folds are whole numbers, so few standard deviations are possible; all those printed for small
  data sets are possible with divisor 4, hardly any with divisor 5.
- Average ranks come from the means as printed, to two decimals, and equal ones share their ranks:
  so computed, all three rows of ranks come out to the last digit. Where all methods have the same
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
CONTROL = "domep"  # what the paper compares all others with
N_PRINTED_FOLDS = 5  # of the printed means and deviations
FLOORS = ("random", "best", "full")
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
READING_NAMES = {"binary": "two classes", "multiclass": "all classes"}
REASONS = read_package_csv(
    "printed/reasons.csv"
)  # why rows differ; without methods, for all of them


@dataclass(frozen=True)
class PrintedAccuracy:
    """A test accuracy as the paper prints it, in per cent.

    Attributes
    ----------
    mean, std : float
        Mean and standard deviation over five folds.
    bold : bool
        Whether it is printed as the best of its row.
    mark : {"‡", "†", ""}
        Whether DOMEP is significantly better, worse, or neither.
    """

    mean: float
    std: float
    bold: bool
    mark: str

    def __str__(self) -> str:
        return f"{self.mean:.2f}±{self.std:.2f}"


@cache
def printed_accuracies(table: str) -> dict[str, dict[str, PrintedAccuracy]]:
    """Read a table of the paper, by data set and method; empty for others.

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
    """Return why methods of a row differ from the paper's; empty where no reason is known.

    Examples
    --------
    >>> from secateurs.paper._printed_tables import mismatch_reason
    >>> mismatch_reason("table-dt", "Landsat", ["kl"])[:14]
    'Fewer members:'
    """
    lines = [line for line in REASONS if (line["table"], line["row"]) == (table, row)]
    asked = set(methods)
    named = ((set(line["methods"].split()), line["reason"]) for line in lines)
    return " ".join(reason for of, reason in named if not of or asked & of)


def method_label(column: str) -> str:
    """Return the name of a method as the paper prints it; ``method/variant`` names the variant.

    Examples
    --------
    >>> from secateurs.paper._printed_tables import method_label
    >>> method_label("kp"), method_label("kp/authors")
    ('KP', 'KP (authors)')
    """
    method, _, variant = column.partition("/")
    name = NAMES.get(method, method)
    return f"{name} ({variant})" if variant else name
