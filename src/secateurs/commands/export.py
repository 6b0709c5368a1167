"""``secateurs export``: a model for ONNX Runtime or treelite, once it predicts the same there."""

import json
from pathlib import Path
from typing import Any

import click

from secateurs.commands._errors import Refusal
from secateurs.commands._input import read_table, require_columns, require_file
from secateurs.commands._models import load_model
from secateurs.commands._options import FORCE, PATH, TRUST, Trust, common
from secateurs.commands._output import Output, columns


@click.command()
@click.argument("model", type=PATH)
@click.option(
    "-o", "--output", type=PATH, required=True, help="Where to: a name in .onnx or .treelite."
)
@click.option(
    "--check",
    type=PATH,
    required=True,
    metavar="DATA",
    help="Table with at least 100 rows such as the model will see.",
)
@click.option("-t", "--target", metavar="COL", help="Column of the true labels, left out.")
@click.option("--ignore", multiple=True, metavar="COL", help="A column that is no feature.")
@FORCE
@TRUST
@common
def export(
    *,
    out: Output,
    model: Path,
    output: Path,
    check: Path,
    target: str | None,
    ignore: tuple[str, ...],
    force: bool,
    trust: Trust,
) -> None:
    """Write MODEL for ONNX Runtime or treelite.

    The exported model predicts the rows of --check and is compared with the original. A file
    appears only if all labels agree, ties apart, and all probabilities to 1e-5.
    """
    for path in (model, check):
        require_file(path)
    from secateurs import export as export_model
    from secateurs.persistence._files import refuse_existing

    sidecar = output.with_name(f"{output.name}.json")
    refuse_existing((output, sidecar), force)
    left_out = [*([] if target is None else [target]), *ignore]
    with out.progress("reading"):
        loaded = load_model(model, trust)
        rows = _features(check, loaded, left_out)
    with out.progress(f"writing {output} and comparing predictions"):
        export_model(loaded, output, rows, force=force)
    found = json.loads(sidecar.read_text("utf-8"))["check"]
    out.result(
        {"wrote": [str(output), str(sidecar)], "bytes": output.stat().st_size, "check": found},
        columns(("", ""), _lines(output, found)),
    )
    out.note(f"wrote {output}, {sidecar}")


def _features(path: Path, model: Any, left_out: list[str]) -> Any:
    """Read the rows to check on, in the order of the model's features."""
    frame = read_table(path)
    require_columns(path, frame, left_out)
    frame = frame.drop(columns=left_out)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return frame
    foreign = [name for name in frame.columns if name not in set(names)]
    if foreign:
        raise Refusal(
            "feature_names",
            f"{path} has the column {foreign[0]!r}, which is no feature of the model. Leave it out "
            f"with --target or --ignore.",
        )
    require_columns(path, frame, [str(name) for name in names])
    return frame[list(names)]


def _lines(output: Path, check: dict[str, Any]) -> list[tuple[str, str]]:
    off = check["largest_probability_difference"]
    return [
        ("file", f"{output.stat().st_size:,} bytes"),
        ("rows compared", f"{check['rows']:,}"),
        ("labels that differ", str(check["labels_differing"])),
        ("ties that differ", str(check["ties_differing"])),
        ("largest difference of probabilities", "not told" if off is None else f"{off:.1e}"),
    ]
