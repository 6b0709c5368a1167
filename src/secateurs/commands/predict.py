"""``secateurs predict``: predict with a saved blend or model, and write the predictions."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from secateurs.commands._column_types import ColumnTypes
from secateurs.commands._labelled_samples import read_model_features
from secateurs.commands._output_files import write_all_files
from secateurs.commands._prediction_files import (
    PredictionFile,
    as_number_columns,
    mask_gaps,
    read_prediction_file,
)
from secateurs.commands._pruning_inputs import load_model
from secateurs.commands._table_files import (
    file_format,
    name_file_in_errors,
    read_table,
    require_columns,
    require_file,
)
from secateurs.commands.command_errors import Refusal
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
from secateurs.exceptions import import_extra
from secateurs.text_format import format_columns, to_one_line

if TYPE_CHECKING:
    import pandas as pd

    from secateurs.typing import Array

_SUFFIXES = (".csv", ".parquet")


@click.command()
@click.argument("model", type=PATH)
@click.argument("data", type=PATH)
@option("-o", "--output", type=PATH, required=True, help="Write to this .csv or .parquet file.")
@option("--proba", is_flag=True, help="Write probabilities of all classes instead of labels.")
@option(
    "--positive", metavar="LABEL", help="With --proba: write the probability of this class only."
)
@option("--id", "id_column", metavar="COL", help="Column of DATA to copy to the output.")
@option(
    "--unanswered",
    type=click.Choice(["majority", "missing"]),
    help="Prediction of a blend for samples that no member answered: the most frequent class of "
    "the validation set (in regression, the mean), or an empty cell. Default: as saved.",
)
@option(
    "-t", "--target", metavar="COL", help="Column with the true labels or values, ignored here."
)
@IGNORE
@DTYPE
@FORCE
@trust_options()
@common_options
def predict(
    *,
    out: Output,
    model: Path,
    data: Path,
    output: Path,
    proba: bool,
    positive: str | None,
    id_column: str | None,
    unanswered: str | None,
    target: str | None,
    ignore: tuple[str, ...],
    dtype: tuple[tuple[str, str], ...],
    force: bool,
    trust: TrustOptions,
) -> None:
    """Predict with a saved blend or model.

    MODEL is the .json file of a blend, which `secateurs prune --predictions` writes, and DATA a
    table of its members' predictions. The members are found by name; other columns are ignored. Or
    MODEL is a model file (.skops, or a trusted pickle), and DATA a table of samples.

    \b
    secateurs predict blend.json test.csv -o submission.csv --id id --proba --positive 1
    """  # noqa: D301
    if positive is not None and not proba:
        raise click.UsageError("--positive needs --proba.")
    for path in (model, data):
        require_file(path)
    if output.suffix.lower() not in _SUFFIXES:
        raise Refusal(
            "ending", f"{output} ends in {output.suffix!r}. Use one of: {', '.join(_SUFFIXES)}."
        )
    from secateurs.persistence.atomic_files import check_writable
    from secateurs.pruning import Blend

    check_writable([output], force)
    with out.show_progress("reading"):
        loaded = load_model(model, trust)
        excluded = tuple(name for name in (target, id_column) if name is not None) + ignore
        if isinstance(loaded, Blend):
            if unanswered is not None:
                loaded.set_params(unanswered=unanswered)
            X = _read_member_predictions(data, loaded, ignore, trust.max_unpacked)
        elif unanswered is not None:
            raise click.UsageError("--unanswered is for blends; models predict every sample.")
        else:
            types = ColumnTypes([loaded], model, dict(dtype), excluded)
            X = read_model_features(data, loaded, types, trust.max_unpacked)
        ids = None if id_column is None else _read_ids(data, id_column, trust.max_unpacked)
    with out.show_progress("predicting"):
        frame = _predict_frame(
            loaded, X, data=data, model_file=model, proba=proba, positive=positive
        )
    if ids is not None:
        frame.insert(0, str(id_column), ids, allow_duplicates=True)
    write_all_files({output: _to_bytes(frame, output)}, force)
    facts = {"wrote": [str(output)], "rows": len(frame), "columns": list(map(str, frame.columns))}
    rows = [("rows", f"{len(frame):,}"), ("columns", ", ".join(map(str, frame.columns)))]
    if isinstance(loaded, Blend):
        facts["unanswered"] = loaded.count_unanswered(X)
        rows.append(("rows without any prediction", f"{facts['unanswered']:,}"))
    out.print_result(facts, format_columns(("", ""), rows, left=2))
    out.print_note(f"wrote {output}")


def _read_member_predictions(
    path: Path, blend: Any, ignore: tuple[str, ...], max_unpacked: float
) -> Any:
    """Return the table of predictions, converted to floats unless they are labels."""
    content: PredictionFile = read_prediction_file(path, None, None, ignore, max_unpacked)
    table: Any = content.table
    if table.ndim == 3:
        return _by_name(content, blend)
    if blend.kind == "labels":
        return mask_gaps(table, blend.classes_)
    return as_number_columns(content, blend.table_format)


def _by_name(content: PredictionFile, blend: Any) -> Any:
    """Return probabilities as a dict of members, with the classes of the file if it has any."""
    import pandas as pd

    table, names = content.table, content.names
    if names is None and content.classes is None:
        return table
    columns = dict(enumerate([] if names is None else names))
    if names is None and table.shape[1] in (blend.n_members, len(blend.names)):
        has_all = table.shape[1] == blend.n_members
        indices = blend.member_indices_ if has_all else range(len(blend.names))
        columns = dict(zip(indices, blend.names, strict=True))
    return {
        name: pd.DataFrame(table[:, column], columns=content.classes)
        for column, name in columns.items()
    } or table


def _read_ids(path: Path, column: str, max_unpacked: float) -> list[str]:
    if file_format(path) in ("npy", "zip"):
        raise Refusal("missing_column", f"{path} has no columns. Leave out --id.")
    frame = read_table(path, as_text=[column], max_unpacked=max_unpacked)
    require_columns(path, frame, [column])
    return list(frame[column])


def _predict_frame(
    model: Any, X: Any, *, data: Path, model_file: Path, proba: bool, positive: str | None
) -> pd.DataFrame:
    """Return a table with a column of predictions, or with one of each class."""
    import pandas as pd

    if proba and not hasattr(model, "predict_proba"):
        raise Refusal("no_probabilities", f"{model_file} has no probabilities. Leave out --proba.")
    with name_file_in_errors(data):
        if not proba:
            return pd.DataFrame({"prediction": model.predict(X)})
        shares: Array = model.predict_proba(X)
    names = [str(label) for label in model.classes_]
    frame = pd.DataFrame(shares, columns=names)
    if positive is None:
        return frame
    if positive not in names:
        known = to_one_line(", ".join(names[:8]))
        raise Refusal(
            "unknown_label",
            f"{model_file} has no class {positive!r}. Classes: {known}"
            f"{f', … ({len(names)} in total)' if len(names) > 8 else ''}.",
        )
    return pd.DataFrame({"prediction": frame[positive]})


def _to_bytes(frame: pd.DataFrame, output: Path) -> bytes:
    if output.suffix.lower() == ".csv":
        return frame.to_csv(index=False).encode()
    import_extra("pyarrow.parquet", "parquet", "writing .parquet")
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()
