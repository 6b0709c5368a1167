"""``secateurs convert``: convert a model file, such as a trusted pickle, to another format."""

from pathlib import Path

import click

from secateurs.commands._pruning_inputs import load_model
from secateurs.commands._table_files import require_file
from secateurs.commands.console_output import Output
from secateurs.commands.parameter_types import PATH
from secateurs.commands.shared_options import (
    FORCE,
    SLIM,
    TrustOptions,
    common_options,
    trust_options,
)
from secateurs.text_format import format_columns


@click.command()
@click.argument("source", type=PATH, metavar="IN")
@click.argument("output", type=PATH, metavar="OUT")
@SLIM
@FORCE
@trust_options("--max-bytes")
@common_options
def convert(
    *, out: Output, source: Path, output: Path, slim: bool, force: bool, trust: TrustOptions
) -> None:
    """Convert a model file to another format.

    The suffix of OUT determines the format. A typical conversion is from .joblib or .pkl (with
    --trust-pickle) to .skops, which is safe to load. With --slim, the file has only the numbers of
    trees that prediction reads.
    """
    require_file(source)
    from secateurs.persistence import save
    from secateurs.persistence.atomic_files import check_writable
    from secateurs.persistence.model_files import sidecar_path

    written = (output, sidecar_path(output))
    check_writable(written, force)
    with out.show_progress("reading the model"):
        model = load_model(source, trust)
    with out.show_progress("writing the model"):
        save(model, output, force=force, slim=slim)
    facts = {
        "wrote": [str(path) for path in written],
        "model": type(model).__name__,
        "bytes_before": source.stat().st_size,
        "bytes_after": output.stat().st_size,
    }
    rows = [(str(source), f"{facts['bytes_before']:,}"), (str(output), f"{facts['bytes_after']:,}")]
    out.print_result(facts, format_columns(("file", "bytes"), rows))
    out.print_note(f"wrote {', '.join(map(str, written))}")
