"""``secateurs demo``: pruning shown on a forest that is trained on the spot."""

import shlex
from pathlib import Path
from typing import Any

import click

from secateurs._methods import short_name
from secateurs._text import counted
from secateurs.commands._options import PATH, common, option
from secateurs.commands._output import Output
from secateurs.commands.compare import as_text


@click.command()
@option(
    "-o",
    "--output",
    type=PATH,
    default=Path("secateurs-demo"),
    show_default=True,
    help="Folder for the models, tables and the report.",
)
@option(
    "--trees",
    metavar="N",
    type=click.IntRange(50, 5000),
    default=300,
    show_default=True,
    help="Number of trees in the forest.",
)
@common
def demo(out: Output, output: Path, trees: int) -> None:
    """Train a forest and compare all pruning methods.

    Takes about a minute; needs neither data nor network.
    """
    from secateurs.comparison import board_lines
    from secateurs.demo import FILES, command_of, run

    out.note(
        f"A forest of {counted(trees, 'tree')} on handwritten digits, pruned with every method."
    )
    with out.progress("training and pruning"):
        found, pruning = run(output, trees)
    lines = board_lines(found.leaderboard())
    method, size = found.best
    wrote = [str(output / name) for name in FILES]
    words = [*command_of(output), *_as_options(pruning.pruner), "--keep", str(size)]
    if (output / "forest-pruned.skops").exists():
        words.append("--force")
    next_command = shlex.join(words)
    for note in found.notes:
        out.note(note)
    out.result(
        {"leaderboard": lines, "best": [method, size], "wrote": wrote, "next": next_command}
        | {"advice": found.advice},
        as_text(lines),
    )
    out.note("* marks results that no other one beats in both accuracy and size.")
    out.note("One data set and one split prove little: the best method differs between data sets.")
    out.note(found.advice)
    n_kept = counted(len(pruning.member_indices), "tree")
    out.note(f"{output / 'small.skops'} has these {n_kept}.")
    out.note(f"open: {output / 'report.html'}")
    out.note(f"next: {next_command}")


def _as_options(pruner: Any) -> list[str]:
    """Return the options that prune by the same method."""
    words = ["--pruner", str(short_name(pruner))]
    if hasattr(pruner, "diversity_weight"):
        words += ["--diversity-weight", f"{pruner.diversity_weight:g}"]
    return words
