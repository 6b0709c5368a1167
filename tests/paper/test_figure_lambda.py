"""Accuracy against λ: curves, and the claims on a mix of criteria and on the best λ."""

import numpy as np
from made_up_results import claims_of, frame_of, key_of, noise, row_of, small

from secateurs.paper._figure_lambda import LambdaCurve, lambda_curves


def curve_of(accuracy, weights=(0.0, 0.5, 1.0)):
    return LambdaCurve(
        "Iono", row_of("Iono"), 3, np.array(weights), np.array(accuracy, dtype=float)
    )


def test_the_best_weight_has_the_highest_mean_and_is_the_middle_of_several():
    assert curve_of([[80, 82], [84, 85], [70, 71]]).best == 0.5
    assert curve_of([[80], [80], [80]]).best == 0.5
    assert curve_of([[80, 82], [70, 71], [70, 71]]).best == 0.0


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
    np.testing.assert_allclose(five.at(0.5), [15, 25])
    assert five.at(0.3) is None


def test_folds_that_lack_a_weight_are_left_out_of_its_curve():
    plan = small("figure-lambda", keep=(3,), diversity_weight=(0.0, 0.5, 1.0), folds=(0, 1))
    frame = frame_of(plan, lambda c: None if c.fold and c.diversity_weight == 1 else 0.5)
    assert lambda_curves(plan, frame)[0].accuracy.shape == (3, 1)


def test_a_mix_must_beat_both_ends():
    def hill(cell, peak=0.5):
        return 0.8 - 0.1 * abs(cell.diversity_weight - peak) + 0.0001 * cell.keep

    assert claims_of("figure-lambda", hill)["mix"].verdict == "holds"
    for peak in (0.0, 1.0):
        claim = claims_of("figure-lambda", lambda cell, p=peak: hill(cell, p))["mix"]
        assert claim.verdict == "does not hold"
    flat = claims_of("figure-lambda", lambda cell: 0.8)["mix"]
    assert flat.verdict == "cannot be told"
    assert (flat.numbers["settings"], flat.numbers["for"], flat.numbers["against"]) == (12, 0, 0)


def test_the_best_weight_belongs_to_the_data_when_sizes_agree():
    def hill(cell, peak):
        jitter = 0.001 * noise(key_of(cell))
        return 0.8 - 0.1 * abs(cell.diversity_weight - peak(cell)) + jitter

    same = claims_of("figure-lambda", lambda c: hill(c, lambda _: 0.3))["weight"]
    assert same.verdict == "holds"
    by_size = claims_of("figure-lambda", lambda c: hill(c, lambda cell: cell.keep / 10))["weight"]
    assert by_size.verdict == "does not hold"
    flat = claims_of("figure-lambda", lambda c: 0.8 + 0.001 * (c.fold + 1) * noise(key_of(c)))
    numbers = flat["weight"].numbers
    assert numbers["against"] + numbers["for"] < 3
