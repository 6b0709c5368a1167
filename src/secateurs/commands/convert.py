"""``secateurs convert``: from a pickle that one trusts to a file that need not be trusted."""

from pathlib import Path

import click

from secateurs.commands._input import require_file
from secateurs.commands._models import load_model
from secateurs.commands._options import FORCE, PATH, TRUST, Trust, common
from secateurs.commands._output import Output, columns


@click.command()
@click.argument("source", type=PATH, metavar="IN")
@click.argument("output", type=PATH, metavar="OUT")
@FORCE
@TRUST
@common
def convert(out: Output, source: Path, output: Path, force: bool, trust: Trust) -> None:
    """Write the model of file IN to file OUT, in the format that OUT's ending says.

    The usual way is from .joblib or .pkl, with --trust-pickle, to .skops, which is safe to load.
    """
    require_file(source)
    from secateurs.persistence import save
    from secateurs.persistence._files import refuse_existing

    refuse_existing((output, output.with_suffix(".json")), force)
    with out.progress("reading the model"):
        model = load_model(source, trust)
    with out.progress("writing the model"):
        save(model, output, force=force, trust_types=trust.trust_types)
    sizes = [path.stat().st_size for path in (source, output)]
    out.result(
        {
            "wrote": [str(output), str(output.with_suffix(".json"))],
            "model": type(model).__name__,
            "bytes_before": sizes[0],
            "bytes_after": sizes[1],
        },
        columns(
            ("file", "bytes"),
            [(str(path), f"{size:,}") for path, size in zip((source, output), sizes, strict=True)],
        ),
    )
    out.note(f"wrote {output}, {output.with_suffix('.json')}")
