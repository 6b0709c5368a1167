"""prune() and the Pruning it returns: the right members, automatic choices, bad input."""

import pickle
import re
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier

import naive
from fitted_models import CHOOSE, CODES, FIT, MODELS, TEST, X, Y
from secateurs import (
    COMEP,
    PrunedClassifier,
    PrunedRegressor,
    Votes,
    benchmark,
    collect_votes,
    compare,
    frontier,
    make_pruner,
    prune,
)
from secateurs.exceptions import InputError
from secateurs.outputs.stratified_folds import stratified_fold_indices
from secateurs.report import render, report_data


@pytest.mark.parametrize("name", MODELS)
def test_the_members_are_those_the_pruner_chooses_from_the_votes(fitted, name):
    model = fitted[name]
    pruning = prune(model, X[CHOOSE], Y[CHOOSE], "comep", keep=3)
    votes = collect_votes(model, X[CHOOSE]).tolist()
    expected = naive.comep(votes, Y[CHOOSE].tolist(), 3, 0.5, "spread")
    assert pruning.member_indices.tolist() == expected
    assert type(pruning.estimator) is type(model)
    assert pruning.estimator.predict(X[TEST]).shape == (200,)


def test_lists_dicts_and_tables_of_predictions_are_pruned_alike(fitted):
    models = [fitted[name] for name in ("forest", "bagging", "voting", "boosting")]
    named = dict(zip("abcd", models))
    table = np.stack([model.predict(X[CHOOSE]) for model in models], axis=1)
    frame = pd.DataFrame(table, columns=list("abcd"))
    for given in (models, named):
        pruning = prune(given, X[CHOOSE], Y[CHOOSE], "comep", keep=2)
        assert len(pruning.members) == 2
        assert type(pruning.members) is type(given)
        assert pruning.estimator.predict(X[TEST]).shape == (200,)
    by_votes = prune(table, None, Y[CHOOSE], "comep", keep=2)
    assert by_votes.member_indices.tolist() == pruning.member_indices.tolist()
    assert (by_votes.members == table[:, np.sort(by_votes.member_indices)]).all()
    by_frame = prune(frame, None, Y[CHOOSE], "comep", keep=2)
    assert sorted(by_frame.members.columns) == sorted(by_frame.member_names)
    assert prune(table.tolist(), None, Y[CHOOSE], "comep", keep=2).member_indices.tolist() == (
        pruning.member_indices.tolist()
    )


def test_probabilities_vote_for_their_largest(forest):
    given = np.stack([tree.predict_proba(X[CHOOSE]) for tree in forest.estimators_], axis=1)
    pruning = prune(given, y=CODES[CHOOSE], keep=4)
    expected = prune(given.argmax(axis=2), y=CODES[CHOOSE], keep=4)
    assert pruning.member_indices.tolist() == expected.member_indices.tolist()
    assert pruning.members.shape == (200, 4, 3)


def test_the_whole_ensemble_predicts_as_before(fitted):
    for model in fitted.values():
        whole = prune(model, X[CHOOSE], Y[CHOOSE], "best", keep=1.0).estimator
        assert (whole.predict_proba(X[TEST]) == model.predict_proba(X[TEST])).all()


@pytest.mark.filterwarnings("ignore:.* has labels that the model was not trained on")
@pytest.mark.parametrize("absent", range(3))
@pytest.mark.parametrize("refit", [True, False])
def test_true_labels_that_the_model_does_not_know_count_as_errors(absent, refit):
    known = np.flatnonzero(CODES[FIT] != absent)
    forest = RandomForestClassifier(12, max_depth=3, random_state=0).fit(X[known], Y[known])
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], keep=4, refit=refit, random_state=0)
    table = pruning.summary()
    assert table.loc["accuracy", "before"] == forest.score(X[CHOOSE], Y[CHOOSE])
    table = pruning.summary(X[TEST], Y[TEST])
    assert table.loc["accuracy", "after"] == pruning.estimator.score(X[TEST], Y[TEST])


@pytest.mark.parametrize("sparse_format", ["coo", "csc", "dia", "lil", "bsr"])
@pytest.mark.filterwarnings("ignore:.*efficient")
def test_samples_of_any_sparse_format_are_pruned_as_dense_ones(forest, sparse_format):
    choose, test = (csr_matrix(X[rows]).asformat(sparse_format) for rows in (CHOOSE, TEST))
    options = {"keep": 4, "refit": True, "random_state": 0}
    dense = prune(forest, X[CHOOSE], Y[CHOOSE], "joint", **options)
    pruning = prune(forest, choose, Y[CHOOSE], "joint", X_unlabelled=test, **options)
    assert pruning.member_indices.tolist() == dense.member_indices.tolist()
    table = pruning.summary(test, Y[TEST])
    assert table.loc["accuracy", "after"] == pruning.estimator.score(X[TEST], Y[TEST])
    assert (
        pruning.summary(X=choose).loc["accuracy", "before"]
        == dense.summary().loc["accuracy", "before"]
    )
    board = compare(forest, choose, Y[CHOOSE], ["joint"], [4], random_state=0).leaderboard()
    assert board["accuracy"].between(0, 1).all()


def test_pruners_are_given_by_name_or_as_they_are(forest):
    by_name = prune(forest, X[CHOOSE], Y[CHOOSE], "re", 5, backfit=True)
    by_object = prune(forest, X[CHOOSE], Y[CHOOSE], make_pruner("re", keep=5, backfit=True))
    assert by_name.member_indices.tolist() == by_object.member_indices.tolist()
    given = COMEP(keep=3)
    prune(forest, X[CHOOSE], Y[CHOOSE], given)
    assert not hasattr(given, "support_")
    assert len(prune(forest, X[CHOOSE], Y[CHOOSE], given, keep=7).member_indices) == 7


def test_random_methods_depend_on_the_seed_alone(forest):
    first, second = (
        prune(forest, X[CHOOSE], Y[CHOOSE], "random", 5, random_state=seed) for seed in (3, 3)
    )
    assert first.member_indices.tolist() == second.member_indices.tolist()
    assert first.pruner.random_state == 3


@pytest.mark.parametrize("method", ["sep", "domep"])
def test_a_seed_that_nobody_gave_is_kept_aside(forest, method):
    options = {"n_groups": 1, "start": "random"} if method == "domep" else {"n_iterations": 30}
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], method, 5, **options)
    assert "random_state" not in repr(pruning)
    assert "random_state" not in pruning._repr_html_()
    seed = pruning.provenance()["seed"]
    again = make_pruner(method, keep=5, random_state=seed, **options).fit(pruning.votes)
    assert again.member_indices_.tolist() == pruning.member_indices.tolist()
    data = report_data(pruning)
    calls = rf'random_state={seed}|--random-state {seed}|"seed":{seed}'
    assert re.search(calls, data["reproduce"]["python"])  # or it would not be the same again
    assert str(seed) not in re.sub(calls, "", render(data))
    assert data["chosen"]["parameters"]["random_state"] is None
    assert data["reproduce"]["seed"] == seed


def test_a_comparison_shows_no_seed_that_it_drew(forest):
    found = compare(forest, X[CHOOSE], Y[CHOOSE], ["random"], 5)
    assert found.pruning("random", 5).pruner.random_state is None
    again = found.pruning("random", 5).pruner
    expected = make_pruner("random", keep=5, random_state=again._drawn_seed).fit(
        found.problem.predictions
    )
    assert expected.member_indices_.tolist() == found.members("random", 5)
    given = compare(forest, X[CHOOSE], Y[CHOOSE], ["random"], 5, random_state=4)
    expected = make_pruner("random", keep=5, random_state=4).fit(found.problem.predictions)
    assert expected.member_indices_.tolist() == given.members("random", 5)


# Automatic choices --------------------------------------------------------------------


def test_the_automatic_weight_is_the_best_on_rows_held_out(forest):
    votes = collect_votes(forest, X[CHOOSE])
    pruner = COMEP(keep=5, diversity_weight="auto", random_state=0).fit(votes, Y[CHOOSE])
    splits = list(stratified_fold_indices(CODES[CHOOSE], np.random.RandomState(0)))
    right = {}
    for weight in np.arange(11) / 10:
        right[weight] = 0
        for chosen_on, held_out in splits:
            rows, truth = votes[chosen_on].tolist(), Y[CHOOSE][chosen_on].tolist()
            members = COMEP(5, weight).fit(rows, truth).member_indices_.tolist()
            kept = votes[held_out].tolist()
            voted = [naive.vote(kept, members, n) for n in range(len(kept))]
            right[weight] += sum(a == b for a, b in zip(voted, Y[CHOOSE][held_out]))
    best = max(right.values())
    assert right[pruner.diversity_weight_] == best
    nearest = min(abs(w - 0.3) for w, count in right.items() if count == best)
    assert abs(pruner.diversity_weight_ - 0.3) == pytest.approx(nearest)
    again = COMEP(5, pruner.diversity_weight_).fit(votes, Y[CHOOSE])
    assert pruner.member_indices_.tolist() == again.member_indices_.tolist()


def test_the_automatic_method_is_one_of_ours_and_repeatable(forest):
    first, second = (
        prune(forest, X[CHOOSE], Y[CHOOSE], "auto", 5, random_state=1) for _ in range(2)
    )
    assert repr(first.pruner) == repr(second.pruner)
    assert len(first.member_indices) == 5
    by_default = prune(forest, X[CHOOSE], Y[CHOOSE], random_state=1)
    named = prune(forest, X[CHOOSE], Y[CHOOSE], "auto", keep="auto", random_state=1)
    assert by_default.member_indices.tolist() == named.member_indices.tolist()
    assert by_default.tolerance is None
    assert by_default.size_reason


def test_parameters_without_a_method_take_one_that_has_them(forest):
    assert isinstance(prune(forest, X[CHOOSE], Y[CHOOSE], diversity_weight=0.1).pruner, COMEP)
    by_name = prune(forest, X[CHOOSE], Y[CHOOSE], "auto", backfit=True).pruner
    assert repr(by_name).startswith("ReducedErrorPruner(backfit=True")
    with pytest.raises(
        InputError, match="'nonsense' is not a parameter of prune, nor of any method"
    ):
        prune(forest, X[CHOOSE], Y[CHOOSE], nonsense=1)
    for pruner in ("auto", "re"):
        with pytest.raises(InputError, match=r"'toleranc' is not .* Did you mean 'tolerance'"):
            prune(forest, X[CHOOSE], Y[CHOOSE], pruner, toleranc=0.1)


@pytest.mark.parametrize("error", [InputError, TypeError])
@pytest.mark.parametrize(
    ("function", "misspelt", "meant"),
    [
        (compare, "scorin", "'scoring'"),
        (frontier, "scorng", "'scoring'"),
        (benchmark, "methds", "'methods'"),
        (PrunedClassifier, "valdation", "'validation'"),
        (PrunedRegressor, "prunner", "'pruner'"),
    ],
)
def test_misspelt_parameters_are_suggested(forest, function, misspelt, meant, error):
    message = f"'{misspelt}' is not a parameter of {function.__name__}.* Did you mean {meant}"
    with pytest.raises(error, match=message):
        function(forest, X[CHOOSE], **{misspelt: 1})


def test_automatic_choices_work_with_out_of_bag_votes(forest):
    pruning = prune(forest, X[FIT], Y[FIT], "auto", 5, oob=True, random_state=0)
    assert pruning.votes.has_missing
    assert len(pruning.member_indices) == 5


def test_a_pruning_shows_itself(forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], "comep", keep=3)
    assert repr(pruning).startswith("Pruning(RandomForestClassifier: 3 of 25 members kept by COMEP")
    page = pruning._repr_html_()
    assert len(page) < 60_000
    assert "3 of 25" in page
    assert page.count("<svg") == 1


def test_one_of_a_kind_is_in_the_singular():
    votes = np.array([[0, 0], [1, 1], [0, 1]])
    one = prune(votes, None, [0, 1, 1], "best", 1)
    assert repr(one).startswith("Pruning(ndarray: 1 of 2 members kept")
    assert repr(one.votes) == "Votes(3 samples, 2 members, 2 classes)"
    assert repr(Votes.encode([[0]], [0])) == "Votes(1 sample, 1 member, 1 class)"


def test_foreign_names_are_escaped_in_notebooks():
    votes = pd.DataFrame({"<script>x</script>": [0, 1, 1], "b": [0, 0, 1]})
    assert "<script>" not in prune(votes, y=[0, 1, 1], keep=1)._repr_html_()


def test_the_provenance_is_plain(forest):
    note = prune(forest, X[CHOOSE], Y[CHOOSE], "comep", 3, random_state=0).provenance()
    assert note["method"] == "COMEP"
    assert note["parameters"]["keep"] == 3
    assert len(note["members"]) == len(note["scores"]) == 3
    assert note["n_members_before"] == 25


# Bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": None}, "y is missing"),
        ({"X": None}, "X is missing"),
        ({"vote": "loud"}, "vote='loud' is unknown"),
        ({"pruner": "comeep"}, "Did you mean 'comep'"),
        ({"pruner": COMEP(), "refine": True}, "Pass refine to the pruner itself"),
        ({"X": X[:5]}, "5 samples but y has 200 labels"),
        ({"keep": 99}, "keep=99 asks for more members"),
    ],
)
def test_bad_arguments_are_refused(forest, arguments, message):
    given = {"X": X[CHOOSE], "y": Y[CHOOSE]} | arguments
    with pytest.raises(ValueError, match=message):
        prune(forest, **given)


def test_pruning_leaves_the_ensemble_as_it_was(forest):
    before = pickle.dumps(forest)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prune(forest, X[CHOOSE], Y[CHOOSE], keep=3)
    assert pickle.dumps(forest) == before


def test_an_executor_chooses_the_same_members_and_tells_how_far_it_is(forest):
    rows = (X[CHOOSE], Y[CHOOSE])
    told = []
    with ThreadPoolExecutor(2) as pool:
        shared = prune(
            forest, *rows, "comep", 5, executor=pool, callback=lambda *step: told.append(step[:2])
        )
        with pytest.raises(InputError, match=r"EPFD\(KappaPruner"):
            prune(forest, *rows, "kp", 5, executor=pool)
    assert (
        shared.member_indices.tolist() == prune(forest, *rows, "comep", 5).member_indices.tolist()
    )
    collected = [(step, 25) for step in range(1, 26)]
    assert told == collected + [(step, 5) for step in range(1, 6)]
