"""Objective and accuracy: correlations, and the claim on them."""

import itertools

import numpy as np
import pandas as pd
import pytest
from made_up_results import (
    claims_of,
    combinations,
    frame_of,
    judged,
    pictures_of,
    plan_of,
    row_of,
    small,
)
from scipy import stats

from secateurs.paper._figure_objective import judge_objective, objective_correlations


def test_correlation_within_one_fold_is_pearsons():
    plan = small("figure-objective", folds=(0,))
    for found in objective_correlations(plan, frame_of(plan, combinations)):
        assert len(found.folds[0]) == {3: 56, 4: 70}[found.combination_size]
        for column in (1, 2):
            test = stats.pearsonr(found.folds[0][:, 0], found.folds[0][:, column])
            assert found.within_fold_correlation(column) == pytest.approx(
                (test.statistic, test.pvalue)
            )
            assert found.correlation_by_fold(column) == pytest.approx([test.statistic])


def test_correlation_over_folds_leaves_differences_between_folds_aside():
    # the t-test of a regression on the objective and a constant for each fold
    plan = small("figure-objective", folds=(0, 1, 2))
    found = objective_correlations(plan, frame_of(plan, lambda cell: combinations(cell, 0.05)))[0]
    points = np.vstack(found.folds)
    fold = np.repeat(np.eye(3), [len(part) for part in found.folds], axis=0)
    design = np.column_stack([points[:, 0], fold])
    slope, residual = np.linalg.lstsq(design, points[:, 2])[:2]
    freedom = len(points) - 4
    error = np.sqrt(residual[0] / freedom * np.linalg.inv(design.T @ design)[0, 0])
    t = slope[0] / error
    r, p_value = found.within_fold_correlation()
    assert p_value == pytest.approx(2 * stats.t.sf(abs(t), freedom))
    assert r == pytest.approx(t / np.sqrt(t * t + freedom))


def test_an_objective_that_never_changes_has_no_correlation():
    plan = small("figure-objective", folds=(0,))
    flat = frame_of(
        plan, lambda cell: {"size": cell.keep, "points": [[1.0, 0.5, 0.5], [1.0, 0.6, 0.6]]}
    )
    assert np.isnan(objective_correlations(plan, flat)[0].within_fold_correlation()).all()


@pytest.mark.parametrize(
    ("slope", "spread", "verdict"),
    [
        (1.0, 0.01, "holds"),
        (-1.0, 0.01, "does not hold"),
        (0.0, 0.05, "does not hold"),
        (0.43, 0.04, "cannot be told"),  # r about 0.5: neither high nor low
    ],
)
def test_the_objective_is_judged_by_its_correlation(slope, spread, verdict):
    rows = [row_of(name) for name in ("Iono", "Liver", "Sonar", "Spam")]
    measure = lambda cell: combinations(cell, slope, spread)  # noqa: E731
    claim = claims_of("figure-objective", measure, rows=rows)["objective-test"]
    assert claim.verdict == verdict, claim.told
    assert claim.statistic.low <= claim.statistic.value <= claim.statistic.high


def test_rows_chosen_on_and_new_rows_are_judged_apart():
    def measure(cell):
        found = combinations(cell, 1.0, 0.01)
        test = combinations(cell, 0.0, 0.05)
        points = [[o, v, t[2]] for (o, v, _), t in zip(found["points"], test["points"])]
        return found | {"points": [[o, o, t] for o, _, t in points]}

    claims = claims_of(
        "figure-objective", measure, rows=[row_of(name) for name in ("Iono", "Liver", "Sonar")]
    )
    assert claims["objective"].verdict == "holds"
    assert claims["objective-test"].verdict == "does not hold"


def test_two_data_sets_are_too_few_for_a_verdict():
    rows = [row_of("Iono"), row_of("Liver")]
    claim = claims_of("figure-objective", combinations, rows=rows)["objective"]
    assert (claim.verdict, claim.statistic) == ("cannot be told", None)


def test_members_drawn_once_each_give_the_plain_correlation():
    plan = small("figure-objective", folds=(0,))
    found = objective_correlations(plan, frame_of(plan, combinations))[0]

    class OnceEach:
        def multinomial(self, n, chances, size):
            return np.ones((size, n), dtype=int)

    drawn = found.drawn_correlations(2, 3, OnceEach())
    assert drawn == pytest.approx(np.full((3, 1), found.correlation_by_fold()[0]))


def test_a_combination_counts_as_often_as_its_members_are_drawn():
    plan = small("figure-objective", folds=(0,))
    found = objective_correlations(plan, frame_of(plan, combinations))[0]
    counts = np.array([2, 0, 1, 3, 1, 0, 0, 1])

    class Drawn:
        def multinomial(self, n, chances, size):
            return np.tile(counts, (size, 1))

    repeated = [
        point
        for members, point in zip(itertools.combinations(range(8), 3), found.folds[0], strict=True)
        for _ in range(np.prod(counts[list(members)]))
    ]
    expected = np.corrcoef(np.array(repeated)[:, [0, 1]].T)[0, 1]
    assert found.drawn_correlations(1, 2, Drawn()) == pytest.approx(np.full((2, 1), expected))


def test_sizes_of_combinations_share_their_members_in_every_draw():
    # The same points under another size add no information, so the interval must stay the same.
    plan = plan_of("figure-objective", ["Iono", "Liver", "Sonar"], keep=(3,))
    once = objective_correlations(plan, frame_of(plan, lambda cell: combinations(cell, 0.5, 0.05)))
    alone, twice = (judge_objective(items).statistic for items in (once, [*once, *once]))
    assert (twice.low, twice.high) == pytest.approx((alone.low, alone.high))


def test_seeds_are_drawn_before_their_folds():
    # All folds of a seed have the same correlation, so that drawing single folds of both seeds
    # would give an interval that is too short. Of 3 data sets × 2 seeds, the mean of r has a
    # standard deviation of (high − low) / (2 √6), with the correlations of the two seeds.
    plan = plan_of("figure-objective", ["Iono", "Liver", "Sonar"], keep=(3,))
    slopes = {0: 0.0, 1: 1.0}
    parts = [
        frame_of(plan, lambda cell: combinations(cell, slopes[cell.seed], 0.001), seed)
        for seed in slopes
    ]
    statistic = judged([plan], pd.concat(parts))["objective"].statistic
    assert statistic.value == pytest.approx(0.5, abs=0.05)
    deviation = 1 / (2 * np.sqrt(6))
    assert statistic.high - statistic.low > 3.2 * deviation


def test_results_of_an_interrupted_run_are_judged():
    plan = plan_of("figure-objective", ["Iono", "Liver", "Sonar"])
    frame = frame_of(plan, lambda cell: combinations(cell, 1.0, 0.01))
    part = frame[~((frame["keep"] == 4) & (frame["fold"] > 1) & (frame["dataset"] == "liver"))]
    claim = judged([plan], part)["objective"]
    assert claim.verdict == "holds"
    assert claim.statistic.value == pytest.approx(claim.statistic.low, abs=0.1)


def test_titles_name_the_reading_once():
    rows = [row_of("Wave"), row_of("Wave", reading="multiclass"), row_of("Iono")]
    plan = plan_of("figure-objective", rows, keep=(3,), folds=(0,))
    titles = [picture.title for picture in pictures_of(plan, frame_of(plan, combinations))]
    assert titles == [
        "Objective against accuracy: Wave, two classes",
        "Objective against accuracy: Wave, all classes",
        "Objective against accuracy: Iono, two classes",
    ]
