"""What a benchmark found: a tidy frame, tables, ranks, tests, figures and a page."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from secateurs import statistics as stats
from secateurs._text import counted, listed, one_line
from secateurs.benchmarking import _page
from secateurs.benchmarking._drawing import Picture
from secateurs.benchmarking._rank_pictures import rank_pictures
from secateurs.benchmarking._score_tables import (
    Entry,
    ScoreTable,
    TableRow,
    control_test,
    mean_folds,
)
from secateurs.benchmarking._study import Study
from secateurs.benchmarking._table_text import Sheet, as_latex, as_markdown, as_text, csv_text
from secateurs.displays._critical_difference import CriticalDifferenceDisplay
from secateurs.evaluation._alternatives import SINGLE, WHOLE
from secateurs.exceptions import InputError
from secateurs.measures._scoring import Scoring
from secateurs.persistence._files import refuse_existing, write_file
from secateurs.report._templates import Table

_CSV_HEADINGS = (
    *("row", "method", "keep", "n_kept", "n_folds", "mean", "std", "best", "mark", "p_value"),
    *("average_rank", "win_tie_loss"),
)
_FLOORS = {
    "random": "random members",
    "es": "the first members",
    SINGLE: "the best single member",
    WHOLE: "the whole ensemble",
}


def _share(size: float) -> str:
    return (
        f"{100 * size:g} % of the members" if isinstance(size, float) else counted(size, "member")
    )


def _shown(value: Any) -> str:
    """Return an object as text, without its address, which is another one in every run."""
    return re.sub(r" at 0x[0-9a-f]+", "", one_line(repr(value)))


@dataclass(frozen=True, eq=False, repr=False)
class Benchmark:
    """Methods compared over data sets. Returned by `benchmark`.

    Where a method takes ``keep``, it is one of the sizes asked for, by default the first.

    Attributes
    ----------
    frame : DataFrame
        One row per data set, ensemble, method, size, seed and fold. Columns: these, by name;
        ``score`` on the test part; ``n_members`` of the ensemble, and ``n_kept`` with the
        ``members``; rows to train on, to choose on and to test on (``n_train``, ``n_validation``,
        ``n_test``) and ``n_classes``; ``seconds`` to choose, which is one run for all sizes where
        smaller sets are prefixes of larger ones, ``train_seconds`` and ``vote_seconds``.
    study : Study
        What was measured.
    title : str
        Title of tables and page.
    """

    frame: pd.DataFrame
    study: Study
    title: str = "Benchmark"

    @property
    def scoring(self) -> Scoring:
        """The score; larger is better."""
        return self.study.score

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that are ranked."""
        return tuple(entrant.name for entrant in self.study.entrants)

    @property
    def baselines(self) -> tuple[str, ...]:
        """What every method must beat."""
        return tuple(entrant.name for entrant in self.study.baselines)

    @property
    def sizes(self) -> tuple[float, ...]:
        """The sizes asked for."""
        return tuple(self.study.sizes)

    @property
    def control(self) -> str | None:
        """The method that others are compared with."""
        return self.study.control

    @property
    def _ensembles(self) -> list[str]:
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
            Methods, then what they must beat. With several ensembles, a row for each data set and
            ensemble.
        """
        table, factor = self.table(keep), self._factor
        values = [[row.entries[c].mean / factor for c in table.columns] for row in table.rows]
        return pd.DataFrame(values, [row.name for row in table.rows], list(table.columns))

    def ranks(self, keep: float | None = None) -> pd.Series:
        """Return the average rank of each method, best first; 1 is the best.

        Means are ranked as tables show them; equal ones share their ranks.
        """
        return pd.Series(self.table(keep).ranks).sort_values(kind="stable")

    def friedman(self, keep: float | None = None) -> stats.Friedman:
        """Test whether the methods rank alike, see `secateurs.statistics.friedman`."""
        return stats.friedman(self.table(keep).scores)

    def nemenyi(self, keep: float | None = None, alpha: float = 0.05) -> stats.Pairwise:
        """Compare all pairs of methods by ranks, see `secateurs.statistics.nemenyi`."""
        return stats.nemenyi(self.table(keep).scores, alpha)

    def wilcoxon_holm(self, keep: float | None = None, alpha: float = 0.05) -> stats.Pairwise:
        """Compare pairs of methods by signed ranks, see `secateurs.statistics.wilcoxon_holm`.

        With a control, it is compared with each of the others; otherwise all pairs are.
        """
        return stats.wilcoxon_holm(self.table(keep).scores, self.control, alpha)

    def describe(self, keep: float | None = None) -> str:
        """Return a paragraph on which methods differ, see `secateurs.statistics.describe`."""
        return stats.describe(self.table(keep).scores, control=self.control)

    def to_text(self, keep: float | None = None) -> str:
        """Return the table of a size to be read in a terminal."""
        return as_text(self._sheet(keep))

    def to_markdown(self, keep: float | None = None) -> str:
        """Return the table of a size as Markdown."""
        return as_markdown(self._sheet(keep))

    def to_latex(self, keep: float | None = None) -> str:
        """Return the table of a size as LaTeX; it needs the package booktabs."""
        return as_latex(self._sheet(keep))

    def plot(
        self,
        keep: float | None = None,
        *,
        test: str = "nemenyi",
        alpha: float = 0.05,
        ax: Any = None,
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
        """Write an HTML page with all tables and figures: one file that needs nothing else.

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
        refuse_existing([Path(path)], force)
        write_file(Path(path), self._html().encode())
        return Path(path)

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write all tables (text, Markdown, LaTeX, CSV), figures (PNG, SVG) and the page.

        Equal scores give equal files, to the byte: times are only in `frame`.

        Parameters
        ----------
        folder : str or path-like
            Created if needed; files of the same names are replaced.

        Returns
        -------
        list of Path
            All files written.
        """
        made = _page.sheet_files(map(self._sheet, self.sizes)) | self._drawn
        columns = [name for name in self.frame if not str(name).endswith("seconds")]
        made["scores.csv"] = self.frame[columns].to_csv(index=False, lineterminator="\n").encode()
        return _page.write_all(Path(folder), made | {"index.html": self._html().encode()})

    def table(self, keep: float | None = None) -> ScoreTable:
        """Return the table of a size, with entries per fold; other methods are made from it."""
        size = self.sizes[0] if keep is None else keep
        if size not in self._tables:
            sizes = listed(f"{one:g}" for one in self.sizes)
            raise InputError(f"{{keep}} was not measured. Give one of: {sizes}.", keep=keep)
        return self._tables[size]

    @property
    def _factor(self) -> float:
        return 100.0 if "accuracy" in self.scoring.name else 1.0

    @property
    def _decimals(self) -> int:
        return 2 if self._factor > 1 else 4

    @cached_property
    def _tables(self) -> dict[float, ScoreTable]:
        return {size: self._made(size) for size in self.sizes}

    def _made(self, size: float) -> ScoreTable:
        columns = (*self.methods, *self.baselines)
        mine = self.frame[self.frame["keep"] == size]
        rows = []
        for (dataset, ensemble), part in mine.groupby(["dataset", "ensemble"], sort=False):
            measured = mean_folds(part, ["method"], "score", self._factor)
            folds = {column: measured[(column,)] for column in columns}
            entries = {
                column: Entry(
                    found, control_test(folds, self.control, column), decimals=self._decimals
                )
                for column, found in folds.items()
            }
            name = f"{dataset}, {ensemble}" if len(self._ensembles) > 1 else str(dataset)
            rows.append(TableRow(name, entries, self.methods).with_best())
        unit = " in per cent" if self._factor > 1 else ""
        label = self.scoring.name if not self.scoring.larger_is_better else self.scoring.label
        repeats = len(self.study.seeds)
        several = f", each the mean of {repeats} repetitions" if repeats > 1 else ""
        caption = (
            f"Test {label}{unit}, mean ± standard deviation over {self.study.n_folds} folds"
            f"{several}; "
            f"{_share(size)} of {listed(self._ensembles, last=' and ')} kept."
        )
        return ScoreTable(
            name=f"keep-{size:g}",
            title=self._heading(size),
            caption=caption,
            rows=tuple(rows),
            columns=columns,
            ranked=self.methods,
            labels={column: column for column in columns},
            control=self.control,
            decimals=self._decimals,
        )

    def _heading(self, size: float) -> str:
        return self.title if len(self.sizes) == 1 else f"{self.title}: keep {size:g}"

    def _sheet(self, keep: float | None = None) -> Sheet:
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
        text, legend = csv_text(_CSV_HEADINGS, lines), self._legend
        return Sheet(table.name, table.title, table.caption, table.grid(), text, legend)

    @property
    def _legend(self) -> tuple[str, ...]:
        decimals = {2: "two", 4: "four"}[self._decimals]
        others = listed((f"{name} ({_FLOORS[name]})" for name in self.baselines), last=" and ")
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
    def _pictures(self) -> list[Picture]:
        """The figures of ranks; none where there is too little to rank."""
        made: list[Picture] = []
        for size in self.sizes:
            table = self.table(size)
            if min(table.scores.shape) > 1:
                title = f"keep {size:g}"
                made += rank_pictures(
                    table.name, title, table.name, {"": table.scores}, self.control
                )
        return made

    @cached_property
    def _drawn(self) -> dict[str, bytes]:
        return _page.picture_files(self._pictures)

    def _html(self) -> str:
        drawn = {p.name: self._drawn[f"figures/{p.name}.svg"] for p in self._pictures}
        sections = [self._section(size, drawn) for size in self.sizes]
        intro = [_page.piece("paragraph", self._told)]
        return _page.make_page(self.title, intro, [*sections, self._settings()])

    @property
    def _told(self) -> str:
        ensembles, n_folds = listed(self._ensembles, last=" and "), self.study.n_folds
        return (
            f"{counted(len(self.methods), 'pruning method')} on "
            f"{counted(len(self.study.facts), 'data set')}, with {ensembles}: the ensemble is "
            f"trained on {n_folds - 2} of {n_folds} blocks of the rows; methods choose members on "
            "one of the others, and are scored on the last."
        )

    def _section(self, size: float, drawn: Mapping[str, bytes]) -> _page.Section:
        sheet, table = self._sheet(size), self.table(size)
        pieces: list[Any] = [_page.piece("paragraph", self.describe(size))]
        pieces += [_page.piece("paragraph", sheet.caption), _page.wide(sheet.grid, sheet.title)]
        pieces += [_page.piece("paragraph", line, note=True) for line in sheet.legend]
        own = (picture for picture in self._pictures if picture.group == table.name)
        return _page.Section(f"Keep {size:g}", pieces + _page.figures(own, drawn))

    def _settings(self) -> _page.Section:
        sets = [
            (name, found.n_rows, found.n_features, len(found.classes) or None)
            for name, found in self.study.facts.items()
        ]
        seeds = listed(map(str, sorted(set(self.frame["seed"]))))
        told: list[tuple[str, Any]] = [("score", self.scoring.name), ("folds", self.study.n_folds)]
        told += [("seeds", seeds), ("voting", self.study.voting)]
        told += [(f"ensemble {m.name}", _shown(m.make())) for m in self.study.models]
        told += [(f"method {e.name}", _shown(e.pruner)) for e in self.study.entrants]
        pieces = [
            Table(("Data set", "Rows", "Features", "Classes"), sets),
            Table(("", "Setting"), [(name, str(value)) for name, value in told]),
        ]
        return _page.Section("Settings", pieces)

    def __repr__(self) -> str:
        n_sets = counted(len(self.study.facts), "data set")
        methods = counted(len(self.methods), "method")
        return f"Benchmark({methods} on {n_sets}: {', '.join(self.methods)})"

    def _repr_html_(self) -> str:
        parts = [_page.wide(self._sheet(size).grid, self._heading(size)) for size in self.sizes]
        return "".join(map(str, [*parts, _page.piece("paragraph", self.describe())]))
