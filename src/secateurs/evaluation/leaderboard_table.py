"""The leaderboard of a comparison: a row with score and costs for each method and size."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from secateurs.evaluation.alternatives import FULL_ENSEMBLE, SINGLE_BEST
from secateurs.evaluation.before_after import main_held_out_score
from secateurs.evaluation.budget import pickle_bytes, with_member_weights
from secateurs.evaluation.latency import Latency
from secateurs.evaluation.score_curve import ScoreCurve
from secateurs.evaluation.selections import Selection
from secateurs.evaluation.size_curves import AccuracyCounts, Evaluation, SizeCurve
from secateurs.problem import Problem
from secateurs.text_format import to_json_value
from secateurs.typing import FloatArray, JsonObject


def leaderboard_table(evaluation: Evaluation, latency: Latency | None) -> pd.DataFrame:
    """Return a row for each method and size and for the full ensemble, the best first."""
    problem = evaluation.problem
    full = _full_ensemble_curve(evaluation)
    rows = [_leaderboard_row(problem, latency, FULL_ENSEMBLE, full, problem.n_members)]
    for name, curve in evaluation.curves.items():
        for size in [1] if name == SINGLE_BEST else evaluation.sizes:
            rows.append(_leaderboard_row(problem, latency, name, curve, size))
    cost, score = cost_column(problem), problem.scoring.name
    board = pd.DataFrame(rows)
    board["pareto"] = pareto_mask(board[cost], board[score])
    # Ties go to the cheaper row.
    order, ascending = [score, cost, "method"], [False, True, True]
    return board.sort_values(order, ascending=ascending, ignore_index=True)


def cost_column(problem: Problem) -> str:
    """Return the column of the leaderboard that measures cost."""
    return "members" if problem.has_only_predictions else "bytes"


def leaderboard_rows(board: pd.DataFrame) -> list[JsonObject]:
    """Return the rows of a leaderboard as JSON values, None for missing values."""
    rows: list[JsonObject] = to_json_value(board.to_dict("records"))
    return rows


def pareto_mask(costs: Iterable[float], scores: Iterable[float]) -> list[bool]:
    """Return which pairs are Pareto-optimal: no other pair is as good and as cheap or better."""
    pairs = list(zip(costs, scores, strict=True))
    return [
        not any(c <= cost and s >= score and (c, s) != (cost, score) for c, s in pairs)
        for cost, score in pairs
    ]


def _full_ensemble_curve(evaluation: Evaluation) -> SizeCurve:
    """Return a size curve with a single size, the full ensemble, from any of the curves."""
    problem, curve = evaluation.problem, next(iter(evaluation.curves.values()))
    n_members = problem.n_members
    members = list(range(n_members))
    full = SizeCurve(Selection(np.array([n_members]), members, seconds={n_members: 0.0}))
    if not problem.is_regression:
        counts, zero = curve.by_own_vote, np.zeros(1, dtype=np.int64)
        full.by_own_vote = AccuracyCounts(
            counts.n_samples, counts.n_right_full, zero + counts.n_right_full, zero, zero
        )
        full.accuracy = _full_score(curve.accuracy, full)
    full.main_score = _full_score(curve.main_score, full)
    return full


def _full_score(score: AccuracyCounts | ScoreCurve, full: SizeCurve) -> AccuracyCounts | ScoreCurve:
    return score.full_ensemble_curve() if isinstance(score, ScoreCurve) else full.by_own_vote


def _leaderboard_row(
    problem: Problem, latency: Latency | None, name: str, curve: SizeCurve, size: int
) -> JsonObject:
    selection, score = curve.selection, main_held_out_score(curve, size)
    members, index = selection.members_at(size), selection.size_index(size)
    row: JsonObject = {
        "method": name,
        "keep": size,
        "members": len(members),
        problem.scoring.name: score.after,
        "standard_error": float(curve.main_score.standard_error[index]),
        "change": float(curve.main_score.change[index]),
        "low": score.low,
        "high": score.high,
    }
    if problem.scoring.name != "accuracy" and not problem.is_regression:
        row["accuracy"] = float(curve.accuracy.values[index])
    costs = _model_costs(problem, latency, members, selection.weights.get(size))
    seconds = selection.seconds[max(selection.seconds) if selection.order else size]
    return row | costs | {"seconds": seconds}


def _model_costs(
    problem: Problem, latency: Latency | None, members: Sequence[int], weights: FloatArray | None
) -> JsonObject:
    """Return the bytes and milliseconds of a sub-ensemble; NaN for predictions."""
    if problem.has_only_predictions:
        return {"bytes": np.nan, "ms": np.nan}
    ensemble = with_member_weights(problem.ensemble, members, weights)
    seconds = np.nan if latency is None else latency.seconds_for(len(members))
    return {"bytes": pickle_bytes(ensemble, members), "ms": 1e3 * seconds}
