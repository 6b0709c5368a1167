"""``secateurs prune``: select members, and write the pruned model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
from secateurs.commands._refit_options import REFIT_OPTIONS, RefitCommandOptions
from secateurs.commands.console_output import Output, runnable_command
from secateurs.commands.parameter_types import METHOD_OR_AUTO
from secateurs.commands.shared_options import (
    DRY_RUN,
    FILES,
    InputFiles,
    TrustOptions,
    common_options,
    option,
    trust_options,
)
from secateurs.text_format import format_columns, format_count, format_signed, to_one_line

if TYPE_CHECKING:
    from secateurs.evaluation.metrics import PruningFigures
    from secateurs.problem import Problem
    from secateurs.problem.model_costs import BeforeAfter
    from secateurs.pruning import Pruning
    from secateurs.typing import JsonObject

_ENOUGH_TO_CHECK = 100  # samples that `export` requires
_CROSS_VALIDATED = ", cross-validated"  # after the name of a score, in JSON output too


@click.command()
@FILES
@option(
    "-p",
    "--pruner",
    type=METHOD_OR_AUTO,
    aliases=["-m", "--method"],
    help="Pruning method, see `secateurs methods`. auto uses the method that performed best in our "
    f"benchmark, unless another method is clearly better on DATA. Default: {AUTO}.",
)
@SIZE_OPTIONS
@METHOD_OPTIONS
@REFIT_OPTIONS
@option(
    "--weights/--no-weights",
    default=None,
    help="Compute weights for the kept members, or omit them. Default: depends on the method.",
)
@option(
    "--exchangeable",
    is_flag=True,
    help="The members are samples of one model, so that any k are equally good: keep the fewest "
    "whose expected accuracy is within --tolerance.",
)
@output_options(
    "Write the pruned model to this .skops, .joblib or .pkl file; for --predictions, the blend of "
    "the kept members to a .json file, for `secateurs predict`. Default: MODEL-pruned.skops."
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
    refitting: RefitCommandOptions,
    weights: bool | None,
    exchangeable: bool,
    targets: OutputFiles,
    trust: TrustOptions,
    dry_run: bool,
) -> None:
    """Prune an ensemble, and write the pruned model.

    MODEL is a fitted ensemble in a .skops file (or a trusted pickle). DATA is the validation set: a
    table (.csv, .csv.gz, .parquet) of samples that MODEL was not trained on, with their true labels
    (or values, for regressors). The members' predictions can replace both. The pruned model is a
    plain scikit-learn model of the same class.

    Pass the number of members (--keep) or a budget. --tolerance keeps the fewest members that meet
    it, --max-bytes and --max-latency keep as many as they allow. With --cost and --max-cost, the
    best panel within the cost is kept: of all panels if there are up to 16 members.

    \b
    secateurs prune forest.skops val.csv --target churn --test test.csv -k 50
    secateurs prune --predictions votes.csv --target truth -k 10
    """  # noqa: D301
    pruner = pruner or method.default_pruner
    method.check_options(pruner)
    size.check_options()
    refitting.check_options(files, size.keep is not None, "max_bytes" in size.given_limits)
    if size.max_group_loss is not None and files.sensitive_features is None:
        raise click.UsageError("--max-group-loss needs --sensitive-features COL.")
    check_input_files(files)
    targets = targets.with_default_output(None if files.predictions else files.model)
    targets.check_paths(MODELS if files.predictions is None else (".json",))
    inputs = read_inputs(files, trust, out, method.main_scoring)
    if not refitting.refit:  # all members may be kept and corrected
        check_keep_option(size.keep, inputs.ensemble.n_members, out)
    words = [*files.prune_command, *trust.as_arguments, *size.cost_arguments]
    size = size.with_costs(inputs.ensemble.member_names)
    out.print_note(inputs.summary_line)
    for note in inputs.ensemble.notes:
        out.print_note(note[0].lower() + note[1:].rstrip("."))
    for name, file in files.file_hashes.items():
        out.print_detail(f"{name}: {file['file']}, SHA-256 {file['sha256']}")
    if dry_run:
        out.print_dry_run(targets.output_paths)
        return
    with out.show_progress("collecting predictions"):
        problem = inputs.to_problem(method, size.cost)
    budgets = size.given_limits if refitting.max_nodes is not None else size.budget_parameters
    parameters = budgets | refitting.prune_parameters(inputs.ensemble, files)
    keep = size.keep if refitting.max_nodes is not None else size.keep_parameter
    pruning = _select_members(
        problem,
        pruner,
        method,
        {"keep": keep, "weights": weights, "exchangeable": exchangeable, **parameters},
        out,
    )
    if pruning.by_cost is not None and size.max_cost is None:  # the total that was found
        words += ["--max-cost", f"{pruning.by_cost.total:.15g}"]
    n_kept = len(pruning.member_indices)
    score = problem.scoring.label
    is_refitted = pruning.problem.refitted is not None
    if not is_refitted and pruning.weights is None:  # otherwise all members are a result, too
        size.check_result(
            n_kept, problem.n_members, score, pruning.least_tolerance, pruning.size_reason
        )
    if pruning.reason:
        out.print_note(f"method: {pruning.reason}")
    kept = f"kept {format_count(n_kept, 'member')}{_size_reason(pruning, size, refitting, score)}"
    out.print_note(kept if pruning.by_cost else f"{_method_label(pruning)} {kept}")
    out.print_detail(f"kept{_order_note(pruning)}: {', '.join(_names_with_weights(pruning))}")
    with out.show_progress("measuring"):
        pruned = pruning.problem  # has the refitted members and weights, but not the samples
        problem = dataclasses.replace(
            problem, refitted=pruned.refitted, member_weights=pruned.member_weights
        )
        measured = _measure_figures(problem, pruning, method.random_state)
    with out.show_progress("writing"):
        _write_outputs(pruning, inputs, files, targets, words, slim=refitting.slim)
    _print_remarks(problem, pruning, measured, out)
    data = _result_data(pruning, measured, targets)
    out.print_result(data, _result_text(pruning, measured))
    if targets.output_paths:
        out.print_note(f"wrote {', '.join(map(str, targets.output_paths))}")
    _suggest_export(out, files, targets, inputs)


def _size_reason(
    pruning: Pruning, size: SizeOptions, refitting: RefitCommandOptions, score: str
) -> str:
    """Return the reason for the number of kept members, and whether they have new values."""
    n_nodes = pruning.provenance()["n_nodes"]
    if n_nodes is not None:
        of = "its" if len(pruning.member_indices) == 1 else "their"
        decision = f" ({pruning.decided_by})" if pruning.decided_by else ""
        return (
            f", pruned {of} branches to {format_count(n_nodes, 'node')}, and refitted the leaves"
            f"{decision}"
        )
    if pruning.by_cost:
        reason = f": {pruning.by_cost.remark}"
    elif refitting.max_nodes is not None:
        reason = f": at most {format_count(refitting.max_nodes, 'node')}"
    else:
        reason = size.describe_reason(score, pruning.decided_by, pruning.size_reason)
    if pruning.problem.refitted is not None:
        them = "it" if len(pruning.member_indices) == 1 else "them"
        return f" and refitted {them}{reason}"
    return f" with weights{reason}" if pruning.weights is not None else reason


def _select_members(
    problem: Problem, pruner: str, method: MethodOptions, parameters: Mapping[str, Any], out: Output
) -> Pruning:
    """Prune, on the cluster of ``--scheduler`` if it is set."""
    from secateurs import prune as prune_ensemble

    with (
        dask_client(method.executor, method.n_jobs, out) as client,
        out.show_progress(f"selecting members by {pruner}"),
    ):
        return prune_ensemble(
            problem,
            pruner=method.build_pruner(pruner),
            **parameters,
            random_state=method.random_state,
            executor=client,
        )


def _measure_figures(problem: Problem, pruning: Pruning, seed: int) -> PruningFigures:
    """Return the figures of the test set, or cross-validated figures without a test set."""
    from sklearn.utils import check_random_state

    from secateurs.evaluation.before_after import measure_on_test
    from secateurs.evaluation.held_out_figures import cross_validate_pruning

    pruner = pruning.pruner
    if problem.has_test_set:
        return measure_on_test(problem, pruner, check_random_state(seed), files=True)
    return cross_validate_pruning(problem, pruner, pruning.by_cost, files=True)


def _measured_on(measured: PruningFigures) -> str:
    """Return the samples that the figures come from, with remarks, in one line."""
    sentences = [measured.source_description, *measured.remarks]
    return ". ".join(sentence.rstrip(".") for sentence in sentences)


def _print_remarks(
    problem: Problem, pruning: Pruning, measured: PruningFigures, out: Output
) -> None:
    """Print where the figures come from, simple baselines, and whether tolerances hold."""
    from secateurs.evaluation.guards import describe_precision, find_alarms, warn_alarms
    from secateurs.evaluation.metrics import describe_baselines, describe_tolerances

    out.print_note(f"measured on: {_measured_on(measured)}")
    for baseline in describe_baselines(problem.scoring.label, measured.baseline_scores):
        out.print_note(baseline[0].lower() + baseline[1:].rstrip("."))
    if problem.has_test_set:
        for verdict in describe_tolerances(problem, measured.figures, pruning.tolerance):
            out.print_note(f"on the test set {verdict}")
    for remark in describe_precision(problem, measured, pruning.tolerance):
        out.print_note(remark[0].lower() + remark[1:].rstrip("."))
    raised = []
    if pruning.is_size_found:
        raised = find_alarms(problem, measured, pruning.tolerance, only_raised=True)
        warn_alarms(raised)
    for note in find_alarms(problem, measured, pruning.tolerance):
        if note not in raised:
            out.print_note(note[0].lower() + note[1:].rstrip("."))


def _method_label(pruning: Pruning) -> str:
    from secateurs.pruners.selector import pruner_label

    return pruner_label(pruning.pruner)


def _write_outputs(
    pruning: Pruning,
    inputs: PruningInputs,
    files: InputFiles,
    targets: OutputFiles,
    command: list[str],
    *,
    slim: bool,
) -> None:
    """Write the pruned model, or the selection, and the reports: all files or none."""
    from secateurs.persistence import save

    data: JsonObject = {"X": inputs.X, "X_test": inputs.X_test, "y_test": inputs.y_test}
    data |= {"sample_weight": inputs.sample_weight_test}
    data |= {"sensitive_features": inputs.sensitive_features_test}
    contents = targets.render_pages(pruning, **data, command=command, source=files.source_name)
    provenance = pruning.provenance() | {"inputs": files.file_hashes}
    if targets.output is not None and inputs.X is None:
        contents[targets.output] = pruning.estimator.to_json(provenance).encode()
    elif targets.output is not None:
        save(
            pruning.estimator,
            targets.output,
            provenance=provenance,
            force=targets.force,
            beside=contents,
            slim=slim,
        )
        return
    write_all_files(contents, targets.force)


def _result_data(pruning: Pruning, measured: PruningFigures, targets: OutputFiles) -> JsonObject:
    """Return a pruning and its figures as values for JSON."""
    budget = {"budget": pruning.by_cost.provenance()} if pruning.by_cost else {}
    return budget | {
        "method": _method_label(pruning),
        "members": pruning.member_indices.tolist(),
        "names": pruning.member_names,
        "weights": None if pruning.weights is None else pruning.weights.tolist(),
        "n_members_before": pruning.ensemble.n_members,
        "measured_on": _measured_on(measured),
        "figures": {
            name: {"full": figure.before, "pruned": figure.after}
            | ({"interval": [figure.low, figure.high]} if math.isfinite(figure.low) else {})
            for name, figure in _named_figures(measured).items()
        },
        "baselines": dict(measured.baseline_scores),
        "decided_by": pruning.decided_by or None,
        "size_reason": pruning.size_reason or None,
        "wrote": [str(path) for path in targets.output_paths],
    }


def _named_figures(measured: PruningFigures) -> dict[str, BeforeAfter]:
    """Return the figures by name; names of cross-validated scores say so."""
    from secateurs.evaluation.metrics import METRICS

    suffix = _CROSS_VALIDATED if measured.fold_description else ""
    return {
        name if name in METRICS else f"{name}{suffix}": figure
        for name, figure in measured.figures.items()
    }


def _result_text(pruning: Pruning, measured: PruningFigures) -> str:
    """Return the figures as a text table; for predictions, also the names of the kept members."""
    rows = [_figure_cells(name, figure) for name, figure in _named_figures(measured).items()]
    table = format_columns(("", "full", "pruned", "change", ""), rows)
    if not pruning.problem.has_only_predictions:
        return table
    names = to_one_line(", ".join(_names_with_weights(pruning)))
    return f"{table}\nkept{_order_note(pruning)}: {names}"


def _order_note(pruning: Pruning) -> str:
    """Return what is known of the order of the kept members; nothing for panels within a cost."""
    return "" if pruning.by_cost else ", in the order of selection"


def _names_with_weights(pruning: Pruning) -> list[str]:
    """Return the names of the kept members, with their weights if the members have weights."""
    if pruning.weights is None:
        return pruning.member_names
    pairs = zip(pruning.member_names, pruning.weights, strict=True)
    return [f"{name} ({weight:.3g})" for name, weight in pairs]


def _figure_cells(name: str, figure: BeforeAfter) -> tuple[str, ...]:
    """Return the cells of a figure: label, before, after, change and interval or remark."""
    from secateurs.evaluation.metrics import metric_named

    metric, (before, after, low, high) = metric_named(name), figure[:4]
    values = [metric.format_value(value, unit=True) for value in (before, after)]
    remark = ""
    if metric.kind == "size" and math.isnan(before):
        remark = "(full: too large or not possible)"
    elif math.isfinite(low):
        remark = f"(95 % {format_signed(low, 4)} … {format_signed(high, 4)})"
    label = metric.description or name
    return (label, *values, metric.format_change(before, after), remark)


def _suggest_export(
    out: Output, files: InputFiles, targets: OutputFiles, inputs: PruningInputs
) -> None:
    use_test = inputs.y_test is not None and len(inputs.y_test) >= _ENOUGH_TO_CHECK
    is_enough = use_test or len(inputs.y) >= _ENOUGH_TO_CHECK
    if inputs.X is None and targets.output is not None:
        out.print_note(f"next: {runnable_command(['predict', targets.output])} TEST -o FILE")
    if is_enough and targets.output is not None and targets.output.suffix == ".skops":
        words = ["export", targets.output, "-o", targets.output.with_suffix(".onnx")]
        words += ["--check", files.test if use_test else files.data, "--target", files.target]
        for name in files.excluded_columns():
            words += ["--ignore", name]
        out.print_note(f"next: {runnable_command(words)}")
