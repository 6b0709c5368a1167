"""Which results belong to a plan, a setting and a row."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from secateurs.paper._cells import CELL_FIELDS
from secateurs.paper._paper import LEARNERS, READINGS
from secateurs.paper._plan import PaperRow, Plan

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Setting:
    """What a plan varies besides data, learner, fold and method."""

    n_members: int
    keep: int
    diversity_weight: float

    def __str__(self) -> str:
        return f"{self.n_members} members, {self.keep} kept, λ = {self.diversity_weight:g}"


def settings_of(plan: Plan) -> list[Setting]:
    """List the settings of a plan, each once, in its order."""
    cells = plan.cells()
    listed = (Setting(cell.n_members, cell.keep, cell.diversity_weight) for cell in cells)
    return list(dict.fromkeys(listed))


def cells_of(plan: Plan, frame: "pd.DataFrame") -> "pd.DataFrame":
    """Give the results that a plan asks for, of any seed, in a fixed order."""
    names = [name for name in CELL_FIELDS if name != "seed"]
    wanted = {tuple(getattr(cell, name) for name in names) for cell in plan.cells()}
    keys = frame[names].itertuples(index=False, name=None)
    chosen = frame[np.array([key in wanted for key in keys], dtype=bool)]
    return chosen.sort_values(list(CELL_FIELDS), kind="stable", ignore_index=True)


def row_names(plan: Plan) -> list[str]:
    """Name the rows of a plan: the paper's name, and learner or reading where rows share it."""
    names = []
    for row in plan.rows:
        alike = [other for other in plan.rows if other.paper_name == row.paper_name]
        learners, readings = ({getattr(o, n) for o in alike} for n in ("learner", "reading"))
        more = [LEARNERS.get(row.learner, row.learner)] if len(learners) > 1 else []
        more += [READINGS[row.reading]] if len(readings) > 1 else []
        names.append(", ".join([row.paper_name, *more]))
    return names


def rows_of(source: PaperRow, frame: "pd.DataFrame") -> "pd.DataFrame":
    """Give the results on the data of a row."""
    return where(frame, dataset=source.dataset, reading=source.reading, learner=source.learner)


def where(frame: "pd.DataFrame", **values: Any) -> "pd.DataFrame":
    """Give the rows of a frame that have these values."""
    chosen = np.ones(len(frame), dtype=bool)
    for name, value in values.items():
        chosen &= (frame[name] == value).to_numpy()
    return frame[chosen]
