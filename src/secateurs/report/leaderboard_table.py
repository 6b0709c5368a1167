"""The leaderboard of a comparison: a row with scores and costs for each method and size."""

import pickle
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from secateurs.evaluation.alternatives import FULL_ENSEMBLE, SINGLE_BEST
from secateurs.evaluation.budget import with_member_weights
from secateurs.evaluation.fresh_forests import FRESH, FreshForests
from secateurs.evaluation.metrics import constant_name
from secateurs.evaluation.score_table import Evaluation, SizeCurve, constant_scores, score_row
from secateurs.problem import Problem
from secateurs.problem.latency import Latency
from secateurs.problem.model_costs import pickle_bytes
from secateurs.text_format import to_json_value
from secateurs.typing import FloatArray, JsonObject


def leaderboard_table(
    evaluation: Evaluation, latency: Latency | None, fresh: FreshForests | None = None
) -> pd.DataFrame:
    """Return a row for each method and size and for the full ensemble, the best first."""
    problem = evaluation.problem
    full = next(iter(evaluation.curves.values())).at_full_ensemble(problem.n_members)
    rows = [_leaderboard_row(problem, latency, FULL_ENSEMBLE, full, problem.n_members)]
    rows.append(_constant_row(evaluation))
    for name, curve in evaluation.curves.items():
        for size in [1] if name == SINGLE_BEST else evaluation.sizes:
            rows.append(_leaderboard_row(problem, latency, name, curve, size))
    if fresh is not None:
        for size, forest in fresh.forests.items():
            row = _leaderboard_row(problem, latency, FRESH, fresh.curve, size)
            rows.append(row | {"bytes": len(pickle.dumps(forest.model))})
    cost, score = cost_column(problem), problem.scoring.key
    board = pd.DataFrame(rows)
    board["pareto"] = pareto_mask(board[cost].where(board["members"] > 0), board[score])
    # Ties go to the cheaper row.
    order, ascending = [score, cost, "method"], [False, True, True]
    return board.sort_values(order, ascending=ascending, ignore_index=True)


def _constant_row(evaluation: Evaluation) -> JsonObject:
    """Return the row of the most frequent class, the class frequencies, or the mean."""
    problem = evaluation.problem
    scores = constant_scores(evaluation.split)
    main = score_row(scores[problem.scoring.key, None], 0)
    row: JsonObject = {"method": constant_name(problem.scoring), "keep": 0, "members": 0}
    row |= {problem.scoring.key: main.pop("value")} | main
    for scoring in problem.other_scorings:
        row[scoring.key] = float(scores[scoring.key, None].values[0])
    if problem.cost is not None:
        row["cost"] = 0.0
    return row | {"bytes": np.nan, "ms": np.nan, "seconds": 0.0}


def cost_column(problem: Problem) -> str:
    """Return the column of the leaderboard that measures cost."""
    if problem.cost is not None:
        return "cost"
    return "members" if problem.has_only_predictions else "bytes"


def leaderboard_rows(board: pd.DataFrame) -> list[JsonObject]:
    """Return the rows of a leaderboard as JSON values, None for missing values."""
    rows: list[JsonObject] = to_json_value(board.to_dict("records"))
    return rows


def pareto_mask(costs: Iterable[float], scores: Iterable[float]) -> list[bool]:
    """Return which pairs are Pareto-optimal: no other pair is as good and as cheap or better.

    A pair without a cost (NaN) is not.
    """
    pairs = list(zip(costs, scores, strict=True))
    return [
        cost >= 0  # not missing
        and not any(c <= cost and s >= score and (c, s) != (cost, score) for c, s in pairs)
        for cost, score in pairs
    ]


def _leaderboard_row(
    problem: Problem, latency: Latency | None, name: str, curve: SizeCurve, size: int
) -> JsonObject:
    selection = curve.selection
    members, index = selection.members_at(size), selection.size_index(size)
    row: JsonObject = {"method": name, "keep": size, "members": len(members)}
    if problem.shows_coverage:
        row["coverage"] = problem.coverage(members, problem.has_test_set)
    score = score_row(curve.main_score, index)
    row |= {problem.scoring.key: score.pop("value")} | score
    if problem.scoring.name != "accuracy" and not problem.is_regression:
        row["accuracy"] = float(curve.accuracy.values[index])
    for scoring in problem.other_scorings:
        row[scoring.key] = float(curve.score(scoring.key).values[index])
    if curve.subgroups:
        values = [
            float(curve.scores[problem.scoring.key, subgroup].values[index])
            for subgroup in curve.subgroups
        ]
        row |= {
            "worst_subgroup": np.nanmin(values),
            "subgroup_gap": np.nanmax(values) - np.nanmin(values),
        }
    if problem.cost is not None:
        row["cost"] = float(problem.cost[sorted(members)].sum())
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
