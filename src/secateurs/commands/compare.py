"""``secateurs compare``: every method at every size, as a leaderboard."""

from contextlib import nullcontext
from typing import Any

import click

from secateurs._methods import METHODS, methods_for_numbers
from secateurs._text import columns, signed
from secateurs.commands._inputs import Inputs, check_files, read_inputs
from secateurs.commands._options import (
    DRY_RUN,
    FILES,
    KEEP,
    METHOD,
    Files,
    Trust,
    common,
    option,
    trusting,
)
from secateurs.commands._output import Output
from secateurs.commands._settings import (
    LIMIT_OPTIONS,
    METHOD_OPTIONS,
    Limits,
    Method,
    check_keep,
    cluster,
)
from secateurs.commands._targets import Targets, write_all, writing

_SIZES = (0.05, 0.1, 0.2)


@click.command()
@FILES
@option(
    "-p",
    "--pruner",
    "methods",
    type=METHOD,
    multiple=True,
    aliases=["-m", "--method"],
    help="Method to compare; repeatable. Default: all. See `secateurs methods`.",
)
@option(
    "-k",
    "--keep",
    type=KEEP,
    multiple=True,
    help="Number of members to keep: 50, 0.1 or 10%; repeatable. Default: 0.05, 0.1 and 0.2.",
)
@LIMIT_OPTIONS
@METHOD_OPTIONS
@writing("Write the leaderboard to this .csv file.")
@trusting()
@DRY_RUN
@common
def compare(
    *,
    out: Output,
    files: Files,
    methods: tuple[str, ...],
    keep: tuple[float, ...],
    limits: Limits,
    method: Method,
    targets: Targets,
    trust: Trust,
    dry_run: bool,
) -> None:
    """Compare pruning methods and sizes on held-out rows.

    Takes the same input as `prune`. The leaderboard is sorted by accuracy, R² or --scoring (larger
    is better, as in scikit-learn); * marks results that no other result beats in score and size.
    With a budget, only results that meet it remain.

    \b
    secateurs compare forest.skops val.csv --target churn -k 10 -k 50 --report page.html
    """  # noqa: D301
    check_files(files)
    limits.check()
    targets.check((".csv",))
    inputs = read_inputs(files, trust, out, method.scoring)
    for size in keep:
        check_keep(size, inputs.ensemble.n_members, out)
    limits = limits.with_costs(inputs.ensemble.names)
    out.note(inputs.headline)
    if dry_run:
        out.dry_run(targets.paths)
        return
    names = methods or tuple(methods_for_numbers() if inputs.ensemble.is_regression else METHODS)
    found = _compare(inputs, names, keep or _SIZES, method, out)
    board = limits.apply(_board(found, limits.cost))
    with out.progress("writing"):
        words = [*files.command, *trust.options]
        contents = targets.pages(found, command=words, source=files.source)
        if targets.output is not None:
            contents[targets.output] = board.to_csv(index=False, lineterminator="\n").encode()
        write_all(contents, targets.force)
    for note in found.notes:
        out.note(note)
    from secateurs.comparison import board_lines

    lines = board_lines(board)
    wrote = [str(path) for path in targets.paths]
    out.result(
        {"leaderboard": lines, "best": found.best, "judged_on": found.judged_on, "wrote": wrote}
        | {"advice": found.advice},
        as_text(lines, found.score),
    )
    out.note(found.advice)
    if wrote:
        out.note(f"wrote {', '.join(wrote)}")


def _board(found: Any, cost: list[float] | None) -> Any:
    """Return the leaderboard, with what the members of each line cost."""
    board = found.leaderboard()
    if cost is not None:
        board["cost"] = [
            sum(cost[member] for member in found.members(method, keep))
            for method, keep in zip(board["method"], board["keep"], strict=True)
        ]
    return board


def _compare(
    inputs: Inputs, names: tuple[str, ...], sizes: tuple[float, ...], method: Method, out: Output
) -> Any:
    """Compare, on a cluster if there is one."""
    import joblib

    from secateurs.comparison import compare as compare_methods

    with (
        cluster(method.executor, method.n_jobs, out) as client,
        # joblib sends the groups of EPFD and DOMEP to the cluster.
        joblib.parallel_config("dask", n_jobs=-1) if client is not None else nullcontext(),
        out.progress("comparing"),
    ):
        # By name, methods come in the form that suits a comparison: long searches cut short.
        return compare_methods(
            inputs.problem(method),
            methods=[method.pruner(name) for name in names] if method.grouped else names,
            keep=sizes,
            diversity_weight=0.5 if method.diversity_weight is None else method.diversity_weight,
            random_state=method.random_state,
        )


def as_text(lines: list[dict[str, Any]], score: str = "accuracy") -> str:
    """Return a leaderboard as a table; its column of this name is the score."""
    figures = ("members", score, "change", "95 % interval", "MB", "ms/row", "seconds")
    costs: tuple[str, ...] = ("cost",) if lines and "cost" in lines[0] else ()
    rows = [(*_cells(line, score), *(f"{line[name]:g}" for name in costs)) for line in lines]
    return columns(("", "method", *figures, *costs), rows, left=2)


def _cells(line: dict[str, Any], score: str) -> tuple[str, ...]:
    size = line["bytes"]
    whole = line["method"] == "all members"
    return (
        "*" if line["pareto"] else "",
        line["method"],
        f"{line['members']:,}",
        f"{line[score]:.4f}",
        "" if whole else signed(line["change"], 4),
        "" if whole else f"{signed(line['low'], 4)} … {signed(line['high'], 4)}",
        "" if size is None else f"{size / 1e6:.2f}",
        "" if line["ms"] is None else f"{line['ms']:.2f}",
        "" if whole else f"{line['seconds']:.2f}",
    )
