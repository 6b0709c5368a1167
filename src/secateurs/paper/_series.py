"""What figures show and claims rest on: numbers by row and setting, drawn and judged elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from secateurs.paper._plan import PaperRow, Plan
from secateurs.paper._selection import cells_of, row_names, rows_of, where
from secateurs.statistics import PairedTest, paired_t_test

if TYPE_CHECKING:
    import pandas as pd

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class EpfdPair:
    """A method and its distributed version on one data set.

    Attributes
    ----------
    row, method : str
        Where, and which method.
    accuracy, epfd_accuracy : tuple of float
        Test accuracy in per cent on the folds that both have.
    seconds, epfd_seconds : float
        Time to choose, on one machine; mean over folds.
    path_seconds : float
        Time of the longest group and the second round: with a machine for each group.
    """

    row: str
    source: PaperRow
    method: str
    accuracy: tuple[float, ...]
    epfd_accuracy: tuple[float, ...]
    seconds: float
    epfd_seconds: float
    path_seconds: float

    @property
    def test(self) -> PairedTest | None:
        """Paired t-test of the distributed version against the method itself."""
        few = len(self.accuracy) < 2
        return None if few else paired_t_test(self.epfd_accuracy, self.accuracy)

    @property
    def difference(self) -> float:
        """Points that the distributed version gains."""
        return float(np.mean(self.epfd_accuracy) - np.mean(self.accuracy))

    @property
    def saving(self) -> float:
        """How many times faster the distributed version is, with a machine for each group."""
        return self.seconds / self.path_seconds

    @property
    def serial_saving(self) -> float:
        """How many times faster it is on one machine."""
        return self.seconds / self.epfd_seconds


def epfd_pairs(plan: Plan, frame: "pd.DataFrame") -> list[EpfdPair]:
    """Pair each method with its distributed version, where both were measured."""
    pairs = []
    for name, source, mine in _by_row(plan, frame):
        runs: dict[tuple[str, str], dict[tuple[int, int], Any]] = {}
        for run in mine.to_dict("records"):
            runs.setdefault((run["method"], run["variant"]), {})[run["fold"], run["seed"]] = run
        for method in plan.methods:
            alone, spread = (runs.get((method, variant), {}) for variant in ("library", "epfd"))
            shared = sorted(alone.keys() & spread.keys())
            if shared:
                sides = [alone[key] for key in shared], [spread[key] for key in shared]
                pairs.append(_pair(name, source, method, *sides))
    return pairs


def _pair(
    name: str, source: PaperRow, method: str, alone: list[Any], spread: list[Any]
) -> EpfdPair:
    accuracies = (tuple(100 * float(run["accuracy"]) for run in side) for side in (alone, spread))
    times = ((alone, "seconds"), (spread, "seconds"), (spread, "path_seconds"))
    means = (float(np.mean([run[field] for run in side])) for side, field in times)
    first, second = accuracies
    return EpfdPair(name, source, method, first, second, *means)


@dataclass(frozen=True)
class SpeedUp:
    """COMEP against DOMEP over the time, on the same votes.

    Attributes
    ----------
    row : str
        The data.
    n_members, keep, workers : int
        The ensemble, how many are kept, and on how many workers.
    comep, domep, path : tuple of float
        Seconds, run by run; ``path`` is the longest group and the second round, without what
        starting and feeding workers costs.
    """

    row: str
    source: PaperRow
    n_members: int
    keep: int
    workers: int
    comep: tuple[float, ...]
    domep: tuple[float, ...]
    path: tuple[float, ...]

    @property
    def name(self) -> str:
        """Name the setting."""
        return f"{self.row}, {self.keep} of {self.n_members}"

    @property
    def measured(self) -> float:
        """Time of COMEP by that of DOMEP, medians."""
        return float(np.median(self.comep) / np.median(self.domep))

    @property
    def possible(self) -> float:
        """The same without the cost of starting and feeding workers."""
        return float(np.median(self.comep) / np.median(self.path))

    def verdict(self, possible: bool = False) -> str:
        """Whether DOMEP is clearly "faster", "slower" or "neither", by ranks of the times."""
        from scipy.stats import mannwhitneyu

        times = self.path if possible else self.domep
        if mannwhitneyu(self.comep, times).pvalue >= 0.05:
            return "neither"
        return "faster" if np.median(times) < np.median(self.comep) else "slower"


def speed_ups(plan: Plan, frame: "pd.DataFrame") -> list[SpeedUp]:
    """Give all races of COMEP against DOMEP."""
    return [
        SpeedUp(
            *(name, source, int(race["n_members"]), int(race["keep"]), int(race["workers"])),
            *(tuple(race[f"seconds_{side}"]) for side in ("comep", "domep", "path")),
        )
        for name, source, mine in _by_row(plan, frame)
        for race in mine.to_dict("records")
    ]


@dataclass(frozen=True, eq=False)
class Correlation:
    """Objective and accuracy of all combinations of so many members.

    Attributes
    ----------
    row : str
        The data.
    size : int
        Members of a combination.
    folds : tuple of array of shape (n_combinations, 3)
        Objective and validation accuracy, on the rows that members are chosen on, and test
        accuracy.
    """

    row: str
    source: PaperRow
    size: int
    folds: tuple[Numbers, ...]

    def pearson(self, column: int = 2) -> tuple[float, float]:
        """Correlation within folds, and its p-value: values count from the mean of their fold.

        Combinations share members, so they are not independent and the p-value is too small.
        """
        from scipy.stats import t

        centred = np.vstack([points - points.mean(axis=0) for points in self.folds])
        r = _correlation(centred[:, 0], centred[:, column])
        freedom = len(centred) - len(self.folds) - 1
        if np.isnan(r) or freedom < 1:
            return r, float("nan")
        if abs(r) > 1 - 1e-12:
            return r, 0.0
        return r, float(2 * t.sf(abs(r) * np.sqrt(freedom / (1 - r * r)), freedom))

    def by_fold(self, column: int = 2) -> list[float]:
        """Correlation on each fold."""
        return [_correlation(points[:, 0], points[:, column]) for points in self.folds]


def correlations(plan: Plan, frame: "pd.DataFrame") -> list[Correlation]:
    """Give objective against accuracy for each row and size of combinations."""
    found = []
    for name, source, mine in _by_row(plan, frame):
        for size in sorted(set(mine["keep"])):
            points = where(mine, keep=size)["points"]
            folds = tuple(np.asarray(listed, dtype=float) for listed in points)
            found.append(Correlation(name, source, int(size), folds))
    return found


@dataclass(frozen=True, eq=False)
class WeightCurve:
    """Test accuracy of COMEP against λ, on one data set and for one size.

    Attributes
    ----------
    row : str
        The data.
    keep : int
        Number of members kept.
    weights : array of shape (n_weights,)
        λ: 0 asks for relevance alone, 1 for diversity alone.
    accuracy : array of shape (n_weights, n_folds)
        In per cent; folds that all weights have.
    """

    row: str
    source: PaperRow
    keep: int
    weights: Numbers
    accuracy: Numbers

    @property
    def mean(self) -> Numbers:
        """Accuracy at each weight, mean over folds."""
        return self.accuracy.mean(axis=1)

    def at(self, weight: float) -> Numbers | None:
        """Accuracy on each fold at a weight, if it was tried."""
        place = np.flatnonzero(np.isclose(self.weights, weight))
        return self.accuracy[place[0]] if len(place) else None

    @property
    def best(self) -> float:
        """The weight of the highest mean; the middle one of several."""
        ties = np.flatnonzero(self.mean >= self.mean.max() - 1e-9)
        return float(self.weights[ties[(len(ties) - 1) // 2]])

    @property
    def is_flat(self) -> bool:
        """Whether best and worst weight cannot be told apart by the paired t-test."""
        if self.accuracy.shape[1] < 2:
            return True
        best, worst = self.accuracy[self.mean.argmax()], self.accuracy[self.mean.argmin()]
        return paired_t_test(best, worst).verdict == "tie"


def weight_curves(plan: Plan, frame: "pd.DataFrame") -> list[WeightCurve]:
    """Give accuracy against λ for each row and size."""
    curves = []
    for name, source, mine in _by_row(plan, frame):
        for keep in sorted(set(mine["keep"])):
            table = where(mine, keep=keep).pivot_table(
                index="diversity_weight", columns=["fold", "seed"], values="accuracy"
            )
            table = table.astype(float).dropna(axis=1)
            if table.shape[1]:
                weights = table.index.to_numpy(dtype=float)
                values = 100 * table.to_numpy(dtype=float)
                curves.append(WeightCurve(name, source, int(keep), weights, values))
    return curves


@dataclass(frozen=True, eq=False)
class SizeCurve:
    """Test accuracy of a method against the number of members it keeps; per cent, over folds."""

    row: str
    source: PaperRow
    method: str
    sizes: Numbers
    accuracy: Numbers


def size_curves(plan: Plan, frame: "pd.DataFrame") -> list[SizeCurve]:
    """Give accuracy against size for each row and method, on average over folds."""
    curves = []
    for name, source, mine in _by_row(plan, frame):
        for method in plan.methods:
            runs = where(mine, method=method)
            if len(runs):
                sizes = np.asarray(runs["sizes"].iloc[0], dtype=float)
                accuracy = 100 * np.mean(np.asarray(list(runs["accuracies"]), dtype=float), axis=0)
                curves.append(SizeCurve(name, source, method, sizes, accuracy))
    return curves


@dataclass(frozen=True)
class Timing:
    """Seconds that a method takes to choose among n members on d rows."""

    method: str
    n: int
    d: int
    seconds: float


def timings(plan: Plan, frame: "pd.DataFrame") -> list[Timing]:
    """Give times against members and rows; the mean where a setting was measured again."""
    mine = cells_of(plan, frame)
    if mine.empty:
        return []
    means = mine.astype({"seconds": float}).groupby(["method", "n", "d"])["seconds"].mean()
    records: list[dict[str, Any]] = means.reset_index().to_dict("records")  # type: ignore[assignment]
    order = {method: place for place, method in enumerate(plan.methods)}
    found = [Timing(r["method"], int(r["n"]), int(r["d"]), float(r["seconds"])) for r in records]
    return sorted(found, key=lambda timing: (order[timing.method], timing.d, timing.n))


def _by_row(plan: Plan, frame: "pd.DataFrame") -> Iterator[tuple[str, PaperRow, "pd.DataFrame"]]:
    """Give the rows of a plan that have results."""
    wanted = cells_of(plan, frame)
    for name, source in zip(row_names(plan), plan.rows, strict=True):
        mine = rows_of(source, wanted)
        if len(mine):
            yield name, source, mine


def _correlation(first: Numbers, second: Numbers) -> float:
    """Pearson's correlation; NaN where one side never changes."""
    if min(np.ptp(first), np.ptp(second)) < 1e-12:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])
