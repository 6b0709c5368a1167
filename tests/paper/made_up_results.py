"""Small plans and results that were never measured, to test what is made of them."""

import itertools
import math
from dataclasses import asdict, replace

import numpy as np

from secateurs.paper import PaperRow, load_plan
from secateurs.paper._plan_results import paper_results_frame
from secateurs.paper._printed_tables import PAPER_METHODS, printed_accuracies
from secateurs.paper._reproduce import make_contents

LEARNERS = {"table-dt": "dt", "table-svm": "svm-rbf", "table-knn": "knn-distance"}
# The last rows of the paper's three tables.
PRINTED_RANKS = {
    "table-dt": [7.15, 7.20, 4.80, 4.60, 8.40, 5.55, 5.20, 4.75, 4.40, 2.95],
    "table-svm": [5.20, 5.60, 4.60, 5.50, 7.05, 5.50, 6.60, 4.55, 4.65, 5.75],
    "table-knn": [5.82, 7.45, 3.77, 5.27, 8.95, 5.09, 5.77, 6.55, 3.05, 3.27],
}
PRINTED_COUNTS = {
    "table-dt": "0/10/0 1/9/0 0/10/0 1/9/0 2/8/0 2/8/0 0/10/0 0/10/0 0/10/0",
    "table-svm": "0/10/0 0/9/1 0/9/1 0/10/0 1/9/0 1/9/0 0/10/0 0/10/0 0/10/0",
    "table-knn": "0/11/0 0/11/0 0/11/0 0/11/0 1/10/0 0/11/0 0/11/0 1/10/0 1/10/0",
}


def row_of(name, learner="dt", reading="binary", established=True, dataset=None):
    """A row whose data set has the same name in small letters."""
    return PaperRow(name, dataset or name.lower(), reading, learner, established)


def plan_of(name, rows=None, **changes):
    """A plan of the package, run once, with other rows; rows may be given by name."""
    plan = replace(load_plan(name), n_seeds=1)
    if rows is not None:
        learner = LEARNERS.get(name, "dt")
        rows = tuple(row_of(r, learner) if isinstance(r, str) else r for r in rows)
        changes["rows"] = rows
    return replace(plan, **changes)


def small(name, **changes):
    """A plan of the package with one row, or with its own rows of drawn votes."""
    rows = None if name in ("figure-scale", "figure-speedup") else [row_of("Iono")]
    return plan_of(name, rows, **changes)


def frame_of(plan, measure, seed=0):
    """Results of all cells of a plan; ``measure`` gives the fields of a cell, or its accuracy."""
    rows = []
    for cell in plan.cells(seed):
        found = measure(cell)
        if found is not None:
            fields = found if isinstance(found, dict) else {"accuracy": found}
            rows.append(asdict(cell) | {"n_test": 50, "source": "made up"} | fields)
    return paper_results_frame(rows)


def key_of(cell):
    """A unique name of a cell."""
    return (
        f"{cell.kind}/{cell.bag.unique_name}/{cell.method}/{cell.variant}"
        f"/keep{cell.keep}/weight{cell.diversity_weight:g}"
    )


def noise(*parts):
    """A number between 0 and 1 that depends on the parts alone."""
    text = "/".join(map(str, parts)).encode()
    return np.random.default_rng(list(text)).random()


def noisy(cell):
    """Some accuracy for any cell of the kind "prune", with times."""
    value = 0.7 + 0.2 * noise(cell.dataset, cell.learner) + 0.05 * noise(key_of(cell))
    key = key_of(cell)
    times = {"seconds": 0.1 + noise(key), "path_seconds": 0.05 + noise(key, "path")}
    return {"accuracy": round(value, 4), "group_wins": 0, **times}


def combinations(cell, slope=1.0, spread=0.02):
    """All combinations of members, with accuracies that follow the objective by a slope."""
    rng = np.random.default_rng([cell.fold, cell.keep])
    points = []
    for _ in itertools.combinations(range(cell.n_members), cell.keep):
        objective = 1 + 0.2 * rng.random()
        accuracy = 0.5 + slope * (objective - 1) + spread * rng.normal() + 0.05 * cell.fold
        points.append([objective, accuracy, accuracy + 0.01 * rng.normal()])
    return {"size": cell.keep, "points": points}


def race(cell, factor=2.0):
    """A race that DOMEP wins by a factor, two per cent up or down."""
    workers = int(cell.variant.split("-")[0])
    times = [1.0 + 0.02 * (-1) ** turn for turn in range(5)]
    return {
        "n_classes": 2 if cell.reading == "binary" else 5,
        "workers": workers,
        "n_groups": workers,
        "n_cores": 4,
        "seconds_comep": [1.0 + 0.01 * turn for turn in range(5)],
        "seconds_domep": [time / factor for time in times],
        "seconds_comep_cpu": [1.0 + 0.01 * turn for turn in range(5)],
        "seconds_path_cpu": [time / (2 * factor) for time in times],
    }


def growth(cell):
    """Accuracy that grows with size."""
    sizes = list(range(1, cell.n_members + 1))
    top = 0.9 + 0.02 * noise(key_of(cell))
    return {"sizes": sizes, "accuracies": [top - 0.2 / size for size in sizes]}


def timed(cell):
    """Time that grows with members and rows."""
    d = int(cell.dataset.removeprefix("synthetic-"))
    return {"n": cell.n_members, "d": d, "seconds": 1e-6 * cell.n_members * d}


def as_printed(name):
    """Results on two folds that have the mean and standard deviation of the paper's figures."""
    plan = plan_of(name, folds=(0, 1), methods=PAPER_METHODS)
    names = {row.dataset: row.paper_name for row in plan.rows}

    def measure(cell):
        figure = printed_accuracies(name)[names[cell.dataset]][cell.method]
        half = figure.std / math.sqrt(2)
        return (figure.mean + (half if cell.fold else -half)) / 100

    return plan, frame_of(plan, measure)


def judged(plans, frame):
    """All claims by name."""
    return {claim.name: claim for claim in make_contents(plans, frame).claims}


def claims_of(name, measure, **changes):
    """All claims by name, from the results of one plan."""
    plan = plan_of(name, **changes)
    return judged([plan], frame_of(plan, measure))


def pictures_of(plan, frame):
    """The figures of one plan."""
    return list(make_contents([plan], frame).pictures)
