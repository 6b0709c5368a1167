"""``secateurs convert``: from a trusted pickle to a file that is safe to load."""

from pathlib import Path

import click

from secateurs._text import columns
from secateurs.commands._inputs import load_model
from secateurs.commands._options import FORCE, PATH, Trust, common, trusting
from secateurs.commands._output import Output
from secateurs.commands._tables import require_file


@click.command()
@click.argument("source", type=PATH, metavar="IN")
@click.argument("output", type=PATH, metavar="OUT")
@FORCE
@trusting("--max-bytes")
@common
def convert(out: Output, source: Path, output: Path, force: bool, trust: Trust) -> None:
    """Convert a model file to another format.

    The suffix of OUT gives the format. Most often this is from .joblib or .pkl, with
    --trust-pickle, to .skops, which is safe to load.
    """
    require_file(source)
    from secateurs.persistence import save
    from secateurs.persistence._files import refuse_existing

    written = (output, output.with_suffix(".json"))
    refuse_existing(written, force)
    with out.progress("reading the model"):
        model = load_model(source, trust)
    with out.progress("writing the model"):
        save(model, output, force=force)
    facts = {
        "wrote": [str(path) for path in written],
        "model": type(model).__name__,
        "bytes_before": source.stat().st_size,
        "bytes_after": output.stat().st_size,
    }
    rows = [(str(source), f"{facts['bytes_before']:,}"), (str(output), f"{facts['bytes_after']:,}")]
    out.result(facts, columns(("file", "bytes"), rows))
    out.note(f"wrote {', '.join(map(str, written))}")
