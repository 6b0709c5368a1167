"""``secateurs demo``: pruning shown on a forest that is trained on the spot."""

import shlex
from pathlib import Path
from typing import Any

import click

from secateurs._methods import short_name
from secateurs.commands.compare import format_leaderboard
from secateurs.commands.console_output import Output
from secateurs.commands.shared_options import PATH, common_options, option
from secateurs.text_format import format_count


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
@common_options
def demo(out: Output, output: Path, trees: int) -> None:
    """Train a forest and compare all pruning methods.

    Takes about a minute; needs neither data nor network.
    """
    from secateurs.comparison import leaderboard_rows
    from secateurs.demo import FILES, prune_command, run_demo

    out.print_note(
        f"A forest of {format_count(trees, 'tree')} on handwritten digits, pruned with every method."
    )
    with out.show_progress("training and pruning"):
        found, pruning = run_demo(output, trees)
    lines = leaderboard_rows(found.leaderboard())
    method, size = found.best
    wrote = [str(output / name) for name in FILES]
    words = [*prune_command(output), *_pruner_arguments(pruning.pruner), "--keep", str(size)]
    if (output / "forest-pruned.skops").exists():
        words.append("--force")
    next_command = shlex.join(words)
    for note in found.notes:
        out.print_note(note)
    out.print_result(
        {"leaderboard": lines, "best": [method, size], "wrote": wrote, "next": next_command}
        | {"advice": found.advice},
        format_leaderboard(lines),
    )
    out.print_note("* marks results that no other one beats in both accuracy and size.")
    out.print_note(
        "One data set and one split prove little: the best method differs between data sets."
    )
    out.print_note(found.advice)
    n_kept = format_count(len(pruning.member_indices), "tree")
    out.print_note(f"{output / 'small.skops'} has these {n_kept}.")
    out.print_note(f"open: {output / 'report.html'}")
    out.print_note(f"next: {next_command}")


def _pruner_arguments(pruner: Any) -> list[str]:
    """Return the options that prune by the same method."""
    words = ["--pruner", str(short_name(pruner))]
    if hasattr(pruner, "diversity_weight"):
        words += ["--diversity-weight", f"{pruner.diversity_weight:g}"]
    return words
