"""``secateurs export``: export a model to ONNX or treelite, checked against the original."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from secateurs.commands._column_types import ColumnTypes
from secateurs.commands._labelled_samples import read_model_features
from secateurs.commands._pruning_inputs import load_model
from secateurs.commands._table_files import require_file
from secateurs.commands.console_output import Output
from secateurs.commands.parameter_types import PATH
from secateurs.commands.shared_options import (
    DTYPE,
    FORCE,
    IGNORE,
    TrustOptions,
    common_options,
    option,
    trust_options,
)
from secateurs.text_format import format_columns

if TYPE_CHECKING:
    from secateurs.typing import JsonObject


@click.command()
@click.argument("model", type=PATH)
@option("-o", "--output", type=PATH, required=True, help="Write to this .onnx or .treelite file.")
@option(
    "--check",
    "X_check",
    type=PATH,
    required=True,
    metavar="DATA",
    help="Table of at least 100 samples, to compare predictions on.",
)
@option(
    "-t", "--target", metavar="COL", help="Column with the true labels or values, ignored here."
)
@IGNORE
@DTYPE
@FORCE
@trust_options("--max-bytes")
@common_options
def export(
    *,
    out: Output,
    model: Path,
    output: Path,
    X_check: Path,
    target: str | None,
    ignore: tuple[str, ...],
    dtype: tuple[tuple[str, str], ...],
    force: bool,
    trust: TrustOptions,
) -> None:
    """Export a model to ONNX Runtime or treelite.

    The exported and the original model both predict the samples of --check. The file is written
    only if all labels agree (except for ties) and all probabilities agree to 1e-5; for regressors,
    if all predictions agree to 1e-5 of the largest.
    """
    for path in (model, X_check):
        require_file(path)
    from secateurs import export as export_model
    from secateurs.persistence.atomic_files import check_writable

    sidecar = output.with_name(f"{output.name}.json")
    check_writable((output, sidecar), force)
    excluded = [*([] if target is None else [target]), *ignore]
    with out.show_progress("reading"):
        loaded = load_model(model, trust)
        types = ColumnTypes([loaded], model, dict(dtype), excluded)
        X = read_model_features(X_check, loaded, types, trust.max_unpacked)
    with out.show_progress(f"writing {output} and comparing predictions"):
        export_model(loaded, output, X, force=force)
    check = json.loads(sidecar.read_text("utf-8"))["check"]
    out.print_result(
        {"wrote": [str(output), str(sidecar)], "bytes": output.stat().st_size, "check": check},
        format_columns(("", ""), _comparison_lines(output, check)),
    )
    out.print_note(f"wrote {output}, {sidecar}")


def _comparison_lines(output: Path, check: JsonObject) -> list[tuple[str, str]]:
    lines = [
        ("file", f"{output.stat().st_size:,} bytes"),
        ("compared samples", f"{check['rows']:,}"),
    ]
    if "largest_difference" in check:
        return [*lines, ("largest difference", f"{check['largest_difference']:.1e}")]
    largest = check["largest_probability_difference"]
    return [
        *lines,
        ("differing labels", str(check["labels_differing"])),
        ("differing ties", str(check["ties_differing"])),
        ("largest probability difference", "unknown" if largest is None else f"{largest:.1e}"),
    ]
