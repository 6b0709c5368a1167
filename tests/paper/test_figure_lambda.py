"""Accuracy against λ: curves, and the claims on a mix of criteria and on the best λ."""

import numpy as np
import pytest
from made_up_results import claims_of, frame_of, judged, key_of, noise, plan_of, row_of, small
from scipy import stats

from secateurs.paper._figure_lambda import LambdaCurve, lambda_curves


def curve_of(accuracy, weights=(0.0, 0.5, 1.0)):
    values = np.array(accuracy, dtype=float)
    keys = tuple((fold, 0) for fold in range(values.shape[1]))
    return LambdaCurve("Iono", row_of("Iono"), 3, np.array(weights), keys, values)


def test_the_best_weight_has_the_highest_mean_and_is_the_middle_of_several():
    assert curve_of([[80, 82], [84, 85], [70, 71]]).best_weight == 0.5
    assert curve_of([[80], [80], [80]]).best_weight == 0.5
    assert curve_of([[80, 82], [70, 71], [70, 71]]).best_weight == 0.0


def test_a_curve_is_flat_when_best_and_worst_cannot_be_told_apart():
    assert curve_of([[80, 90, 70], [81, 88, 72], [79, 91, 70]]).is_flat
    assert not curve_of([[80, 90, 70], [70, 80.1, 60], [75, 85, 66]]).is_flat
    assert curve_of([[80], [90], [70]]).is_flat


def test_lambda_curves_hold_what_was_measured():
    plan = small("figure-lambda", keep=(3, 5), diversity_weight=(0.0, 0.5, 1.0), folds=(0, 1))
    frame = frame_of(plan, lambda c: 0.1 * c.fold + 0.2 * c.diversity_weight + 0.01 * c.keep)
    three, five = lambda_curves(plan, frame.sample(frac=1, random_state=0))
    assert (three.keep, five.keep) == (3, 5)
    np.testing.assert_allclose(three.accuracy, [[3, 13], [13, 23], [23, 33]])
    np.testing.assert_allclose(five.accuracy_at(0.5), [15, 25])
    assert five.accuracy_at(0.3) is None


def test_folds_that_lack_a_weight_are_left_out_of_its_curve():
    plan = small("figure-lambda", keep=(3,), diversity_weight=(0.0, 0.5, 1.0), folds=(0, 1))
    frame = frame_of(plan, lambda c: None if c.fold and c.diversity_weight == 1 else 0.5)
    assert lambda_curves(plan, frame)[0].accuracy.shape == (3, 1)


def hill(cell, peak, spread=0.001):
    """Accuracy that falls off from a weight, with some noise."""
    return 0.8 - 0.1 * abs(cell.diversity_weight - peak) + spread * noise(key_of(cell))


@pytest.mark.parametrize("name", ["mix", "mix-alone"])
def test_a_mix_must_beat_both_sides(name):
    claim = claims_of("figure-lambda", lambda cell: hill(cell, 0.5))[name]
    assert claim.verdict == "holds"
    assert 0 < claim.statistic.low < claim.statistic.value < claim.statistic.high
    for peak in (0.0, 1.0):
        claim = claims_of("figure-lambda", lambda cell, p=peak: hill(cell, p))[name]
        assert claim.verdict == "does not hold"
    for spread in (0.0, 0.1):
        flat = claims_of("figure-lambda", lambda c, s=spread: 0.8 + s * noise(key_of(c)))[name]
        assert flat.verdict == "cannot be told"


def test_the_difference_on_a_data_set_is_that_of_sizes_averaged():
    plan = plan_of("figure-lambda")
    frame = frame_of(plan, lambda cell: hill(cell, 0.5, 0.05))
    numbers = claims_of("figure-lambda", lambda cell: hill(cell, 0.5, 0.05))["mix"].numbers
    for row, dataset in (("Heart", "heart"), ("Waveform", "waveform_noise")):
        mine = frame[frame["dataset"] == dataset]
        table = 100 * mine.pivot_table(index="fold", columns="diversity_weight", values="accuracy")
        gains = table[0.5] - table[0.9]
        assert numbers["less_0.9"][row]["mean"] == pytest.approx(gains.mean())
        error = np.sqrt(gains.var(ddof=1) * (1 / 5 + 1 / 4))
        assert numbers["less_0.9"][row]["error"] == pytest.approx(error)


def test_sizes_are_averaged_on_the_folds_that_all_of_them_have():
    # An interrupted run lacks fold 0 of three members, on which the lead of λ = 0.5 is another one.
    plan = plan_of("figure-lambda", [row_of("Iono")], keep=(3, 5))
    frame = frame_of(plan, lambda c: 0.7 + (0.01 + 0.01 * c.fold) * (c.diversity_weight == 0.5))
    part = frame[~((frame["keep"] == 3) & (frame["fold"] == 0))]
    numbers = judged([plan], part)["mix"].numbers["less_0.1"]["Iono"]
    assert numbers["mean"] == pytest.approx(np.mean([2, 3, 4, 5]))
    error = np.sqrt(np.var([2, 3, 4, 5], ddof=1) * (1 / 4 + 1 / 4))
    assert numbers["error"] == pytest.approx(error)


def test_the_intervals_of_both_sides_of_a_mix_hold_together():
    plan = plan_of("figure-lambda", [row_of("Iono")], keep=(3,))
    frame = frame_of(plan, lambda cell: hill(cell, 0.5, 0.05))
    table = 100 * frame.pivot(index="fold", columns="diversity_weight", values="accuracy")
    ends = []
    for weight in (0.1, 0.9):
        leads = (table[0.5] - table[weight]).to_numpy()
        error = np.sqrt(leads.var(ddof=1) * (1 / 5 + 1 / 4))
        ends.append(stats.t.interval(0.975, 4, leads.mean(), error))
    statistic = judged([plan], frame)["mix"].statistic
    assert (statistic.low, statistic.high) == pytest.approx(np.min(ends, axis=0))


def test_a_tuned_weight_is_the_best_on_the_rows_chosen_on():
    curve = LambdaCurve(
        *("Iono", row_of("Iono"), 3, np.array([0.0, 0.4, 0.5, 1.0]), ((0, 0), (1, 0), (2, 0))),
        np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]),
        np.array([[90.0, 80.0, 70.0], [80.0, 90.0, 70.0], [70.0, 90.0, 70.0], [90.0, 80.0, 70.0]]),
    )
    assert curve.tuned_accuracy.tolist() == [1.0, 8.0, 9.0]
    assert curve_of([[80, 82], [84, 85], [70, 71]]).tuned_accuracy is None


@pytest.mark.parametrize(
    ("peak", "seen", "verdict"),
    [(0.2, 0.2, "holds"), (0.2, 0.9, "does not hold"), (0.5, 0.5, "cannot be told")],
)
def test_tuning_is_judged_on_test_rows(peak, seen, verdict):
    def measure(cell):
        return {"accuracy": hill(cell, peak), "validation_accuracy": hill(cell, seen, 0.0)}

    claim = claims_of("figure-lambda", measure)["tuned"]
    assert claim.verdict == verdict, claim.told


def test_the_best_weight_belongs_to_the_data_when_sizes_agree():
    rows = [row_of(f"Set {n}") for n in range(7)]
    same = claims_of("figure-lambda", lambda c: hill(c, 0.3), rows=rows)["weight"]
    assert same.verdict == "holds"  # 7 of 7
    by_size = claims_of("figure-lambda", lambda c: hill(c, c.keep / 10), rows=rows)["weight"]
    assert by_size.verdict == "does not hold"
    few = claims_of("figure-lambda", lambda c: hill(c, 0.3), rows=rows[:3])["weight"]
    assert few.verdict == "cannot be told"  # 3 of 3 leave room for 0.29
    flat = claims_of("figure-lambda", lambda c: 0.8 + 0.001 * (c.fold + 1) * noise(key_of(c)))
    assert flat["weight"].numbers["data_sets"] < 3
