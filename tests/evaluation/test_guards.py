"""Guards: hand-made cases for each alarm, and cases that must not have one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from secateurs import prune
from secateurs.evaluation.guards import describe_precision, find_alarms, find_collapses
from secateurs.evaluation.metrics import PruningFigures
from secateurs.exceptions import SecateursWarning
from secateurs.measures.vote_counts import NORMAL_97_5
from secateurs.problem import Problem
from secateurs.problem.model_costs import BeforeAfter

TABLE = np.tile([[0, 1, 0], [1, 1, 0], [1, 0, 1], [0, 0, 0]], (25, 1))
Y = np.tile([0, 1, 1, 0], 25)


def problem_with(scoring=None, n_test=0):
    tests = {"X_test": TABLE[:n_test], "y_test": Y[:n_test]} if n_test else {}
    return Problem.from_input(TABLE, None, Y, scoring=scoring, **tests)


def figures_of(label, *values, **baselines):
    figure = BeforeAfter(*values)
    beside = {
        name.replace("_", " "): BeforeAfter(
            figure.after, value, value - figure.after - 0.01, value - figure.after + 0.01
        )
        for name, value in baselines.items()
    }
    return PruningFigures("", "", {label: figure}, (), beside)


def test_predictions_that_are_no_better_than_the_majority_class_have_an_alarm():
    measured = figures_of("accuracy", 0.95, 0.91, -0.05, -0.03, majority_class=0.92)
    (alarm,) = find_alarms(problem_with(), measured)
    assert alarm.startswith("The pruned ensemble has no better accuracy than the majority class")
    assert "0.9100 after pruning, compared with 0.9200" in alarm
    measured = figures_of("accuracy", 0.91, 0.91, -0.01, 0.01, majority_class=0.92)
    (alarm,) = find_alarms(problem_with(), measured)
    assert alarm.startswith("Even the full ensemble has no better accuracy")
    for area, n_alarms in ((0.84, 0), (0.54, 1)):  # a rare class, ranked usefully or not
        figures = measured.figures | {"ROC AUC": BeforeAfter(area, area, -0.02, 0.02)}
        ranked = PruningFigures("", "", figures, (), measured.baselines)
        assert len(find_alarms(problem_with(), ranked)) == n_alarms
    for high, n_alarms in ((0.001, 0), (-0.001, 1)):  # lost by chance, or surely
        change = BeforeAfter(0.9607, 0.96, -0.003, high)
        figures = {"accuracy": change, "ROC AUC": BeforeAfter(0.84, 0.84, -0.02, 0.02)}
        measured = figures_of("accuracy", 0.9607, 0.96, -0.003, high, majority_class=0.96)
        ranked = PruningFigures("", "", figures, (), measured.baselines)
        assert len(find_alarms(problem_with(), ranked)) == n_alarms
    measured = figures_of("accuracy", 0.92, 0.92, -0.01, 0.01, majority_class=0.92)
    assert find_alarms(problem_with(), measured) == []  # as good as the full ensemble
    measured = figures_of("accuracy", 0.95, 0.92, -0.05, -0.01, majority_class=0.92)
    assert len(find_alarms(problem_with(), measured)) == 1
    measured = figures_of("accuracy", 0.95, 0.93, -0.05, 0.01, majority_class=0.92)
    assert find_alarms(problem_with(), measured) == []
    measured = figures_of("accuracy", 0.1, -0.1, -0.24, -0.16, majority_class=-1e-9)
    (alarm,) = find_alarms(problem_with(), measured)
    assert "compared with 0.0000" in alarm


@pytest.mark.parametrize(
    ("n_classes", "scoring", "advice"),
    [
        (0, None, "Pass another score, such as 'neg_mean_absolute_error', or improve"),
        (0, "neg_mean_absolute_error", "Improve the ensemble."),
        (1, None, "Improve the ensemble."),  # labels have no AUC
        (2, None, "Pass another score, such as 'roc_auc', or improve the ensemble."),
        (2, "neg_log_loss", "Improve the ensemble."),
        (3, None, "Pass another score, such as 'roc_auc_ovr', or improve the ensemble."),
    ],
)
def test_the_advice_is_a_score_that_the_ensemble_has(n_classes, scoring, advice):
    rng = np.random.RandomState(0)
    if n_classes == 0:
        table, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    elif n_classes == 1:
        table, y = TABLE, Y
    else:
        table, y = rng.dirichlet(np.ones(n_classes), size=(30, 4)), np.arange(30) % n_classes
    problem = Problem.from_input(table, None, y, scoring=scoring)
    label = problem.scoring.label
    sign = 1 if problem.scoring.larger_is_better else -1
    constant = "mean_of_the_target" if n_classes == 0 else "majority_class"
    measured = figures_of(label, 0.5, 0.5, -0.04, 0.04, **{constant: 0.5 + sign * 0.1})
    (alarm,) = find_alarms(problem, measured)
    assert alarm.startswith("Even the full ensemble has no better")
    assert advice in alarm


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("best_single_member", "The best single member has a better accuracy than the pruned"),
        ("as_many_of_the_first_members", "As many of the first members have a better accuracy"),
    ],
)
def test_better_baselines_have_an_alarm_unless_they_may_be_chance(name, start):
    """The interval of the difference is ±0.01, so that three standard errors are 0.0153."""
    measured = figures_of("accuracy", 0.95, 0.91, -0.05, -0.03, **{name: 0.926})
    (alarm,) = find_alarms(problem_with(), measured)
    assert alarm.startswith(start)
    measured = figures_of("accuracy", 0.95, 0.91, -0.05, -0.03, **{name: 0.924})
    assert find_alarms(problem_with(), measured) == []


def test_a_baseline_has_no_alarm_within_the_default_tolerance_or_with_an_unknown_interval():
    """The interval of the difference is ±0.001, so that both leads are certain."""
    for lead, half, n_alarms in ((0.004, 0.001, 0), (0.006, 0.001, 1), (0.006, np.nan, 0)):
        baseline = BeforeAfter(0.9, 0.9 + lead, lead - half, lead + half)
        figures = {"accuracy": BeforeAfter(0.91, 0.9, -0.02, -0.001)}
        measured = PruningFigures("", "", figures, (), {"best single member": baseline})
        assert len(find_alarms(problem_with(), measured)) == n_alarms


@pytest.mark.parametrize(
    ("label", "values", "is_bad"),
    [
        ("ROC AUC", (0.83, 0.70, -0.15, -0.11), True),
        ("ROC AUC one-vs-rest", (0.83, 0.79, -0.06, -0.02), True),
        ("ROC AUC", (0.83, 0.82, -0.011, -0.009), False),  # a loss of a point is no collapse
        ("ROC AUC", (0.83, 0.79, -0.09, 0.01), False),  # may be chance
        ("Brier score", (0.10, 0.12, 0.01, 0.03), True),
        ("Brier score", (0.10, 0.105, 0.004, 0.006), False),
        ("Brier score", (0.10, 0.12, -0.01, 0.05), False),
        ("log loss", (0.227, 0.838, 0.5, 0.7), True),
        ("log loss", (0.227, 0.26, 0.02, 0.05), False),
    ],
)
def test_scores_that_were_not_asked_for_may_collapse(label, values, is_bad):
    figures = {label: BeforeAfter(*values)}
    assert bool(find_collapses(problem_with(), figures)) is is_bad
    notes = describe_precision(problem_with(), PruningFigures("", "", figures))
    assert not (is_bad and notes)  # not named twice


def test_a_score_that_was_asked_for_has_its_own_tolerance():
    figures = {"balanced accuracy": BeforeAfter(0.9, 0.5, -0.5, -0.3)}
    assert find_collapses(problem_with("balanced_accuracy"), figures) == []


def test_a_tolerance_that_is_missed_on_the_test_set_has_an_alarm():
    problem = problem_with(n_test=40)
    measured = figures_of("accuracy", 0.90, 0.86, -0.05, -0.02)
    (alarm,) = find_alarms(problem, measured, 0.005)
    assert "worse by 0.0400, more than the tolerance of 0.005" in alarm
    assert find_alarms(problem, measured, {"accuracy": 0.03}) == []  # may be within it
    assert find_alarms(problem, measured) == []
    assert find_alarms(problem_with(), measured, 0.005) == []  # cross-validated: a remark only


def half_of(half, n_samples, n_before=100, one_more=NORMAL_97_5):
    """Return the half width for another number of samples, with one more changed prediction."""
    return math.hypot(half * math.sqrt(n_before / n_samples), one_more / n_samples)


@given(st.floats(0.011, 0.5), st.floats(0.001, 0.01))
def test_the_number_of_samples_that_would_do_follows_from_the_interval(half, tolerance):
    measured = figures_of("accuracy", 0.9, 0.9, -half, half)
    alarms = find_alarms(problem_with(), measured, tolerance)
    (text,) = alarms + describe_precision(problem_with(), measured, tolerance)
    assert f"its 95 % interval is ±{half:.4f}" in text
    needed = int(text.rsplit("About ", 1)[1].split(" ")[0].replace(",", ""))
    assert half_of(half, needed) <= tolerance * (1 + 1e-6)
    assert half_of(half, (needed - 1) / 1.1) > tolerance * (1 - 1e-6)  # rounded up to two digits


def test_samples_without_any_changed_prediction_may_be_too_few():
    """An error that none of n samples shows may have a rate of 3/n."""
    measured = figures_of("accuracy", 0.9, 0.9, 0.0, 0.0)
    (text,) = describe_precision(problem_with(), measured)
    assert text == (
        "100 samples are too few to tell a change of 0.01 in accuracy from chance: with one more "
        "change, its 95 % interval is ±0.0196. About 200 samples would do."
    )
    table, y = np.tile(TABLE, (2, 1)), np.tile(Y, 2)
    assert describe_precision(Problem.from_input(table, None, y), measured) == []  # 200 samples
    measured = figures_of("balanced accuracy", 0.9, 0.9, 0.0, 0.0)
    assert describe_precision(problem_with("balanced_accuracy"), measured) == []


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_a_change_of_the_limit_is_told_from_chance_by_the_number_that_would_do(share):
    """Half of all samples of that size have an interval without 0, as the power predicts."""
    rng, n_samples = np.random.RandomState(0), 300
    half = NORMAL_97_5 * math.sqrt(share / n_samples)
    measured = figures_of("accuracy", 0.9, 0.9, -half, half)
    problem = Problem.from_input(np.tile(TABLE, (3, 1)), None, np.tile(Y, 3))
    (text,) = describe_precision(problem, measured)
    needed = int(text.rsplit("About ", 1)[1].split(" ")[0].replace(",", ""))
    worse, better = rng.multinomial(
        needed, [(share + 0.01) / 2, (share - 0.01) / 2, 1 - share], 4000
    ).T[:2]
    change = (worse - better) / needed
    errors = np.sqrt(((worse + better + 1) / needed - change**2) / needed)
    power = np.mean(change > NORMAL_97_5 * errors)
    assert 0.4 < power < 0.75


def test_enough_samples_are_not_mentioned():
    measured = figures_of("accuracy", 0.9, 0.9, -0.004, 0.004)
    problem = Problem.from_input(np.tile(TABLE, (10, 1)), None, np.tile(Y, 10))  # 1,000 samples
    assert describe_precision(problem, measured, 0.005) == []
    assert describe_precision(problem, measured) == []


def test_prune_warns_at_once_if_probabilities_collapse():
    """One of the members is right about labels, but its probabilities are worthless."""
    rng = np.random.RandomState(0)
    y = (rng.rand(500) < 0.1).astype(int)
    good = np.clip(0.1 + 0.5 * y[:, None] + 0.15 * rng.normal(size=(500, 9)), 0.01, 0.99)
    share = np.column_stack([np.zeros(500), good])
    table = np.stack([1 - share, share], axis=2)
    with pytest.warns(SecateursWarning, match="much worse after pruning: .*ROC AUC"):
        pruning = prune(table, None, y, "es", tolerance=0.5)
    assert pruning.member_indices.tolist() == [0]
    with (
        pytest.warns(SecateursWarning, match="no better accuracy than the majority class"),
        pytest.warns(SecateursWarning, match="The best single member has a better accuracy"),
        pytest.warns(SecateursWarning, match="much worse after pruning: log loss"),
        pytest.warns(SecateursWarning, match="500 of 500 test samples are also in the validation"),
    ):
        figures = pruning.summary(table, y)
    assert any(line.startswith("Warning: ") for line in figures.attrs["alarms"])


def test_a_budget_that_ruins_probabilities_has_warnings():
    """The five kept of 200 members look good only on the samples that they were selected on."""
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=1150)
    is_positive = np.where(rng.rand(1150, 200) < 0.8, y[:, None], 1 - y[:, None])
    table = np.stack([1.0 - is_positive, is_positive], axis=2)
    expected = "Scores other than accuracy are much worse after pruning: .*Brier score"
    with pytest.warns(SecateursWarning, match=expected):
        pruning = prune(
            table[:150], None, y[:150], "joint", tolerance=0.06, relative_to="full", random_state=0
        )
    kept = table[:150, pruning.member_indices, 1].mean(axis=1)
    brier = [np.mean((p - y[:150]) ** 2) for p in (table[:150, :, 1].mean(axis=1), kept)]
    assert brier[1] < brier[0]
    for samples in ((), (table[150:], y[150:])):
        with pytest.warns(SecateursWarning, match=expected):
            figures = pruning.summary(*samples)
        assert any("Scores other than accuracy" in line for line in figures.attrs["alarms"])


@pytest.mark.parametrize(
    ("half", "tolerance", "is_alarm"),
    [(0.06, None, True), (0.049, None, False), (0.06, 0.07, False), (0.08, 0.07, True)],
)
def test_far_too_few_samples_have_an_alarm_and_others_a_note(half, tolerance, is_alarm):
    measured = figures_of("accuracy", 0.9, 0.9, -half, half)
    alarms = find_alarms(problem_with(), measured, tolerance)
    notes = describe_precision(problem_with(), measured, tolerance)
    assert len(alarms) == is_alarm
    assert len(notes) == (not is_alarm and half > (tolerance or 0))
    assert all("100 samples are too few" in line for line in (*alarms, *notes))


def test_the_log_loss_alone_has_a_line_and_no_warning():
    loss, area = BeforeAfter(0.3, 0.9, 0.1, 1.1), BeforeAfter(0.9, 0.8, -0.15, -0.05)
    for figures, n_raised in (
        ({"log loss": loss}, 0),
        ({"log loss": loss, "ROC AUC": area}, 1),
        ({"ROC AUC": area}, 1),
    ):
        measured = PruningFigures("", "", figures)
        assert len(find_alarms(problem_with(), measured)) == 1
        raised = find_alarms(problem_with(), measured, only_raised=True)
        assert len(raised) == n_raised
        assert all(("log loss" in line) == ("log loss" in figures) for line in raised)


def test_a_good_pruning_has_no_warning():
    rng = np.random.RandomState(1)
    y = rng.randint(2, size=400)
    share = np.clip(
        0.5 + 0.3 * np.where(y == 1, 1, -1)[:, None] + 0.2 * rng.normal(size=(400, 8)), 0.01, 0.99
    )
    table = np.stack([1 - share, share], axis=2)
    pruning = prune(table[:200], None, y[:200], "joint", keep=5)
    alarms = pruning.summary(table[200:], y[200:]).attrs["alarms"]
    assert not any(alarm.startswith("Warning: ") for alarm in alarms)


@pytest.mark.parametrize("on_test", [True, False])
def test_the_first_members_are_scored_beside_the_pruned_ensemble(on_test):
    rng = np.random.RandomState(2)
    y = rng.randint(2, size=300)
    skill = np.linspace(0.55, 0.9, 9)
    table = np.where(rng.rand(300, 9) < skill, y[:, None], 1 - y[:, None])
    pruning = prune(table[:150], None, y[:150], "best", keep=3)
    figures = pruning.summary(*((table[150:], y[150:]) if on_test else ()))
    rows = slice(150, 300) if on_test else slice(0, 150)
    votes = table[rows, :3].sum(axis=1) > 1
    found = figures.attrs["baselines"]["as many of the first members"]
    assert found == pytest.approx((votes == y[rows]).mean())


class LastMembers(BaseEstimator):
    """A pruner that keeps the last members."""

    def __init__(self, keep=3):
        self.keep = keep

    def fit(self, votes, y):
        self.n_members_ = np.shape(votes)[1]
        return self

    def get_support(self):
        return np.arange(self.n_members_) >= self.n_members_ - self.keep


@pytest.mark.parametrize("on_test", [True, False])
def test_first_members_that_are_much_better_have_an_alarm(on_test):
    rng = np.random.RandomState(3)
    y = rng.randint(2, size=600)
    skill = np.repeat([0.9, 0.6], 4)
    table = np.where(rng.rand(600, 8) < skill, y[:, None], 1 - y[:, None])
    pruning = prune(table[:300], None, y[:300], LastMembers())
    figures = pruning.summary(*((table[300:], y[300:]) if on_test else ()))
    alarms = [alarm for alarm in figures.attrs["alarms"] if "As many of the first" in alarm]
    assert len(alarms) == 1


@pytest.mark.parametrize(
    ("label", "values", "named"),
    [
        ("ROC AUC", (0.83, 0.83, -0.03, 0.03), True),
        ("ROC AUC", (0.83, 0.83, -0.015, 0.015), False),  # not more than two points
        ("Brier score", (0.10, 0.10, -0.02, 0.02), True),
        ("Brier score", (0.10, 0.10, -0.009, 0.009), False),  # not more than 10 %
        ("Brier score", (0.10, 0.08, -0.05, -0.01), False),
        ("ROC AUC", (0.83, 0.83, math.nan, math.nan), False),
        ("log loss", (0.3, 0.3, -0.2, 0.2), False),
    ],
)
def test_a_note_names_scores_that_may_be_much_worse(label, values, named):
    measured = PruningFigures("", "", {label: BeforeAfter(*values)})
    notes = describe_precision(problem_with(), measured)
    assert bool(notes) is named
    if named:
        assert notes[0].startswith(
            f"These samples cannot exclude much worse scores after pruning: {label}"
        )
    assert find_alarms(problem_with(), measured) == []
    assert find_collapses(problem_with(), measured.figures) == []
