"""`Benchmark`, the result of `benchmark`: a tidy frame, tables, ranks, tests, figures, a page."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from secateurs import statistics as stats
from secateurs.benchmarking import results_page
from secateurs.benchmarking._benchmark_page import benchmark_page
from secateurs.benchmarking.pictures import Picture
from secateurs.benchmarking.rank_pictures import rank_pictures
from secateurs.benchmarking.score_tables import (
    ScoreEntry,
    ScoreTable,
    TableRow,
    control_test,
    mean_folds,
)
from secateurs.benchmarking.study import Study
from secateurs.benchmarking.table_text import Sheet, as_latex, as_markdown, as_text, csv_text
from secateurs.displays.critical_difference import CriticalDifferenceDisplay
from secateurs.evaluation.alternatives import FULL_ENSEMBLE, SINGLE_BEST
from secateurs.exceptions import InputError
from secateurs.measures.scoring import Scoring
from secateurs.persistence.atomic_files import check_writable, write_file
from secateurs.text_format import format_count, format_list

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CSV_HEADINGS = (
    *("row", "method", "keep", "n_kept", "n_folds", "mean", "std", "best", "mark", "p_value"),
    *("average_rank", "win_tie_loss"),
)
_FLOORS = {
    "random": "random members",
    "es": "the first members",
    SINGLE_BEST: "the best single member",
    FULL_ENSEMBLE: "the full ensemble",
}


def _describe_size(size: float) -> str:
    return (
        f"{100 * size:g} % of the members"
        if isinstance(size, float)
        else format_count(size, "member")
    )


@dataclass(frozen=True, eq=False, repr=False)
class Benchmark:
    """Methods compared on many data sets. Returned by `benchmark`.

    The parameter ``keep`` of its methods is one of the sizes of the benchmark, by default the
    first.

    Attributes
    ----------
    frame : DataFrame
        One row per data set, ensemble, method, size, seed and fold, with columns of these names.
        ``score`` is the score on the test set; ``n_members`` the size of the ensemble; ``n_kept``
        and ``members`` are the selected members. ``n_train``, ``n_validation`` and ``n_test`` are
        numbers of samples, ``n_classes`` the number of classes. ``seconds`` is the time to select
        members; methods whose smaller selections are prefixes of larger ones run once for all
        sizes. ``train_seconds`` and ``vote_seconds`` are the times to train and to collect votes.
    study : Study
        The data sets, ensembles, methods and settings.
    title : str
        Title of tables and page.
    """

    frame: pd.DataFrame
    study: Study
    title: str = "Benchmark"

    @property
    def scoring(self) -> Scoring:
        """The score; larger is better."""
        return self.study.resolved_scoring

    @property
    def methods(self) -> tuple[str, ...]:
        """The ranked methods."""
        return tuple(entrant.name for entrant in self.study.entrants)

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines, which every method should beat."""
        return tuple(entrant.name for entrant in self.study.baselines)

    @property
    def sizes(self) -> tuple[float, ...]:
        """The numbers of members, as counts or fractions."""
        return tuple(self.study.sizes)

    @property
    def control(self) -> str | None:
        """The method that all others are compared with, or None."""
        return self.study.control

    @property
    def _ensemble_names(self) -> list[str]:
        return [model.name for model in self.study.models]

    def mean_scores(self, keep: float | None = None) -> pd.DataFrame:
        """Return the mean score of each method on each data set.

        Parameters
        ----------
        keep : int or float, optional
            The size.

        Returns
        -------
        DataFrame of shape (n_sets, n_methods)
            Methods, then baselines. With several ensembles, a row for each data set and ensemble.
        """
        table, factor = self.table(keep), self._score_factor
        values = [[row.entries[c].mean / factor for c in table.columns] for row in table.rows]
        return pd.DataFrame(values, [row.name for row in table.rows], list(table.columns))

    def ranks(self, keep: float | None = None) -> pd.Series:
        """Return the average rank of each method, best first; 1 is the best.

        Means are rounded as in the tables before they are ranked; equal means share their ranks.
        """
        return pd.Series(self.table(keep).ranks).sort_values(kind="stable")

    def friedman(self, keep: float | None = None) -> stats.Friedman:
        """Test whether all methods have equal ranks, see `secateurs.statistics.friedman`."""
        return stats.friedman(self.table(keep).scores)

    def nemenyi(self, keep: float | None = None, alpha: float = 0.05) -> stats.Pairwise:
        """Compare all pairs of methods by their ranks, see `secateurs.statistics.nemenyi`."""
        return stats.nemenyi(self.table(keep).scores, alpha)

    def wilcoxon_holm(self, keep: float | None = None, alpha: float = 0.05) -> stats.Pairwise:
        """Compare pairs of methods by signed ranks, see `secateurs.statistics.wilcoxon_holm`.

        With a control, only pairs with the control are compared; otherwise all pairs are.
        """
        return stats.wilcoxon_holm(self.table(keep).scores, self.control, alpha)

    def describe(self, keep: float | None = None) -> str:
        """Return a paragraph that states which methods differ, see `statistics.describe`."""
        return stats.describe(self.table(keep).scores, control=self.control)

    def to_text(self, keep: float | None = None) -> str:
        """Return the table of a size as text for a terminal."""
        return as_text(self._make_sheet(keep))

    def to_markdown(self, keep: float | None = None) -> str:
        """Return the table of a size as Markdown."""
        return as_markdown(self._make_sheet(keep))

    def to_latex(self, keep: float | None = None) -> str:
        """Return the table of a size as LaTeX; it needs the package booktabs."""
        return as_latex(self._make_sheet(keep))

    def plot(
        self,
        keep: float | None = None,
        *,
        test: str = "nemenyi",
        alpha: float = 0.05,
        ax: Axes | None = None,
    ) -> CriticalDifferenceDisplay:
        """Draw the critical-difference diagram of a size.

        Parameters
        ----------
        keep : int or float, optional
            The size.
        test, alpha, ax
            As for `secateurs.displays.CriticalDifferenceDisplay.from_scores`.

        Returns
        -------
        CriticalDifferenceDisplay
        """
        scores = self.table(keep).scores
        return CriticalDifferenceDisplay.from_scores(scores, test=test, alpha=alpha, ax=ax)

    def report(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write a self-contained HTML page with all tables and figures.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        force : bool, default=False
            Whether to overwrite an existing file.

        Returns
        -------
        Path
            The file written.
        """
        check_writable([Path(path)], force)
        write_file(Path(path), benchmark_page(self).encode())
        return Path(path)

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write all tables (text, Markdown, LaTeX, CSV), figures (PNG, SVG) and the page.

        Equal scores give equal files, to the byte, because times are only in `frame`.

        Parameters
        ----------
        folder : str or path-like
            Created if needed; files of the same names are replaced.

        Returns
        -------
        list of Path
            All files written.
        """
        contents = results_page.sheet_files(map(self._make_sheet, self.sizes))
        contents |= self._picture_files
        columns = [name for name in self.frame if not str(name).endswith("seconds")]
        scores = self.frame[columns].to_csv(index=False, lineterminator="\n")
        contents |= {"scores.csv": scores.encode(), "index.html": benchmark_page(self).encode()}
        return results_page.write_folder_files(Path(folder), contents)

    def table(self, keep: float | None = None) -> ScoreTable:
        """Return the table of a size with scores per fold, from which the other results follow."""
        size = self.sizes[0] if keep is None else keep
        if size not in self._tables_by_size:
            sizes = format_list(f"{measured:g}" for measured in self.sizes)
            raise InputError(f"{{keep}} was not measured. Pass one of: {sizes}.", keep=keep)
        return self._tables_by_size[size]

    @property
    def _score_factor(self) -> float:
        """100 for accuracies, which tables show in per cent; otherwise 1."""
        return 100.0 if "accuracy" in self.scoring.name else 1.0

    @property
    def _n_decimals(self) -> int:
        return 2 if self._score_factor > 1 else 4

    @cached_property
    def _tables_by_size(self) -> dict[float, ScoreTable]:
        return {size: self._make_table(size) for size in self.sizes}

    def _make_table(self, size: float) -> ScoreTable:
        columns = (*self.methods, *self.baselines)
        frame = self.frame[self.frame["keep"] == size]
        rows = []
        for (dataset, ensemble), part in frame.groupby(["dataset", "ensemble"], sort=False):
            measured = mean_folds(part, ["method"], "score", self._score_factor)
            folds = {column: measured[(column,)] for column in columns}
            entries = {
                column: ScoreEntry(
                    scores, control_test(folds, self.control, column), decimals=self._n_decimals
                )
                for column, scores in folds.items()
            }
            name = f"{dataset}, {ensemble}" if len(self._ensemble_names) > 1 else str(dataset)
            rows.append(TableRow(name, entries, self.methods).with_best())
        unit = " in per cent" if self._score_factor > 1 else ""
        label = self.scoring.name if not self.scoring.larger_is_better else self.scoring.label
        repeats = len(self.study.seeds)
        several = f", each the mean of {repeats} repetitions" if repeats > 1 else ""
        caption = (
            f"Test {label}{unit}, mean ± standard deviation over {self.study.n_folds} folds"
            f"{several}; "
            f"{_describe_size(size)} of {format_list(self._ensemble_names, last=' and ')} kept."
        )
        return ScoreTable(
            name=f"keep-{size:g}",
            title=self._table_heading(size),
            caption=caption,
            rows=tuple(rows),
            columns=columns,
            ranked=self.methods,
            labels={column: column for column in columns},
            control=self.control,
            decimals=self._n_decimals,
        )

    def _table_heading(self, size: float) -> str:
        return self.title if len(self.sizes) == 1 else f"{self.title}: keep {size:g}"

    def _make_sheet(self, keep: float | None = None) -> Sheet:
        table = self.table(keep)
        size = self.sizes[0] if keep is None else keep
        kept = self.frame[self.frame["keep"] == size].groupby(["dataset", "ensemble", "method"])
        n_kept = kept["n_kept"].mean()
        lines = []
        pairs = self.frame[["dataset", "ensemble"]].drop_duplicates().itertuples(index=False)
        for row, (dataset, ensemble) in zip(table.rows, pairs, strict=True):
            for column in table.columns:
                entry, versus = row.entries[column], None
                if self.control is not None and column != self.control:
                    versus = str(table.win_tie_loss(column))
                lines.append(
                    (
                        *(row.name, column, size, float(n_kept[dataset, ensemble, column])),
                        *(len(entry.folds), entry.mean, entry.std, entry.bold, entry.mark),
                        entry.test.p_value if entry.test else None,
                        *(table.ranks.get(column), versus),
                    )
                )
        text, legend = csv_text(_CSV_HEADINGS, lines), self._legend_lines
        return Sheet(table.name, table.title, table.caption, table.grid(), text, legend)

    @property
    def _legend_lines(self) -> tuple[str, ...]:
        decimals = {2: "two", 4: "four"}[self._n_decimals]
        others = format_list((f"{name} ({_FLOORS[name]})" for name in self.baselines), last=" and ")
        lines = [
            "The best method of a row is marked: highest mean, then lowest standard deviation (of "
            "a sample).",
            f"Ranks come from means to {decimals} decimals, as printed; equal ones share their "
            f"ranks. {others} take no part in them.",
        ]
        if self.control is not None:
            lines.insert(
                1,
                f"‡ and † mark methods that {self.control} is significantly better and worse than, "
                "by a two-tailed paired t-test at 5 % over the folds; W/T/L counts how often "
                f"{self.control} wins, ties and loses.",
            )
        return tuple(lines)

    @property
    def _rank_pictures(self) -> list[Picture]:
        """The figures of ranks; ranks need at least two data sets and two methods."""
        pictures: list[Picture] = []
        for size in self.sizes:
            table = self.table(size)
            if min(table.scores.shape) > 1:
                title = f"keep {size:g}"
                pictures += rank_pictures(
                    table.name, title, table.name, {"": table.scores}, self.control
                )
        return pictures

    @cached_property
    def _picture_files(self) -> dict[str, bytes]:
        return results_page.picture_files(self._rank_pictures)

    def __repr__(self) -> str:
        n_sets = format_count(len(self.study.dataset_summaries), "data set")
        methods = format_count(len(self.methods), "method")
        return f"Benchmark({methods} on {n_sets}: {', '.join(self.methods)})"

    def _repr_html_(self) -> str:
        parts = [
            results_page.score_table_piece(self._make_sheet(size).grid, self._table_heading(size))
            for size in self.sizes
        ]
        return "".join(map(str, [*parts, results_page.html_piece("paragraph", self.describe())]))
