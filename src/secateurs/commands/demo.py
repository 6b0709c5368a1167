"""``secateurs demo``: what pruning does, shown on a forest that is trained on the spot."""

import shlex
from pathlib import Path
from typing import Any

import click

from secateurs.commands._options import PATH, common
from secateurs.commands._output import Output
from secateurs.commands.compare import as_text


@click.command()
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("secateurs-demo"),
    show_default=True,
    help="Folder for the models, tables and the page.",
)
@click.option(
    "--trees",
    type=click.IntRange(50, 5000),
    default=300,
    show_default=True,
    help="Size of the forest.",
)
@common
def demo(out: Output, output: Path, trees: int) -> None:
    """Train a forest, prune it by every method, and show before and after.

    Takes about a minute and needs neither data nor network.
    """
    from secateurs.comparison import board_lines
    from secateurs.demo import run

    out.note(f"A forest of {trees} trees on handwritten digits, pruned by every method.")
    with out.progress("training and pruning") as report:
        made = run(output, trees, callback=lambda done, total, _: report(done, total))
    lines = board_lines(made.comparison.leaderboard())
    method, size = made.comparison.best
    wrote = [str(path) for path in made.paths]
    next_command = _next(made, size)
    for note in made.comparison.notes:
        out.note(note)
    out.result(
        {"leaderboard": lines, "best": [method, size], "wrote": wrote, "next": next_command},
        as_text(lines),
    )
    out.note("* marks what no other line beats both in accuracy and in size.")
    out.note("One data set and one split prove nothing: methods differ from set to set.")
    n_kept = len(made.pruning.member_indices)
    out.note(f"{output / 'small.skops'} has {n_kept} of the trees, chosen by the method {method}.")
    out.note(f"look at: {output / 'report.html'}")
    out.note(f"next, type: {next_command}")


def _next(made: Any, size: int) -> str:
    """Give a command that prunes the same forest, for the user to type and then to change."""
    from secateurs.demo import command_of

    words = [*command_of(made.folder), "--keep", str(size)]
    if (made.folder / "forest-pruned.skops").exists():
        words.append("--force")
    return shlex.join(words)
