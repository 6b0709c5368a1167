"""``secateurs prune``: choose members, write the pruned model."""

import dataclasses
import math
import shlex
from collections.abc import Mapping
from typing import Any

import click

from secateurs._methods import AUTO
from secateurs.commands._output_files import MODELS, OutputFiles, output_options, write_all_files
from secateurs.commands._pruning_inputs import PruningInputs, check_input_files, read_inputs
from secateurs.commands._pruning_options import (
    METHOD_OPTIONS,
    SIZE_OPTIONS,
    MethodOptions,
    SizeOptions,
    check_keep_option,
    dask_client,
)
from secateurs.commands.console_output import Output, to_json
from secateurs.commands.shared_options import (
    DRY_RUN,
    FILES,
    METHOD_OR_AUTO,
    InputFiles,
    TrustOptions,
    common_options,
    option,
    trust_options,
)
from secateurs.text_format import format_columns, format_count, format_signed, to_one_line

_ENOUGH_TO_CHECK = 100  # rows that `export` asks for
_CROSS_FITTED = ", cross-fitted"
_COSTS = {
    "megabytes": "file (pickle)",
    "megabytes as .skops": "file (.skops)",
    "megabytes as .onnx": "file (.onnx)",
    "ms for 1 row": "predict 1 row",
    "ms for 1000 rows": "predict 1,000 rows",
}

Figures = Mapping[str, Any]  # of str to `secateurs.evaluation.before_after.Figure`


@click.command()
@FILES
@option(
    "-p",
    "--pruner",
    type=METHOD_OR_AUTO,
    aliases=["-m", "--method"],
    help="Pruning method; see `secateurs methods`. auto takes the one that did best on many data "
    f"sets, unless another one is clearly better on these rows. Default: {AUTO}.",
)
@SIZE_OPTIONS
@METHOD_OPTIONS
@option(
    "--refit",
    is_flag=True,
    help="Fit the leaves of the kept trees so that they imitate the whole ensemble.",
)
@option(
    "--weights/--no-weights",
    default=None,
    help="Weigh the kept members, or not. Default: as the method does.",
)
@output_options(
    "Write the pruned model to this .skops, .joblib or .pkl file; for predictions, a .json file. "
    "Default: MODEL-pruned.skops."
)
@trust_options()
@DRY_RUN
@common_options
def prune(
    *,
    out: Output,
    files: InputFiles,
    pruner: str | None,
    size: SizeOptions,
    method: MethodOptions,
    refit: bool,
    weights: bool | None,
    targets: OutputFiles,
    trust: TrustOptions,
    dry_run: bool,
) -> None:
    """Prune an ensemble, and write the smaller model.

    MODEL is a fitted ensemble in a .skops file (or a trusted pickle). DATA is a table (.csv,
    .csv.gz, .parquet) of rows that MODEL was not trained on, with their true labels, or numbers
    for regressors. Predictions of the members can replace both. The pruned model is a plain
    scikit-learn model of the same class.

    Give the number of members (--keep) or a budget: the fewest members that meet --tolerance, or
    the most that meet --max-bytes and --max-latency. With --cost and --max-cost, the members that
    do best for that total.

    \b
    secateurs prune forest.skops val.csv --target churn --test test.csv -k 50
    secateurs prune --predictions votes.csv --target truth -k 10
    """  # noqa: D301
    pruner = pruner or method.default_pruner
    method.check_options(pruner)
    size.check_options()
    check_input_files(files)
    targets = targets.with_default_output(None if files.predictions else files.model)
    targets.check_paths(MODELS if files.predictions is None else (".json",))
    inputs = read_inputs(files, trust, out, method.scoring)
    check_keep_option(size.keep, inputs.ensemble.n_members, out)
    words = [*files.prune_command, *trust.as_arguments, *size.cost_arguments]
    size = size.with_costs(inputs.ensemble.member_names)
    out.print_note(inputs.summary_line)
    for name, file in files.file_hashes.items():
        out.print_detail(f"{name}: {file['file']}, SHA-256 {file['sha256']}")
    if dry_run:
        out.print_dry_run(targets.output_paths)
        return
    with out.show_progress("collecting predictions"):
        problem = inputs.to_problem(method)
    more = {"refit": refit, "weights": weights}
    pruning = _select_members(problem, pruner, size, method, more, out)
    n_kept = len(pruning.member_indices)
    score = problem.scoring.label
    size.check_result(n_kept, problem.n_members, score, pruning.least_tolerance)
    reason = f": {pruning.by_cost.remark}" if pruning.by_cost else size.describe_reason(score)
    again = ", and refitted them" if refit else ", with weights" * (pruning.weights is not None)
    if pruning.reason:
        out.print_note(f"method: {pruning.reason}")
    out.print_note(f"{_method_label(pruning)} kept {format_count(n_kept, 'member')}{reason}{again}")
    out.print_detail(f"in the order of choice: {', '.join(_names_with_weights(pruning))}")
    with out.show_progress("measuring"):
        served = pruning.problem
        problem = dataclasses.replace(
            problem, refitted=served.refitted, member_weights=served.member_weights
        )
        rows, figures = _measure_figures(problem, pruning, method.random_state)
    with out.show_progress("writing"):
        _write_outputs(pruning, inputs, files, targets, words)
    out.print_note(f"measured on {rows}")
    if problem.has_test_set and pruning.tolerance is not None:
        out.print_note(
            f"on these rows {_describe_tolerance(figures[score], pruning.tolerance, problem.scoring)}"
        )
    out.print_result(_result_data(pruning, rows, figures, targets), _result_text(pruning, figures))
    if targets.output_paths:
        out.print_note(f"wrote {', '.join(map(str, targets.output_paths))}")
    _suggest_export(out, files, targets, inputs)


def _select_members(  # noqa: PLR0917
    problem: Any,
    pruner: str,
    size: SizeOptions,
    method: MethodOptions,
    more: dict[str, Any],
    out: Output,
) -> Any:
    """Prune, on a cluster if there is one."""
    from secateurs import prune as prune_ensemble

    with (
        dask_client(method.executor, method.n_jobs, out) as client,
        out.show_progress(f"choosing by {pruner}"),
    ):
        return prune_ensemble(
            problem,
            pruner=method.build_pruner(pruner),
            keep=size.keep,
            **size.budget_parameters,
            **more,
            random_state=method.random_state,
            executor=client,
        )


def _measure_figures(problem: Any, pruning: Any, seed: int) -> tuple[str, Figures]:
    """Return what was measured on, and the figures: on test rows if given, else cross-fitted."""
    from sklearn.utils import check_random_state

    from secateurs.evaluation.before_after import measure_on_test
    from secateurs.evaluation.cross_validated_scores import (
        cross_validate_pruning,
        sample_weight_remark,
    )

    pruner = pruning.pruner
    if problem.has_test_set:
        rows, figures = measure_on_test(problem, pruner, check_random_state(seed), files=True)
        told = [rows, *(remark.rstrip(".") for remark in sample_weight_remark(problem, pruner))]
        return ". ".join(told), figures
    found = cross_validate_pruning(problem, pruner, pruning.by_cost, files=True)
    figures = found.figures
    if found.fold_description:
        figures = {
            name if name == "members" or name in _COSTS else f"{name}{_CROSS_FITTED}": figure
            for name, figure in figures.items()
        }
    told = [found.source_description, *(remark.rstrip(".") for remark in found.remarks)]
    return ". ".join(told), figures


def _describe_tolerance(figure: Any, tolerance: float, scoring: Any) -> str:
    from secateurs.evaluation.before_after import describe_tolerance

    return describe_tolerance(figure, tolerance, scoring)


def _method_label(pruning: Any) -> str:
    from secateurs.pruners.pruner_label import pruner_label

    return pruner_label(pruning.pruner)


def _write_outputs(
    pruning: Any, inputs: PruningInputs, files: InputFiles, targets: OutputFiles, command: list[str]
) -> None:
    """Write what was asked for, by this command: all files, or none."""
    from secateurs.persistence import save

    rows = {"X_test": inputs.X_test, "y_test": inputs.y_test, "X": inputs.X}
    rows["sample_weight"] = inputs.sample_weight_test
    contents = targets.render_pages(pruning, **rows, command=command, source=files.source_name)
    provenance = pruning.provenance() | {"inputs": files.file_hashes}
    if targets.output is not None and inputs.X is None:
        contents[targets.output] = (to_json(provenance) + "\n").encode()
    elif targets.output is not None:
        save(
            pruning.estimator,
            targets.output,
            provenance=provenance,
            force=targets.force,
            beside=contents,
        )
        return
    write_all_files(contents, targets.force)


def _result_data(pruning: Any, rows: str, figures: Figures, targets: OutputFiles) -> dict[str, Any]:
    """Return a pruning and its figures as plain values."""
    budget = {"budget": pruning.by_cost.provenance()} if pruning.by_cost else {}
    return budget | {
        "method": _method_label(pruning),
        "members": pruning.member_indices.tolist(),
        "names": pruning.member_names,
        "weights": None if pruning.weights is None else pruning.weights.tolist(),
        "n_members_before": pruning.ensemble.n_members,
        "measured_on": rows,
        "figures": {
            name: {"full": figure.before, "pruned": figure.after}
            | ({"interval": [figure.low, figure.high]} if math.isfinite(figure.low) else {})
            for name, figure in figures.items()
        },
        "wrote": [str(path) for path in targets.output_paths],
    }


def _result_text(pruning: Any, figures: Figures) -> str:
    """Return the figures as a table; for predictions, also the names of the members."""
    rows = [_figure_cells(name, figure) for name, figure in figures.items()]
    table = format_columns(("", "full", "pruned", "change", ""), rows)
    if hasattr(pruning.estimator, "predict"):
        return table
    return f"{table}\nkept, in the order of choice: {to_one_line(', '.join(_names_with_weights(pruning)))}"


def _names_with_weights(pruning: Any) -> list[str]:
    """Return the names of the kept members, with their weights if they have any."""
    if pruning.weights is None:
        return pruning.member_names
    pairs = zip(pruning.member_names, pruning.weights, strict=True)
    return [f"{name} ({weight:.3g})" for name, weight in pairs]


def _figure_cells(name: str, figure: Any) -> tuple[str, ...]:
    """Return a figure as text: before, after, the change, and what to know about it."""
    before, after, low, high = figure[:4]
    label = _COSTS.get(name, name)
    change = f"{format_signed(100 * (after / before - 1), 0)} %" if before else ""
    if name == "members":
        return (label, f"{before:,.0f}", f"{after:,.0f}", change, "")
    if name.startswith("megabytes"):
        if math.isnan(before):
            return (label, "", f"{after:.2f} MB", "", "(full: too large, or not possible)")
        return (label, f"{before:.2f} MB", f"{after:.2f} MB", change, "")
    if name.startswith("ms"):
        times = f"×{before / after:.1f}" if after else ""
        return (label, f"{before:.2f} ms", f"{after:.2f} ms", times, "")
    interval = (
        f"(95 % {format_signed(low, 4)} … {format_signed(high, 4)})" if math.isfinite(low) else ""
    )
    return (label, f"{before:.4f}", f"{after:.4f}", format_signed(after - before, 4), interval)


def _suggest_export(
    out: Output, files: InputFiles, targets: OutputFiles, inputs: PruningInputs
) -> None:
    tested = inputs.y_test is not None and len(inputs.y_test) >= _ENOUGH_TO_CHECK
    enough = tested or len(inputs.y) >= _ENOUGH_TO_CHECK
    if enough and targets.output is not None and targets.output.suffix == ".skops":
        words = ["secateurs", "export", targets.output, "-o", targets.output.with_suffix(".onnx")]
        words += ["--check", files.test if tested else files.data, "--target", files.target]
        for name in files.excluded_columns:
            words += ["--ignore", name]
        out.print_note(f"next: {shlex.join(map(str, words))}")
