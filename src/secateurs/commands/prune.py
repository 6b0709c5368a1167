"""``secateurs prune``: choose members, write the small model."""

import shlex
from typing import Any

import click

from secateurs.commands import _figures
from secateurs.commands._material import Material, check_files, gather
from secateurs.commands._method import Wanted, cluster
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
from secateurs.commands._output import Output, Report, to_json
from secateurs.commands._size import SIZE_OPTIONS, Size, check_keep
from secateurs.commands._targets import MODELS, Targets, write_all
from secateurs.commands._types import METHOD_OR_AUTO

_ENOUGH_TO_CHECK = 100  # rows that `export` asks for

TARGETS = bundled(
    "targets",
    Targets,
    click.option(
        "-o",
        "--output",
        type=PATH,
        help="Where to: .skops, .joblib or .pkl; of predictions .json. "
        "Default: MODEL-pruned.skops.",
    ),
    REPORT,
    RUN,
    FORCE,
)


@click.command()
@FILES
@click.option(
    "-m", "--method", type=METHOD_OR_AUTO, default="comep", show_default=True, help="See `methods`."
)
@SIZE_OPTIONS
@WEIGHT_OPTION
@GROUPS
@click.option("--oob", is_flag=True, help="DATA are the training rows: use out-of-bag votes.")
@TARGETS
@SEED
@WORKERS
@TRUST
@DRY_RUN
@common
def prune(
    *,
    out: Output,
    files: Files,
    method: str,
    size: Size,
    weight: float | str | None,
    groups: int | None,
    oob: bool,
    targets: Targets,
    seed: int,
    workers: Workers,
    trust: Trust,
    dry_run: bool,
) -> None:
    """Keep the few members of MODEL that together predict best, chosen on the rows of DATA.

    MODEL is a fitted ensemble as .skops (or, trusted, a pickle); DATA a table (.csv, .csv.gz,
    .parquet) of rows that MODEL was not trained on, with their true labels. Predictions in a table
    will do instead of both. Writes a plain scikit-learn model of the same class.

    \b
    secateurs prune forest.skops val.csv --target churn --test test.csv -k 50
    secateurs prune --predictions votes.csv --target truth -k 10
    """  # noqa: D301
    spread = workers.scheduler is not None
    wanted = Wanted(method, weight, groups, seed, workers.jobs, spread, oob)
    wanted.check()
    size.check()
    check_files(files)
    targets = targets.named_for(None if files.predictions else files.model)
    targets.check(MODELS if files.predictions is None else (".json",))
    material = gather(files, trust, out)
    check_keep(size.keep, material.n_members, out)
    out.note(material.headline)
    for name, file in material.inputs.items():
        out.detail(f"{name}: {file['file']}, SHA-256 {file['sha256']}")
    if dry_run:
        out.dry_run(targets.paths)
        return
    with cluster(workers, out) as client, out.progress(f"choosing by {method}") as report:
        pruning = _choose(material, wanted, size, client, report)
    n_kept = len(pruning.member_indices)
    size.check_result(n_kept, material.n_members)
    out.note(f"{_figures.method_of(pruning)} kept {n_kept:,} members{size.reason}")
    out.detail(f"in the order of choice: {', '.join(pruning.member_names)}")
    with out.progress("measuring"):
        figures = _figures.of_pruning(pruning, material, seed)
    with out.progress("writing"):
        _write(pruning, material, files, targets, trust)
    wrote = [str(path) for path in targets.paths]
    out.note(f"measured on {figures.rows}")
    out.result(
        _figures.as_data(pruning, figures) | {"wrote": wrote}, _figures.as_text(pruning, figures)
    )
    _say_next(out, files, targets, material)


def _choose(material: Material, wanted: Wanted, size: Size, client: Any, report: Report) -> Any:
    """Prune, on a cluster if there is one."""
    from secateurs import prune as prune_ensemble

    return prune_ensemble(
        material.ensemble,
        material.X,
        material.y,
        wanted.pruner(),
        size.keep,
        **size.budget,
        oob=wanted.oob,
        n_jobs=wanted.jobs,
        random_state=wanted.seed,
        executor=client,
        callback=lambda done, total, _: report(done, total),
    )


def _write(pruning: Any, material: Material, files: Files, targets: Targets, trust: Trust) -> None:
    """Write what was asked for; page and figures are made before anything is written."""
    from secateurs.persistence._models import save

    def figures() -> Any:
        from secateurs.report import report_data

        rows = (material.X_test, material.y_test)
        return report_data(pruning, *rows, X=material.X, command=files.command)

    contents = targets.pages(figures)
    provenance = pruning.provenance() | {"inputs": material.inputs}
    if targets.output is not None and material.X is None:
        contents[targets.output] = (to_json(provenance) + "\n").encode()
    elif targets.output is not None:
        save(
            pruning.estimator,
            targets.output,
            provenance=provenance,
            force=targets.force,
            trust_types=trust.trust_types,
        )
    write_all(contents)


def _say_next(out: Output, files: Files, targets: Targets, material: Material) -> None:
    if targets.paths:
        out.note(f"wrote {', '.join(map(str, targets.paths))}")
    tested = material.y_test is not None and len(material.y_test) >= _ENOUGH_TO_CHECK
    if targets.output is None or not (tested or material.n_rows >= _ENOUGH_TO_CHECK):
        return
    if targets.output.suffix == ".skops":
        words = ["secateurs", "export", str(targets.output)]
        words += ["-o", str(targets.output.with_suffix(".onnx"))]
        words += ["--check", str(files.test if tested else files.data)]
        words += ["--target", str(files.target)]
        for name in files.ignore:
            words += ["--ignore", name]
        out.note(f"next: {shlex.join(words)}")
