"""Everything that a run leaves behind for its reader: tables, figures, verdicts and one page."""

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateurs import __version__
from secateurs.paper._claims import judge_claims
from secateurs.paper._drawing import Picture, render
from secateurs.paper._figures import make_pictures
from secateurs.paper._listings import Listing, authors_listing, settings_listing
from secateurs.paper._page import Contents, make_page
from secateurs.paper._paper import TABLES
from secateurs.paper._plan import Plan
from secateurs.paper._selection import cells_of
from secateurs.paper._sources import Missing
from secateurs.paper._table_text import (
    aligned,
    as_csv,
    as_latex,
    as_markdown,
    as_text,
    csv_text,
    markdown_head,
    piped,
    tabular,
)
from secateurs.paper._tables import Table, make_table
from secateurs.persistence._files import write_file

if TYPE_CHECKING:
    import pandas as pd

_LISTINGS = {"settings": settings_listing, "authors": authors_listing}


def write_outputs(
    out_dir: str | os.PathLike[str],
    plans: Sequence[Plan],
    frame: "pd.DataFrame",
    missing: Iterable[Missing] = (),
) -> list[Path]:
    """Write tables, figures, verdicts and the results page.

    Parameters
    ----------
    out_dir : str or path-like
        Where to; ``tables/``, ``figures/``, ``claims.json`` and ``index.html`` are written there.
    plans : sequence of Plan
        What was run.
    frame : DataFrame
        Results, one row a cell, in any order. What plans ask for and is not there is named as
        missing; it is no error.
    missing : iterable of Missing
        Data sets that could not be had.

    Returns
    -------
    list of Path
        All files written. Tables are the same to the byte for the same accuracies, whatever the
        order of rows.
    """
    folder = Path(out_dir)
    tables = [make_table(plan, frame) for plan in plans if plan.name in TABLES]
    found = (_LISTINGS[plan.name](plan, frame) for plan in plans if plan.name in _LISTINGS)
    listings = [listing for listing in found if listing is not None]
    claims = judge_claims(plans, frame, tables)
    pictures = make_pictures(plans, frame, tables)
    files = dict(_table_files(tables, listings))
    drawn: dict[str, bytes] = {}
    for picture in pictures:
        for name, content in _picture_files(picture):
            files[name] = content
        drawn[picture.name] = files[f"figures/{picture.name}.svg"]
    record = {"secateurs": __version__, "claims": [claim.as_dict() for claim in claims]}
    files["claims.json"] = _json(record)
    sources = _sources(plans, frame)
    contents = Contents(plans, claims, tables, listings, pictures, drawn, tuple(missing), sources)
    files["index.html"] = make_page(contents).encode()
    return [_write(folder / name, content) for name, content in files.items()]


def _table_files(
    tables: Sequence[Table], listings: Sequence[Listing]
) -> Iterator[tuple[str, bytes]]:
    for table in tables:
        name = f"tables/{table.name}"
        yield f"{name}.txt", as_text(table).encode()
        yield f"{name}.md", as_markdown(table).encode()
        yield f"{name}.tex", as_latex(table).encode()
        yield f"{name}.csv", as_csv(table).encode()
    for item in listings:
        name, grid = f"tables/{item.name}", item.grid
        yield f"{name}.txt", f"{item.title}\n{item.caption}\n\n{aligned(grid)}".encode()
        head = markdown_head(item.title, item.caption)
        yield f"{name}.md", f"{head}\n{piped(grid)}".encode()
        yield f"{name}.tex", tabular(grid, f"{item.title}. {item.caption}", item.name).encode()
        yield f"{name}.csv", item.csv.encode()


def _picture_files(picture: Picture) -> Iterator[tuple[str, bytes]]:
    for kind, content in render(picture).items():
        yield f"figures/{picture.name}.{kind}", content
    yield f"figures/{picture.name}.csv", csv_text(picture.headings, picture.rows).encode()


def _sources(plans: Iterable[Plan], frame: "pd.DataFrame") -> dict[str, str]:
    """Say where the data sets came from."""
    found: dict[str, set[str]] = {}
    for plan in plans:
        cells = cells_of(plan, frame)
        for dataset, source in zip(cells["dataset"], cells["source"], strict=True):
            found.setdefault(dataset, set()).add(str(source))
    return {dataset: ", ".join(sorted(sources)) for dataset, sources in found.items()}


def _json(record: Any) -> bytes:
    text = json.dumps(_without_gaps(record), indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _without_gaps(value: Any) -> Any:
    """Write what is no number as null: JSON has no NaN and no infinity."""
    if isinstance(value, dict):
        return {key: _without_gaps(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_gaps(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content)
    return path
