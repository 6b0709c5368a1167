"""``secateurs compare``: compare methods at several sizes, as a leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from secateurs._methods import METHODS, regression_methods
from secateurs.commands._output_files import OutputFiles, output_options, write_all_files
from secateurs.commands._pruning_inputs import (
    PruningInputs,
    check_input_files,
    read_inputs,
    read_labelled_file,
)
from secateurs.commands._pruning_options import (
    LIMIT_OPTIONS,
    METHOD_OPTIONS,
    BudgetOptions,
    MethodOptions,
    check_keep_option,
    dask_client,
)
from secateurs.commands._table_files import require_file
from secateurs.commands.console_output import Output
from secateurs.commands.parameter_types import KEEP, METHOD
from secateurs.commands.shared_options import (
    DRY_RUN,
    FILES,
    InputFiles,
    TrustOptions,
    common_options,
    file_option,
    option,
    trust_options,
)
from secateurs.text_format import format_columns, format_signed

if TYPE_CHECKING:
    from secateurs.comparison import Comparison
    from secateurs.typing import JsonObject

_SIZES = (0.05, 0.1, 0.2)


@click.command()
@FILES
@option(
    "-p",
    "--pruner",
    "methods",
    type=METHOD,
    multiple=True,
    aliases=["-m", "--method", "--methods"],  # the last as the parameter in Python
    help="Method to compare, see `secateurs methods`; repeatable. Default: all.",
)
@option(
    "-k",
    "--keep",
    type=KEEP,
    multiple=True,
    help="Number of members to keep: 50, 0.1 or 10%; repeatable. Default: 0.05, 0.1 and 0.2.",
)
@option(
    "--fresh",
    is_flag=True,
    help="Also train forests of the same sizes again, on --train and DATA or with --oob on DATA, "
    "with the best of several min_samples_leaf by out-of-bag score.",
)
@file_option(
    "--train",
    "X_train",
    help="The training samples with their labels, for --fresh if DATA was held out.",
)
@LIMIT_OPTIONS
@METHOD_OPTIONS
@output_options("Write the leaderboard to this .csv file.")
@trust_options()
@DRY_RUN
@common_options
def compare(
    *,
    out: Output,
    files: InputFiles,
    methods: tuple[str, ...],
    keep: tuple[float, ...],
    fresh: bool,
    X_train: Path | None,
    limits: BudgetOptions,
    method: MethodOptions,
    targets: OutputFiles,
    trust: TrustOptions,
    dry_run: bool,
) -> None:
    """Compare pruning methods and sizes on held-out samples.

    The input is the same as for `prune`. The leaderboard is sorted by accuracy, R² or --scoring
    (larger is better, as in scikit-learn). * marks results that no other result beats in both score
    and size. With a budget, only results that meet it are listed.

    \b
    secateurs compare forest.skops val.csv --target churn -k 10 -k 50 --report page.html
    """  # noqa: D301
    check_input_files(files)
    limits.check_options()
    _check_fresh_options(fresh, X_train, files, limits)
    targets.check_paths((".csv",))
    inputs = read_inputs(files, trust, out, method.main_scoring)
    for size in keep:
        check_keep_option(size, inputs.ensemble.n_members, out)
    limits = limits.with_costs(inputs.ensemble.member_names)
    out.print_note(inputs.summary_line)
    if dry_run:
        out.print_dry_run(targets.output_paths)
        return
    names = methods or tuple(regression_methods() if inputs.ensemble.is_regression else METHODS)
    training: dict[str, Any] = {"fresh": fresh}
    if X_train is not None:
        samples = read_labelled_file(X_train, inputs.ensemble, files, trust)
        training |= dict(zip(("X_train", "y_train"), samples, strict=True))
    comparison = _run_comparison(inputs, names, keep or _SIZES, method, limits, out, **training)
    board = limits.filter_leaderboard(comparison.leaderboard())
    with out.show_progress("writing"):
        words = [*files.prune_command, *trust.as_arguments]
        contents = targets.render_pages(comparison, command=words, source=files.source_name)
        if targets.output is not None:
            contents[targets.output] = board.to_csv(index=False, lineterminator="\n").encode()
        write_all_files(contents, targets.force)
    for note in comparison.notes:
        out.print_note(note)
    from secateurs.report.leaderboard_table import leaderboard_rows

    lines = leaderboard_rows(board)
    wrote = [str(path) for path in targets.output_paths]
    out.print_result(
        {"leaderboard": lines, "best": comparison.best, "judged_on": comparison.judged_on}
        | {"wrote": wrote, "advice": comparison.advice},
        format_leaderboard(lines, comparison.score, _further_columns(comparison)),
    )
    out.print_note(comparison.advice)
    if wrote:
        out.print_note(f"wrote {', '.join(wrote)}")


def _check_fresh_options(
    fresh: bool, train: Path | None, files: InputFiles, limits: BudgetOptions
) -> None:
    """Raise if options exclude each other, before any file is read."""
    if not fresh:
        if train is not None:
            raise click.UsageError("--train is for --fresh only. Pass both.")
        return
    if files.predictions is not None:
        raise click.UsageError("--fresh needs MODEL, not --predictions.")
    if limits.cost is not None:
        raise click.UsageError("--fresh and --cost exclude each other: new trees have no costs.")
    if train is not None:
        require_file(train)


def _run_comparison(  # noqa: PLR0917
    inputs: PruningInputs,
    names: tuple[str, ...],
    sizes: tuple[float, ...],
    method: MethodOptions,
    limits: BudgetOptions,
    out: Output,
    **training: Any,
) -> Comparison:
    """Compare methods, on the cluster of ``--scheduler`` if it is set."""
    import joblib

    from secateurs.comparison import compare as compare_methods

    with (
        dask_client(method.executor, method.n_jobs, out) as client,
        # joblib sends the groups of EPFD and DOMEP to the cluster.
        joblib.parallel_config("dask", n_jobs=-1) if client is not None else nullcontext(),
        out.show_progress("comparing"),
    ):
        # Methods passed by name have their long searches shortened by `compare`.
        return compare_methods(
            inputs.to_problem(method, limits.cost),
            methods=[method.build_pruner(name) for name in names] if method.is_grouped else names,
            keep=sizes,
            diversity_weight=0.5 if method.diversity_weight is None else method.diversity_weight,
            random_state=method.random_state,
            **training,
        )


def _further_columns(comparison: Comparison) -> dict[str, str]:
    """Return the headings of further columns: other scores, and scores of subgroups."""
    columns = {scoring.key: scoring.key for scoring in comparison.problem.other_scorings}
    if comparison.problem.sensitive_features is not None:
        columns |= {"worst_subgroup": "worst subgroup", "subgroup_gap": "largest gap"}
    return columns | ({"coverage": "coverage"} if comparison.problem.shows_coverage else {})


def format_leaderboard(
    lines: Sequence[JsonObject], score: str = "accuracy", further: Mapping[str, str] | None = None
) -> str:
    """Return a leaderboard as a text table; ``score`` is the name of its score column.

    ``further`` has the headings of further columns, by their names.
    """
    figures = ("members", score, "change", "95 % interval", "MB", "ms/row", "seconds")
    more = dict(further or {}) | ({"cost": "cost"} if lines and "cost" in lines[0] else {})
    rows = []
    for line in lines:
        values = [line.get(name) for name in more]
        cells = ["" if value is None else f"{value:.4g}" for value in values]
        rows.append((*_leaderboard_cells(line, score), *cells))
    return format_columns(("", "method", *figures, *more.values()), rows, left=2)


def _leaderboard_cells(line: JsonObject, score: str) -> tuple[str, ...]:
    size = line["bytes"]
    is_full = line["method"] == "all members"
    return (
        "*" if line["pareto"] else "",
        line["method"],
        f"{line['members']:,}",
        f"{line[score]:.4f}",
        "" if is_full else format_signed(line["change"], 4),
        "" if is_full else f"{format_signed(line['low'], 4)} … {format_signed(line['high'], 4)}",
        "" if size is None else f"{size / 1e6:.2f}",
        "" if line["ms"] is None else f"{line['ms']:.2f}",
        "" if is_full else f"{line['seconds']:.2f}",
    )
