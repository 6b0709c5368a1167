"""``secateurs frontier``: the best panel of members within every total cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from secateurs.commands._member_costs import read_member_costs
from secateurs.commands._output_files import OutputFiles, output_options, write_all_files
from secateurs.commands._pruning_inputs import check_input_files, read_inputs
from secateurs.commands._pruning_options import SCORE_OPTIONS, MethodOptions, cost_option
from secateurs.commands._table_files import require_file
from secateurs.commands.console_output import Output
from secateurs.commands.parameter_types import LOSS
from secateurs.commands.shared_options import (
    DRY_RUN,
    FILES,
    InputFiles,
    TrustOptions,
    common_options,
    option,
    trust_options,
)
from secateurs.text_format import format_columns, to_json_value

if TYPE_CHECKING:
    import pandas as pd

    from secateurs.typing import JsonObject


@click.command()
@FILES
@cost_option("Default: each member costs 1.")
@option(
    "--max-group-loss",
    type=LOSS,
    help="Maximum loss of the score in any subgroup of --sensitive-features.",
)
@option("--weights", is_flag=True, help="Optimise the weights of each panel's members.")
@SCORE_OPTIONS
@output_options("Write the table to this .csv file.")
@trust_options()
@DRY_RUN
@common_options
def frontier(
    *,
    out: Output,
    files: InputFiles,
    cost: Path | None,
    max_group_loss: float | None,
    weights: bool,
    method: MethodOptions,
    targets: OutputFiles,
    trust: TrustOptions,
    dry_run: bool,
) -> None:
    """Find the best panel of members within every total cost.

    The input is the same as for `prune`. Scores are cross-validated, or those of the test set.
    "validation" is the score on the samples that panels are selected on, and "at most" a bound of
    that score for any panel within the cost; * marks panels that reach it. "in turn" is the
    expected cost if members are asked until the vote is decided.

    \b
    secateurs frontier --predictions votes.csv --target truth --cost prices.csv --report page.html
    """  # noqa: D301
    if cost is not None:
        require_file(cost)
    if max_group_loss is not None and files.sensitive_features is None:
        raise click.UsageError("--max-group-loss needs --sensitive-features COL.")
    check_input_files(files)
    targets.check_paths((".csv",))
    inputs = read_inputs(files, trust, out, method.main_scoring)
    names = inputs.ensemble.member_names
    costs = None if cost is None else read_member_costs(cost, names)
    out.print_note(inputs.summary_line)
    if dry_run:
        out.print_dry_run(targets.output_paths)
        return
    from secateurs.pruning import frontier as find_frontier

    with out.show_progress("evaluating panels"):
        found = find_frontier(
            inputs.to_problem(method, costs),
            max_group_loss=max_group_loss,
            weights=weights or None,
            random_state=method.random_state,
        )
        table = found.table()
    with out.show_progress("writing"):
        words = [*files.prune_command, *trust.as_arguments]
        words += [] if cost is None else ["--cost", str(cost)]
        contents = targets.render_pages(found, command=words, source=files.source_name)
        if targets.output is not None:
            contents[targets.output] = _csv_table(table)
        write_all_files(contents, targets.force)
    for note in found.notes:
        out.print_note(note)
    rows: list[JsonObject] = to_json_value(table.to_dict("records"))
    wrote = [str(path) for path in targets.output_paths]
    data = {"frontier": rows, "is_exact": found.is_exact, "notes": list(found.notes)}
    out.print_result(data | {"wrote": wrote}, format_frontier(rows, found.problem.scoring.key))
    if wrote:
        out.print_note(f"wrote {', '.join(wrote)}")


def _csv_table(table: pd.DataFrame) -> bytes:
    """Return the table as CSV; several names and weights in a cell are separated by semicolons."""
    plain = table.copy()
    for name in {"names", "weights"} & set(table.columns):
        plain[name] = [";".join(map(str, cell or ())) for cell in table[name]]
    return plain.to_csv(index=False, lineterminator="\n").encode()


def format_frontier(rows: list[JsonObject], score: str) -> str:
    """Return a frontier as a text table; ``score`` is the name of its score column."""
    headings = ["", "cost", "in turn", score, "± 95 %", "validation", "at most", "members"]
    more = [name for name in ("worst_subgroup",) if rows and name in rows[0]]
    headings[5:5] = [name.replace("_", " ") for name in more]
    lines = []
    for row in rows:
        error = row["standard_error"]
        lines.append(
            (
                "*" if row["is_optimal"] else "",
                f"{row['cost']:.6g}",
                _text(row["cost_in_turn"], ".4g"),
                f"{row[score]:.4f}",
                "" if error is None else f"{1.96 * error:.4f}",
                *(_text(row[name], ".4f") for name in more),
                f"{row['validation_score']:.4f}",
                _text(row["upper_bound"], ".4f"),
                ", ".join(row["names"]),
            )
        )
    return format_columns(headings, lines, left=1)


def _text(value: float | None, spec: str) -> str:
    return "" if value is None else format(value, spec)
