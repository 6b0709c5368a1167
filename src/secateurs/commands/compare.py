"""``secateurs compare``: every method at every size, as a leaderboard."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import click

from secateurs._methods import METHODS
from secateurs.commands._material import Material, check_files, gather
from secateurs.commands._method import WEIGHTED, Wanted, cluster
from secateurs.commands._options import (
    DRY_RUN,
    FILES,
    FORCE,
    GROUPS,
    PATH,
    REPORT,
    RUN,
    SEED,
    TRUST,
    WEIGHT_OPTION,
    WORKERS,
    Files,
    Trust,
    Workers,
    bundled,
    common,
)
from secateurs.commands._output import Output, Report, columns, signed
from secateurs.commands._size import LIMITS, Limits, check_keep
from secateurs.commands._targets import Targets, write_all
from secateurs.commands._types import KEEP, METHOD

_SIZES = (0.05, 0.1, 0.2)

TARGETS = bundled(
    "targets",
    Targets,
    click.option("-o", "--output", type=PATH, help="Write the leaderboard: a name in .csv."),
    REPORT,
    RUN,
    FORCE,
)


@click.command()
@FILES
@click.option(
    "-m", "--method", "methods", type=METHOD, multiple=True, help="Repeatable. Default: all."
)
@click.option(
    "-k",
    "--keep",
    "sizes",
    type=KEEP,
    multiple=True,
    help="Members to keep: 50, 0.1 or 10%; repeatable. Default: 0.05, 0.1 and 0.2.",
)
@LIMITS
@WEIGHT_OPTION
@GROUPS
@click.option("--oob", is_flag=True, help="DATA are the training rows: use out-of-bag votes.")
@TARGETS
@SEED
@WORKERS
@TRUST
@DRY_RUN
@common
def compare(
    *,
    out: Output,
    files: Files,
    methods: tuple[str, ...],
    sizes: tuple[float, ...],
    limits: Limits,
    weight: float | str | None,
    groups: int | None,
    oob: bool,
    targets: Targets,
    seed: int,
    workers: Workers,
    trust: Trust,
    dry_run: bool,
) -> None:
    """Prune MODEL by every method to every size, and judge each on rows held out.

    Takes what `prune` takes. The leaderboard has the most accurate first; * marks what no other
    line beats both in accuracy and in size. A budget leaves the lines that meet it.

    \b
    secateurs compare forest.skops val.csv --target churn -k 10 -k 50 --report page.html
    """  # noqa: D301
    check_files(files)
    targets.check((".csv",))
    spread = workers.scheduler is not None
    wanted = [
        Wanted(name, weight if name in WEIGHTED else None, groups, seed, workers.jobs, spread, oob)
        for name in methods or METHODS
    ]
    material = gather(files, trust, out)
    for keep in sizes:
        check_keep(keep, material.n_members, out)
    out.note(material.headline)
    if dry_run:
        out.dry_run(targets.paths)
        return
    with (
        cluster(workers, out) as client,
        out.progress("comparing") as report,
        _spread_by_joblib(client),
    ):
        found = _compare(material, wanted, sizes or _SIZES, report)
    board = limits.apply(found.leaderboard())
    with out.progress("writing"):
        _write(found, board, files, targets)
    for note in found.notes:
        out.note(note)
    lines = _plain_lines(board)
    wrote = [str(path) for path in targets.paths]
    out.result(
        {"leaderboard": lines, "best": found.best, "judged_on": found.judged_on, "wrote": wrote},
        as_text(lines),
    )
    if wrote:
        out.note(f"wrote {', '.join(wrote)}")


def _spread_by_joblib(client: Any) -> Any:
    """Let joblib send the groups of EPFD and DOMEP to a cluster."""
    if client is None:
        return nullcontext()
    import joblib

    return joblib.parallel_config("dask", n_jobs=-1)


def _compare(
    material: Material,
    wanted: Sequence[Wanted],
    sizes: Sequence[float],
    report: Report,
) -> Any:
    from secateurs.comparison import compare as compare_methods

    # By their names, methods come in the form that suits a comparison: long searches cut short.
    grouped = any(one.groups or one.spread for one in wanted)
    weights = [one.weight for one in wanted if one.weight is not None]
    return compare_methods(
        material.ensemble,
        material.X,
        material.y,
        [one.pruner() if grouped else one.method for one in wanted],
        sizes,
        X_test=material.X_test,
        y_test=material.y_test,
        diversity_weight=weights[0] if weights else 0.5,
        oob=wanted[0].oob,
        n_jobs=wanted[0].jobs,
        random_state=wanted[0].seed,
        callback=lambda done, total, _: report(done, total),
    )


def _write(found: Any, board: Any, files: Files, targets: Targets) -> None:

    def figures() -> Any:
        from secateurs.report import report_data

        return report_data(found, command=files.command)

    contents = targets.pages(figures)
    if targets.output is not None:
        contents[targets.output] = board.to_csv(index=False, lineterminator="\n").encode()
    write_all(contents)


def _plain_lines(board: Any) -> list[dict[str, Any]]:
    from secateurs.comparison import board_lines

    return board_lines(board)


def as_text(lines: list[dict[str, Any]]) -> str:
    """Set a leaderboard as a table."""
    headings = ("", "method", "members", "accuracy", "change", "95 %", "MB", "ms a row", "seconds")
    return columns(headings, [_cells(line) for line in lines], left=2)


def _cells(line: dict[str, Any]) -> tuple[str, ...]:
    size = line["bytes"]
    whole = line["method"] == "all members"
    return (
        "*" if line["pareto"] else "",
        line["method"],
        f"{line['members']:,}",
        f"{line['accuracy']:.4f}",
        "" if whole else signed(line["change"], 4),
        "" if whole else f"{signed(line['low'], 4)} … {signed(line['high'], 4)}",
        "" if size is None else f"{size / 1e6:.2f}",
        "" if line["ms"] is None else f"{line['ms']:.2f}",
        "" if whole else f"{line['seconds']:.2f}",
    )
