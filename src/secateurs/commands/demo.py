"""``secateurs demo``: train a forest, and compare all pruning methods on it."""

from pathlib import Path

import click

from secateurs._methods import short_name
from secateurs.commands.compare import format_leaderboard
from secateurs.commands.console_output import Output, runnable_command
from secateurs.commands.parameter_types import PATH
from secateurs.commands.shared_options import common_options, option
from secateurs.text_format import format_count


@click.command()
@option(
    "-o",
    "--output",
    type=PATH,
    default=Path("secateurs-demo"),
    show_default=True,
    help="Folder for the models, the tables and the report.",
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

    Takes less than a minute, and needs neither data nor a network connection.
    """
    from secateurs.demo import FILES, prune_command, run_demo
    from secateurs.report.leaderboard_table import leaderboard_rows

    out.print_note(
        f"a forest of {format_count(trees, 'tree')} for handwritten digits, pruned with all methods"
    )
    with out.show_progress("training and pruning"):
        comparison, pruning = run_demo(output, trees)
    lines = leaderboard_rows(comparison.leaderboard())
    method, size = comparison.best
    wrote = [str(output / name) for name in FILES]
    words = [*prune_command(output), *_pruner_arguments(pruning.pruner), "--keep", str(size)]
    if (output / "forest-pruned.skops").exists():
        words.append("--force")
    next_command = runnable_command(words[1:])
    for note in comparison.notes:
        out.print_note(note)
    out.print_note(comparison.advice)  # before the table, which fills the screen
    out.print_result(
        {"leaderboard": lines, "best": [method, size], "wrote": wrote, "next": next_command}
        | {"advice": comparison.advice},
        format_leaderboard(lines),
    )
    out.print_note("* marks results that no other result beats in both accuracy and size.")
    out.print_note("This is one split of one data set: on other data, another method may be best.")
    n_kept = format_count(len(pruning.member_indices), "tree")
    out.print_note(f"{output / 'small.skops'} contains the selected {n_kept}.")
    out.print_note(f"open: {output / 'report.html'}")
    out.print_note(f"next: {next_command}")


def _pruner_arguments(pruner: object) -> list[str]:
    """Return the options of ``prune`` that select the same method."""
    words = ["--pruner", str(short_name(pruner))]
    if hasattr(pruner, "diversity_weight"):
        words += ["--diversity-weight", f"{pruner.diversity_weight:g}"]
    return words
