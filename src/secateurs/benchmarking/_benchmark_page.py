"""Render the page of a benchmark: introduction, a section per size, and the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from markupsafe import Markup

from secateurs.benchmarking.results_page import (
    PageSection,
    html_piece,
    make_page,
    picture_pieces,
    score_table_piece,
)
from secateurs.report.html_templates import HtmlTable
from secateurs.text_format import format_count, format_list, to_one_line

if TYPE_CHECKING:
    from secateurs.benchmarking._benchmark_result import Benchmark


def benchmark_page(result: Benchmark) -> str:
    """Return the page of a benchmark as one self-contained HTML file."""
    files = result._picture_files
    drawn = {p.name: files[f"figures/{p.name}.svg"] for p in result._rank_pictures}
    sections = [_size_section(result, size, drawn) for size in result.sizes]
    intro = [html_piece("paragraph", _intro_text(result))]
    return make_page(result.title, intro, [*sections, _settings_section(result)])


def _intro_text(result: Benchmark) -> str:
    study, n_folds = result.study, result.study.n_folds
    ensembles = format_list([model.name for model in study.models], last=" and ")
    return (
        f"{format_count(len(result.methods), 'pruning method')} on "
        f"{format_count(len(study.dataset_summaries), 'data set')}, with {ensembles}. "
        f"Each ensemble is trained on {n_folds - 2} of {n_folds} folds; methods select members "
        "on one of the remaining folds and are scored on the other."
    )


def _size_section(result: Benchmark, size: float, drawn: Mapping[str, bytes]) -> PageSection:
    sheet, group = result._make_sheet(size), result.table(size).name
    pieces: list[Markup | HtmlTable] = [
        html_piece("paragraph", result.describe(size)),
        html_piece("paragraph", sheet.caption),
        score_table_piece(sheet.grid, sheet.title),
    ]
    pieces += [html_piece("paragraph", line, note=True) for line in sheet.legend]
    pictures = (picture for picture in result._rank_pictures if picture.group == group)
    return PageSection(f"Keep {size:g}", [*pieces, *picture_pieces(pictures, drawn)])


def _settings_section(result: Benchmark) -> PageSection:
    study = result.study
    sets = [
        (name, summary.n_rows, summary.n_features, len(summary.classes) or None)
        for name, summary in study.dataset_summaries.items()
    ]
    seeds = format_list(map(str, sorted(set(result.frame["seed"]))))
    settings = [("score", result.scoring.name), ("folds", str(study.n_folds))]
    settings += [("seeds", seeds), ("voting", study.voting)]
    settings += [
        (f"ensemble {m.name}", _repr_without_address(m.make_estimator())) for m in study.models
    ]
    settings += [(f"method {e.name}", _repr_without_address(e.pruner)) for e in study.entrants]
    pieces = [
        HtmlTable(("Data set", "Samples", "Features", "Classes"), sets),
        HtmlTable(("", "Setting"), settings),
    ]
    return PageSection("Settings", pieces)


def _repr_without_address(value: object) -> str:
    """Return the repr of an object without its address, which differs from run to run."""
    return re.sub(r" at 0x[0-9a-f]+", "", to_one_line(repr(value)))
