"""Missing predictions that count as wrong: methods, measures and scores against slow twins."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import naive
import naive_orderings
import naive_pareto
import naive_scores
import naive_selection
from cases import cases
from checks import quick
from secateurs import (
    COMEP,
    ClusterPruner,
    JointErrorPruner,
    ParetoCOMEP,
    Predictions,
    PredictionStore,
    Votes,
    VoteStore,
    collect_votes,
    compare,
    make_pruner,
    measures,
    prune,
)
from secateurs._methods import METHODS
from secateurs.exceptions import InputError
from secateurs.measures.score_curve import score_curve
from secateurs.measures.scoring import Scoring
from secateurs.outputs.missing_answers import wrong_codes
from secateurs.problem import Problem

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(no distributions|1 member|chance would|one class|no reference)"
)
# The baselines keep the first members, or random ones, whatever they predict.
SELECTIVE = [name for name in METHODS if name not in ("es", "random")]


@st.composite
def abstaining(draw, **limits):
    """Votes with abstentions: masked, with the true labels, and for the twins."""
    case = draw(cases(**limits))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = rng.choice([0.1, 0.5, 0.95], size=case.n_members)
    mask = rng.random((len(case.y), case.n_members)) < share
    mask[rng.integers(len(case.y)), rng.integers(case.n_members)] = False
    table = np.where(mask, naive.ABSTAINS, np.array(case.votes)).tolist()
    return Votes.encode(np.ma.array(case.votes, mask=mask), case.y, missing="wrong"), case.y, table


def selected(name, votes, keep, **parameters):
    return quick(name, keep=keep, **parameters).fit(votes).member_indices_.tolist()


@pytest.mark.parametrize(
    "name",
    [
        *("disagreement", "oracle_disagreement", "q_statistic", "correlation", "double_fault"),
        *("same_fault", "kappa", "oracle_kappa", "mutual_information", "nmi", "nvi"),
    ],
)
@given(drawn=abstaining(most_members=4, most_samples=30))
def test_an_abstention_is_a_label_of_its_own_in_measures_of_pairs(name, drawn):
    votes, y, table = drawn
    measure = getattr(measures, name)
    matrix = measure.matrix(votes)
    for i, j in combinations(range(votes.n_members), 2):
        columns = naive.column(table, i), naive.column(table, j)
        expected = getattr(naive, name)(*columns, *([y] if measure.needs_truth else []))
        assert matrix[i, j] == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        *("kohavi_wolpert", "interrater_agreement", "kuncheva_entropy", "generalised_diversity"),
        *("coincident_failure", "difficulty", "loss_ambiguity"),
    ],
)
@given(drawn=abstaining(most_members=4, most_samples=30))
def test_an_abstention_is_not_correct_in_measures_of_the_ensemble(name, drawn):
    votes, y, table = drawn
    expected = np.array(getattr(naive, name)(table, y), dtype=float)
    assert np.array(getattr(measures, name)(votes)) == pytest.approx(expected, abs=1e-12)


VOTE_TWINS = {
    "best": naive.best_members,
    "re": naive.reduced_error,
    "oep": naive.oep,
    "mdm": naive_orderings.margin_distance,
    "comp": naive_orderings.complementarity,
    "uwa": naive_orderings.uncertainty_weighted,
    "drep": lambda votes, y, keep: naive.drep(votes, y, 0.3, keep=keep),
    "boost": lambda votes, y, keep: naive.boosting_order(votes, y, keep)[0],
    "kl": lambda votes, y, keep: naive.kl_pruning(
        naive.class_frequencies(votes, y), keep, start=naive.may_be_first(votes)[0]
    ),
    "kp": lambda votes, y, keep: naive.with_valid_first(
        votes, naive.kappa_pruning(votes, len(votes[0]))
    )[:keep],
    "epic": lambda votes, y, keep: naive.with_valid_first(
        votes, naive_orderings.contribution_ordering(votes, y, len(votes[0]))
    )[:keep],
    "cluster": lambda votes, y, keep: naive.with_valid_first(
        votes, naive.cluster_pruning(votes, y, keep)[0]
    ),
    "joint": lambda votes, y, keep: naive_scores.joint_error(
        *naive_scores.vectors_of_labels(votes, y), keep
    ),
    "caruana": lambda votes, y, keep: naive_selection.multiplicities(
        *naive_selection.select(
            [[None if label == naive.ABSTAINS else label for label in row] for row in votes],
            *(y, naive_selection.accuracy),
            keep=keep,
            fallback=naive.ABSTAINS,
        )[::2]
    )[0],
}


@pytest.mark.parametrize("name", VOTE_TWINS)
@given(drawn=abstaining(most_members=5, most_samples=30), data=st.data())
def test_methods_select_the_same_members_as_their_twins(name, drawn, data):
    votes, y, table = drawn
    keep = data.draw(st.integers(1, votes.n_members))
    assert selected(name, votes, keep) == VOTE_TWINS[name](table, y, keep)


@given(abstaining(most_members=5, most_samples=30), st.data())
def test_orientation_ordering_accepts_abstentions(drawn, data):
    votes, y, table = drawn
    keep = data.draw(st.integers(1, votes.n_members))
    order = naive.orientation_ordering(table, y, votes.n_members)
    has_reference = any(naive.reference_vector(table, y))
    expected = naive.with_valid_first(table, order) if has_reference else order
    assert selected("oo", votes, keep) == expected[:keep]


@given(
    abstaining(most_members=5, most_samples=30),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from(["spread", "relevance", "every"]),
    st.data(),
)
def test_comep_starts_with_a_member_that_answers_enough(drawn, weight, start, data):
    votes, y, table = drawn
    keep = data.draw(st.integers(1, votes.n_members))
    pruner = COMEP(keep, weight, start=start).fit(votes)
    assert pruner.member_indices_.tolist() == naive.comep(table, y, keep, weight, start)


@pytest.mark.parametrize("name", ["sep", "pep"])
@given(drawn=abstaining(most_members=4, most_samples=20), data=st.data())
def test_random_searches_count_a_sample_without_answers_as_an_error(name, drawn, data):
    votes, y, table = drawn
    keep, rng = data.draw(st.integers(1, votes.n_members)), np.random.RandomState(0)
    found = getattr(naive, name)(table, y, 30, rng, keep)
    expected = naive.with_valid_first(table, list(found[0] if name == "pep" else found))
    allowed = naive.may_be_first(table)
    if expected[0] not in allowed:  # the most accurate of these is added, or replaces the last
        best = naive.best({t: naive.n_correct(table, y, t) for t in allowed})
        expected = [best, *expected][:keep]
    assert selected(name, votes, keep) == expected


@given(abstaining(most_members=5, most_samples=25), st.data())
def test_sets_of_the_pareto_front_have_a_member_that_answers_enough(drawn, data):
    votes, y, table = drawn
    keep = data.draw(st.integers(1, votes.n_members))
    allowed = set(naive.may_be_first(table))
    everything = [s for s in naive_pareto.judged_sets(table, y, keep) if allowed & set(s[0])]
    found = []
    for s in everything:
        beaten = any(naive_pareto.beats(z, s) for z in everything)
        if not beaten and not any(naive_pareto.covers(z, s) for z in found):
            found.append(s)
    expected = [list(s[0]) for s in sorted(found, key=lambda s: (-s[1], s[2]))]
    pruner = ParetoCOMEP(keep, 0).fit(votes)
    assert pruner.pareto_front_["members"].tolist() == expected
    assert pruner.member_indices_[0] in allowed


def soft_table(seed, n_samples, n_members, n_classes):
    """Probabilities in eighths with abstentions: masked, and for the twins; with labels."""
    rng = np.random.default_rng(seed)
    shares = rng.multinomial(8, np.ones(n_classes) / n_classes, size=(n_samples, n_members)) / 8
    mask = rng.random((n_samples, n_members)) < rng.choice([0.1, 0.5, 0.95], size=n_members)
    mask[0, 0] = False
    y = rng.integers(n_classes, size=n_samples)
    y[:n_classes] = np.arange(n_classes)
    table = [
        [None if gone else list(map(Fraction, row)) for row, gone in zip(rows, lost)]
        for rows, lost in zip(shares.tolist(), mask)
    ]
    masked = np.ma.array(shares, mask=np.repeat(mask[:, :, None], n_classes, axis=2))
    return Predictions.encode(masked, y, missing="wrong"), table, y.tolist()


SOFT = st.tuples(
    *(st.integers(0, 2**32), st.integers(4, 20), st.integers(1, 5), st.sampled_from([2, 3]))
)


def error_vectors(table, y, n_classes):
    """Probabilities with one more class for abstentions, and the true vectors."""
    abstains = naive_scores.one_hot(n_classes, range(n_classes + 1))
    outputs = [[abstains if p is None else [*p, Fraction(0)] for p in row] for row in table]
    return outputs, [naive_scores.one_hot(label, range(n_classes + 1)) for label in y]


@given(SOFT, st.data())
def test_a_missing_probability_is_as_bad_as_a_wrong_label_in_squared_errors(sizes, data):
    predictions, table, y = soft_table(*sizes)
    keep = data.draw(st.integers(1, predictions.n_members))
    outputs, truth = error_vectors(table, y, sizes[3])
    pruner = JointErrorPruner(keep).fit(predictions)
    assert pruner.member_indices_.tolist() == naive_scores.joint_error(outputs, truth, keep)
    G = naive_scores.error_matrix(outputs, truth)
    own = [float(G[t][t]) for t in range(len(G))]
    assert predictions.squared_errors == pytest.approx(own)
    assert pruner.objective_ == pytest.approx(
        float(naive_scores.squared_error(G, pruner.member_indices_.tolist()))
    )


def test_equal_means_stay_tied_in_the_objective_of_ensemble_selection():
    predictions, table, y = soft_table(0, 16, 5, 2)
    frequencies = [Fraction(y.count(label), len(y)) for label in (0, 1)]
    pruner = make_pruner("caruana", keep=3, max_models=6, scoring="roc_auc").fit(predictions)
    bag = [m for m, w in zip(pruner.member_indices_, pruner.weights_) for _ in range(round(6 * w))]
    ranks = []
    for row in table:
        answers = [row[m][1] for m in bag if row[m] is not None]
        ranks.append(sum(answers) / len(answers) if answers else frequencies[1])
    pairs = [(a, b) for a, ya in zip(ranks, y) for b, yb in zip(ranks, y) if ya < yb]
    area = Fraction(sum(2 * (a < b) + (a == b) for a, b in pairs), 2 * len(pairs))
    assert len(bag) == 6
    assert pruner.objective_ == float(area)


@pytest.mark.parametrize(
    "scoring",
    [
        *(naive_selection.accuracy, naive_selection.balanced_accuracy, naive_selection.roc_auc),
        *(naive_selection.neg_log_loss, naive_selection.neg_brier_score),
    ],
    ids=lambda scoring: scoring.__name__,
)
@given(sizes=SOFT, data=st.data())
def test_ensemble_selection_scores_samples_without_answers(scoring, sizes, data):
    n_classes = 2 if scoring.__name__ == "roc_auc" else sizes[3]
    predictions, table, y = soft_table(*sizes[:3], n_classes)
    keep = data.draw(st.integers(1, predictions.n_members))
    is_labels = "accuracy" in scoring.__name__
    frequencies = [Fraction(y.count(label), len(y)) for label in range(n_classes)]
    votes = [[naive.ABSTAINS if p is None else 0 for p in row] for row in table]
    bag, scores, n_steps = naive_selection.select(
        *(table, y, scoring),
        keep=keep,
        max_models=6,
        fallback=naive.ABSTAINS if is_labels else frequencies,
        first=None if is_labels else naive.may_be_first(votes),
    )
    pruner = make_pruner("caruana", keep=keep, max_models=6, scoring=scoring.__name__)
    pruner.fit(predictions)
    expected, weights = naive_selection.multiplicities(bag, n_steps)
    assert pruner.member_indices_.tolist() == expected
    assert pruner.weights_ == pytest.approx(list(map(float, weights)))
    assert pruner.objective_ == pytest.approx(float(scores[n_steps - 1]), abs=1e-6)
    if not is_labels or not has_tied_means(table, bag[:n_steps]):
        groups, shares = [pruner.member_indices_.tolist()], {0: pruner.weights_}
        curve = score_curve(
            predictions,
            groups,
            Scoring.from_scorer(scoring.__name__, predictions.classes),
            group_weights=shares,
        )
        assert curve.values[0] == pytest.approx(pruner.objective_, abs=1e-6)


def has_tied_means(table, bag):
    """Whether classes tie somewhere, so that rounding of the mean may decide."""
    means = [naive_selection.mean(said) for n in range(len(table))
             if (said := naive_selection.said(table, bag, n))]  # fmt: skip
    return any(sorted(mean)[-1] == sorted(mean)[-2] for mean in means)


def value_table(seed, n_samples=30, n_members=5):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_samples) + rng.choice([0, 100])
    values = y[:, None] + rng.normal(size=(n_samples, n_members)) * rng.uniform(0.1, 2, n_members)
    mask = rng.random(values.shape) < rng.choice([0.1, 0.5, 0.95], size=n_members)
    mask[0, 0] = False
    return np.ma.array(values, mask=mask), y


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_a_missing_value_is_the_mean_of_the_target(seed, keep):
    values, y = value_table(seed)
    predictions = Predictions.encode(values, y, missing="wrong")
    filled = values.filled(y.mean())
    errors = ((filled - y[:, None]) ** 2).mean(axis=0)
    assert predictions.squared_errors == pytest.approx(errors, rel=1e-6)
    pruner = JointErrorPruner(keep).fit(predictions)
    members = pruner.member_indices_
    mean_error = ((filled[:, members].mean(axis=1) - y) ** 2).mean()
    assert pruner.objective_ == pytest.approx(mean_error, rel=1e-5, abs=1e-9)
    mean = np.ma.filled(values[:, members].mean(axis=1), y.mean())
    assert predictions.average(members) == pytest.approx(mean, rel=1e-6, abs=1e-7)  # fixed point
    for scoring in ("neg_mean_squared_error", "neg_mean_absolute_error", "r2", "neg_max_error"):
        selection = make_pruner("caruana", keep=keep, scoring=scoring).fit(predictions)
        by_curve = score_curve(
            predictions,
            [selection.member_indices_.tolist()],
            Scoring.from_scorer(scoring),
            group_weights={0: selection.weights_},
        )
        assert by_curve.values[0] == pytest.approx(selection.objective_, abs=1e-6)


def poor_panel(seed, kind="labels", n_samples=120):
    """A member that answers 5 % of the samples perfectly, at a random place, among poor members."""
    rng = np.random.default_rng(seed)
    n_classes, n_members = int(rng.integers(2, 5)), int(rng.integers(3, 8))
    y = rng.integers(n_classes, size=n_samples)
    place = int(rng.integers(n_members))
    skill = rng.uniform(0.1, 0.9, size=n_members)
    votes = np.where(
        rng.random((n_samples, n_members)) < skill,
        y[:, None],
        rng.integers(n_classes, size=(n_samples, n_members)),
    )
    votes[:, place] = y
    mask = rng.random(votes.shape) < 0.3 * rng.integers(2)
    mask[:, place] = True
    mask[rng.permutation(n_samples)[: n_samples // 20], place] = False
    if kind == "values":
        noise = rng.normal(size=votes.shape) * rng.uniform(0.2, 9, n_members)
        noise[:, place] = 0
        return place, Predictions.encode(np.ma.array(y[:, None] + noise + 0.25, mask=mask),
                                         y + 0.25, missing="wrong")  # fmt: skip
    if kind == "labels":
        return place, Votes.encode(np.ma.array(votes, mask=mask), y, missing="wrong")
    sure = np.eye(n_classes)[votes] * 0.98 + 0.02 / n_classes  # overconfident
    masked = np.ma.array(sure, mask=np.repeat(mask[:, :, None], n_classes, axis=2))
    return place, Predictions.encode(masked, y, missing="wrong")


@pytest.mark.parametrize("name", SELECTIVE)
@given(seed=st.integers(0, 2**32), keep=st.integers(1, 3))
def test_a_member_that_answers_few_samples_is_never_selected_first(name, seed, keep):
    kinds = {"labels": "labels", "probabilities": "probabilities", "numbers": "values"}
    for output in METHODS[name].traits.outputs:
        place, outputs = poor_panel(seed, kinds[output])
        assert selected(name, outputs, keep)[0] != place


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "roc_auc_ovr", "f1_macro"])
@given(seed=st.integers(0, 2**32))
def test_no_score_selects_it_first_or_alone(scoring, seed):
    place, predictions = poor_panel(seed, "probabilities", n_samples=60)
    pruner = make_pruner("caruana", keep=2, scoring=scoring, max_models=8).fit(predictions)
    assert pruner.member_indices_[0] != place


@pytest.mark.parametrize(
    "pruner",
    [COMEP(3, 1.0), COMEP(3, 1.0, refine=True), COMEP(3, start="random", random_state=0)]
    + [COMEP(3, start="every"), COMEP(2, 0.0, start="relevance")]
    + [ClusterPruner(1, representative=kind) for kind in ("distant", "medoid")]
    + [make_pruner("caruana", keep=2, n_bags=3, random_state=0)],
    ids=str,
)
@pytest.mark.parametrize("seed", range(8))
def test_no_parameters_select_it_first(pruner, seed):
    place, votes = poor_panel(seed)
    assert pruner.fit(votes).member_indices_[0] != place


@pytest.mark.parametrize("pruner", ["best", "joint", "caruana", "auto", "comep", "re"])
def test_a_table_with_an_abstaining_member_keeps_a_good_one(pruner):
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], size=400)
    wrong = np.where(y == "no", "yes", "no")
    good = [np.where(rng.random(400) < 0.9, y, wrong) for _ in range(3)]
    mask = np.zeros((400, 4), dtype=bool)
    mask[20:, 3] = True
    table = np.ma.array(np.stack([*good, y], axis=1), mask=mask)
    pruning = prune(table, y=y, pruner=pruner, keep=1)
    assert pruning.member_indices.tolist() != [3]
    assert pruning.summary().loc["accuracy", "after"] > 0.85


@st.composite
def renamed(draw):
    """Votes without ties and with abstentions, labels, and new codes of the classes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_members, n_samples = draw(st.integers(3, 6)), draw(st.integers(8, 60))
    n_classes = draw(st.sampled_from([2, 3, 5]))
    votes = np.repeat(rng.integers(n_classes, size=(n_samples, 1)), n_members, axis=1)
    y = np.where(rng.random(n_samples) < 0.6, votes[:, 0], rng.integers(n_classes, size=n_samples))
    mask = rng.random(votes.shape) < rng.choice([0.2, 0.6, 0.95], size=n_members)
    mask[0, 0] = False
    return votes, mask, y, rng.permutation(n_classes)


@pytest.mark.parametrize("name", METHODS)
@given(case=renamed(), keep=st.integers(1, 3))
def test_names_and_order_of_classes_do_not_matter(name, case, keep):
    votes, mask, y, order = case
    results = []
    for names in (np.arange(len(order)), order, np.array(list("qwert"))[order]):
        encoded = Votes.encode(np.ma.array(names[votes], mask=mask), names[y], missing="wrong")
        fitted = quick(name, keep=keep).fit(encoded)
        results.append(
            (fitted.member_indices_.tolist(), fitted.scores_, fitted.score(encoded, names[y]))
        )
    for members, scores, accuracy in results[1:]:
        assert members == results[0][0]
        np.testing.assert_allclose(scores, results[0][1], rtol=1e-9, atol=1e-9)
        assert accuracy == results[0][2]


@pytest.mark.parametrize("missing", ["wrong", "ignore"])
@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1_macro"])
def test_held_out_scores_do_not_depend_on_names_of_classes(scoring, missing):
    rng = np.random.default_rng(3)
    votes = np.repeat(rng.integers(3, size=(90, 1)), 5, axis=1)
    y = np.where(rng.random(90) < 0.7, votes[:, 0], rng.integers(3, size=90))
    mask = rng.random(votes.shape) < 0.5
    folds = [(np.flatnonzero(np.arange(90) % 3 != k), np.arange(k, 90, 3)) for k in range(3)]
    results = []
    for names in (np.array([0, 1, 2]), np.array([2, 0, 1]), np.array(["b", "c", "a"])):
        table = np.ma.array(names[votes], mask=mask)
        options = {"scoring": scoring, "missing": missing, "cv": folds, "random_state": 0}
        comparison = compare(table, y=names[y], methods=["re"], keep=[1, 2], **options)
        board = comparison.leaderboard().query("keep > 0").sort_values(["method", "keep"])
        pruning = prune(table, y=names[y], pruner="re", keep=2, **options)
        test = pruning.summary(table[:40], names[y][:40]).to_numpy()
        results.append((board[scoring].to_numpy(), pruning.summary().to_numpy(), test))
    for others in results[1:]:
        for mine, first in zip(others, results[0], strict=True):
            np.testing.assert_allclose(mine, first, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:12 of 12 test samples")
def test_scores_count_a_sample_without_answers_as_wrong_even_if_the_fallback_is_right():
    y = np.array([0] * 8 + [1] * 4)
    votes = np.ma.array(np.stack([y, y], axis=1), mask=np.zeros((12, 2), dtype=bool))
    votes[:6] = np.ma.masked  # of the most frequent class
    pruner = make_pruner("best", keep=1).fit(Votes.encode(votes, y, missing="wrong"))
    assert pruner.predict(votes).tolist() == y.tolist()
    assert pruner.score(votes, y) == 0.5
    pruning = prune(votes, y=y, pruner="best", keep=1)
    summary = pruning.summary(votes, y)
    assert summary.loc[["accuracy", "coverage"], "after"].tolist() == [0.5, 0.5]


def test_predict_returns_the_most_frequent_class_without_answers():
    votes = np.ma.array([["a", "b"], ["b", "b"], ["b", "a"]], mask=[[1, 1], [0, 0], [0, 1]])
    for y, expected in ((["c", "c", "b"], "c"), (["c", "b", "b"], "b")):
        assert make_pruner("best", keep=1).fit(votes, y).predict(votes)[0] == expected
    assert make_pruner("es", keep=1).fit(votes).predict(votes)[0] == "b"  # the most frequent vote
    assert Votes.encode(votes, ["c", "c", "b"]).vote()[0] == "c"
    assert Votes.encode(votes).vote()[0] == "b"


def test_probability_scores_use_class_frequencies_of_the_validation_labels():
    y = np.array([0, 0, 0, 1, 1])
    shares = np.repeat(np.eye(2)[y][:, None], 2, axis=1) * 0.8 + 0.1
    mask = np.zeros(shares.shape, dtype=bool)
    mask[0] = mask[3] = True
    table, folds = np.ma.array(shares, mask=mask), [([1, 2, 4], [0, 3]), ([0, 3], [1, 2, 4])]
    pruning = prune(table, y=y, pruner="best", keep=1, scoring="neg_log_loss", cv=folds)
    expected = -np.mean(np.log([0.6, 0.9, 0.9, 0.4, 0.9]))
    assert pruning.summary().loc["log loss", "after"] == pytest.approx(expected, abs=1e-4)
    # On a test set the frequencies are still those of the validation labels.
    test = pruning.summary(table[[0, 3]], np.array([0, 1]))
    expected = -np.mean(np.log([0.6, 0.4]))
    assert test.loc["log loss", "after"] == pytest.approx(expected, abs=1e-6)
    assert test.loc["accuracy", "after"] == 0.0


def test_the_filled_label_is_the_most_frequent_other_class():
    assert wrong_codes(np.array([2, 2, 0, 0, 1, 2]), 3).tolist() == [0, 0, 2, 2, 2, 0]
    assert wrong_codes(np.array([1, 0, 1, 0]), 2).tolist() == [0, 1, 0, 1]
    assert wrong_codes(np.array([1, 1]), 3).tolist() == [0, 0]
    assert wrong_codes(np.array([0, 0]), 1).tolist() == [0, 0]


def test_tables_are_wrong_by_default_and_out_of_bag_votes_ignored():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(8, random_state=0).fit(X, y)
    out_of_bag = prune(forest, X, y, "re", 3, oob=True)
    assert out_of_bag.votes.missing_rule == "ignore"
    problem = Problem.from_input(forest, X, y, oob=True)
    assert problem.soft_predictions.missing_rule == "ignore"
    table = collect_votes(forest, X, oob=True)
    assert make_pruner("re", keep=3).fit(table, y).member_indices_.tolist() == (
        out_of_bag.member_indices.tolist()
    )
    assert prune(table, y=y, pruner="re", keep=3, missing="ignore").member_indices.tolist() == (
        out_of_bag.member_indices.tolist()
    )
    assert prune(table, y=y, pruner="re", keep=3).votes.missing_rule == "wrong"
    with pytest.raises(InputError, match="missing='skip' is not valid"):
        prune(table, y=y, pruner="re", keep=3, missing="skip")


def test_a_member_without_any_answer_is_only_useless():
    y = [0, 1, 0, 1]
    votes = np.ma.array([[0, 0]] * 2 + [[0, 1]] * 2, mask=[[False, True]] * 4)
    for name in METHODS:
        members = quick(name, keep=1).fit(Votes.encode(votes, y, missing="wrong")).member_indices_
        assert members.tolist() == [0] or name == "random"


def test_coverage_is_reported_only_if_predictions_are_missing(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    votes = np.where(rng.random((60, 4)) < 0.8, y[:, None], 1 - y[:, None])
    complete = prune(votes, y=y, pruner="best", keep=2)
    assert "coverage" not in complete.summary().index
    assert "coverage" not in compare(votes, y=y, methods=["re"], keep=2).leaderboard().columns
    mask = np.zeros(votes.shape, dtype=bool)
    mask[:30, :3] = mask[30:45, 3] = mask[:6] = True
    table = np.ma.array(votes, mask=mask)
    pruning = prune(table, y=y, pruner="best", keep=2, random_state=0)
    kept = ~mask[:, pruning.member_indices].all(axis=1)
    summary = pruning.summary()
    assert summary.loc["coverage", ["before", "after"]].tolist() == [0.9, kept.mean()]
    assert any("Coverage, " in remark and "50.0 %" in remark for remark in summary.attrs["remarks"])
    comparison = compare(table, y=y, methods=["best"], keep=2, random_state=0)
    row = comparison.leaderboard().query("method == 'best'").iloc[0]
    members = comparison.members("best", 2)
    assert row["coverage"] == (~mask[:, members].all(axis=1)).mean()
    assert any("65.0 %" in note for note in comparison.notes)
    page = comparison.report(tmp_path / "page.html").read_text()
    assert "<th>coverage" in page or ">coverage<" in page
    assert list(comparison.member_coverage.values()) == [0.5, 0.5, 0.5, 0.65]
    assert summary.attrs["coverage"].keys() == set(pruning.member_names)


@pytest.mark.parametrize("name", SELECTIVE)
@given(drawn=abstaining(most_members=5, most_samples=30), data=st.data())
def test_batches_give_the_same_result_as_one_fit(name, drawn, data):
    votes, y, _ = drawn
    cut = data.draw(st.integers(1, len(y)))
    batched = quick(name)
    for rows in (np.arange(cut), np.arange(cut, len(y))):
        if len(rows):
            batched.partial_fit(votes.rows(rows))
    assert batched.member_indices_.tolist() == quick(name).fit(votes).member_indices_.tolist()


@pytest.mark.parametrize("name", ["comep", "joint"])
def test_stores_hold_what_a_missing_prediction_means(name, tmp_path):
    for seed, kind in enumerate(("labels", "probabilities", "values")):
        if name == "comep" and kind != "labels":
            continue
        _, outputs = poor_panel(seed, kind)
        folder = tmp_path / kind
        if isinstance(outputs, Votes):
            VoteStore.from_votes(folder, outputs, tile_members=2)
            store = VoteStore.open(folder)
        else:
            PredictionStore.from_scores(folder, outputs, tile_members=2)
            store = PredictionStore.open(folder)
        assert store.missing_rule == "wrong"
        pruner = make_pruner(name, keep=2)
        for shard in ("members", "rows"):
            from_store = pruner.set_params(shard=shard).fit(store)
            expected = make_pruner(name, keep=2).fit(outputs)
            assert_array_equal(from_store.member_indices_, expected.member_indices_)
            assert_array_equal(from_store.scores_, expected.scores_)
