"""compare() and what it gives: honest figures, a leaderboard, a front, and models."""

import math
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import cases
import naive
from secateurs import COMEP, DREP, PEP, ReducedErrorPruner, all_pruners, compare, make_pruner, prune
from secateurs._methods import baseline_methods
from secateurs.comparison import FULL_ENSEMBLE, SINGLE_BEST, Comparison
from secateurs.evaluation.auto_method import advised_method
from secateurs.evaluation.selections import longest_order
from secateurs.exceptions import InputError
from secateurs.outputs.stratified_folds import stratified_fold_indices
from secateurs.problem import Problem
from secateurs.pruners.selector import pruner_label
from secateurs.report.leaderboard_table import pareto_mask

X, CODES = make_classification(
    900, 8, n_informative=5, n_classes=3, n_clusters_per_class=1, flip_y=0.2, random_state=2
)
Y = np.array(["ant", "bee", "cat"])[CODES]
FIT, CHOOSE, TEST = slice(0, 300), slice(300, 500), slice(500, 900)
TIMES = ["ms", "seconds"]


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(20, min_samples_leaf=4, random_state=0).fit(X[FIT], Y[FIT])


@pytest.fixture(scope="module")
def tested(forest):
    test = {"X_test": X[TEST], "y_test": Y[TEST]}
    return compare(forest, X[CHOOSE], Y[CHOOSE], keep=[1, 3, 8], random_state=0, **test)


def line_of(board, method, keep):
    (line,) = board[(board["method"] == method) & (board["keep"] == keep)].to_dict("records")
    return line


def test_every_method_at_every_size_is_as_accurate_as_the_model_it_makes(tested, forest):
    board = tested.leaderboard()
    names = [name for name in tested.curves if name != SINGLE_BEST]
    assert len(names) == len(all_pruners())
    assert len(board) == 3 + 3 * len(names)  # with the full ensemble and two baselines
    for name in names:
        for keep in (1, 3, 8):
            model = tested.pruning(name, keep).estimator
            line = line_of(board, name, keep)
            assert line["members"] == model.n_estimators <= keep
            assert line["accuracy"] == pytest.approx(model.score(X[TEST], Y[TEST]), abs=1e-12)
    whole = line_of(board, FULL_ENSEMBLE, 20)
    assert whole["accuracy"] == pytest.approx(forest.score(X[TEST], Y[TEST]), abs=1e-12)


@pytest.mark.filterwarnings("ignore:KLDivergencePruner got no distributions")
def test_methods_choose_as_they_do_by_themselves(tested, forest):
    for name, curve in tested.curves.items():
        for keep in (1, 3, 8) if name != SINGLE_BEST else (1,):
            fresh = next(iter(curve.selection.fitted_pruners.values())).with_keep(keep)
            alone = fresh.fit(tested.problem.predictions_for(fresh))
            pruning = tested.pruning(name, keep)
            assert pruning.member_indices.tolist() == alone.member_indices_.tolist()
            assert pruning.pruner.scores_ == pytest.approx(alone.scores_)
            assert pruning.pruner.support_.tolist() == alone.support_.tolist()
            if hasattr(alone, "objective_"):
                assert pruning.pruner.objective_ == pytest.approx(alone.objective_)
    by_prune = prune(forest, X[CHOOSE], Y[CHOOSE], "re", keep=8)
    assert tested.pruning("re", 8).member_indices.tolist() == by_prune.member_indices.tolist()
    comep = tested.pruning("comep λ=0.5", 3).pruner
    assert comep.objective_ <= comep.upper_bound_ + 1e-12


def test_the_first_word_names_a_line_unless_two_have_it(forest):
    methods = [COMEP(diversity_weight=0.2), COMEP(diversity_weight=0.8), DREP(rho=0.2)]
    found = compare(forest, X[CHOOSE], Y[CHOOSE], methods, keep=3, random_state=0)
    in_full = found.members("drep rho=0.2", 3)
    assert found.members("drep", 3) == in_full
    assert found.pruning("drep", 3).member_indices.tolist() == in_full
    with pytest.raises(InputError, match=r"method='comep'.*comep λ=0\.2.*comep λ=0\.8"):
        found.pruning("comep", 3)


def test_change_and_interval_are_of_paired_rows(tested, forest):
    board = tested.leaderboard()
    before = forest.predict(X[TEST]) == Y[TEST]
    for name in ("re", "best", *baseline_methods()):
        after = tested.pruning(name, 3).estimator.predict(X[TEST]) == Y[TEST]
        differences = after.astype(float) - before
        error = differences.std() / math.sqrt(len(differences))
        line = line_of(board, name, 3)
        assert line["change"] == pytest.approx(differences.mean())
        assert line["low"] == pytest.approx(differences.mean() - 1.959964 * error)
        assert line["high"] == pytest.approx(differences.mean() + 1.959964 * error)
        assert line["standard_error"] == pytest.approx(after.std() / math.sqrt(len(after)))


def test_costs_grow_with_the_members(tested, forest):
    board = tested.leaderboard()
    sizes = [line_of(board, "re", keep)["bytes"] for keep in (1, 3, 8)]
    assert sizes == sorted(sizes)
    assert sizes[-1] < line_of(board, FULL_ENSEMBLE, 20)["bytes"]
    assert (board["ms"][board["members"] > 0] > 0).all()
    assert (board["seconds"] >= 0).all()


def test_methods_that_order_members_are_followed_through_all_sizes_by_one_fit(tested, forest):
    for name, curve in tested.curves.items():
        selection = curve.selection
        pruner = next(iter(selection.fitted_pruners.values()))
        if pruner.is_nested and name != SINGLE_BEST:
            assert selection.sizes.tolist() == list(range(1, 21))
            assert len(selection.fitted_pruners) == 1
            assert curve.by_own_vote.n_right[-1] == (forest.predict(X[TEST]) == Y[TEST]).sum()
            assert tested.pruning(name, 13).estimator.n_estimators == 13
        else:
            assert selection.sizes.tolist() == ([1] if name == SINGLE_BEST else [1, 3, 8])


def test_milliseconds_lie_on_one_line_by_the_number_of_members(tested):
    board = tested.leaderboard().query("members > 0")
    board = board.drop_duplicates("members").sort_values("members")
    slopes = np.diff(board["ms"]) / np.diff(board["members"])
    assert slopes == pytest.approx(slopes[0])
    by_members = tested.leaderboard().query("members > 0").groupby("members")["ms"]
    assert (by_members.max() == by_members.min()).all()


def test_orders_of_thousands_of_members_are_short_even_with_few_samples():
    rng = np.random.default_rng(0)
    problem = Problem.from_input(rng.integers(0, 2, (500, 5000)), y=rng.integers(0, 2, 500))
    largest, (remark,) = longest_order(problem, [50])
    assert 100 <= largest <= 256
    assert f"up to {largest} of the 5,000 members" in remark


def test_orders_that_would_take_too_long_are_cut_and_said_to_be(monkeypatch, forest):
    monkeypatch.setattr("secateurs.evaluation.selections._MIN_ORDER", 4)
    monkeypatch.setattr("secateurs.evaluation.selections._MIN_SAMPLES", 1)
    monkeypatch.setattr("secateurs.evaluation.selections._MAX_WORK", 20 * 200 * 7)
    given = {"X_test": X[TEST], "y_test": Y[TEST], "random_state": 0}
    found = compare(forest, X[CHOOSE], Y[CHOOSE], ["re"], [3], **given)
    assert found.curves["re"].selection.sizes.tolist() == list(range(1, 8))
    assert "Methods are evaluated up to 7 of the 20 members, because ordering all" in found.notes[1]
    more = compare(forest, X[CHOOSE], Y[CHOOSE], ["re"], [3, 5], **given)
    assert more.curves["re"].selection.sizes.tolist() == list(range(1, 11))  # twice those asked for


def test_a_score_that_counts_no_rows_is_computed_for_some_sizes(monkeypatch, forest):
    monkeypatch.setattr("secateurs.evaluation.selections._MAX_SCORED_SIZES", 6)
    given = {"X_test": X[TEST], "y_test": Y[TEST], "random_state": 0}
    found = compare(forest, X[CHOOSE], Y[CHOOSE], ["re"], [5], scoring="neg_log_loss", **given)
    curve = found.curves["re"]
    assert curve.selection.sizes.tolist() == [1, 2, 3, 5, 6, 11, 20]
    whole = line_of(found.leaderboard(), FULL_ENSEMBLE, 20)
    assert curve.main_score.values[-1] == pytest.approx(whole["neg_log_loss"])
    line = line_of(found.leaderboard(), "re", 5)
    assert line["neg_log_loss"] == curve.main_score.values[3]
    assert found.pruning("re", 7).estimator.n_estimators == 7


def test_warnings_are_of_the_sizes_asked_for_and_not_of_whole_orders():
    votes, y = cases.make(0, 80, 2, ["noisy"] * 8 + ["random"] * 6)
    by_relevance = COMEP(diversity_weight=0.0)
    with pytest.warns(
        UserWarning, match="of the 14 selected members agree with y less than chance"
    ):
        by_relevance.with_keep(14).fit(votes, y)
    found = compare(votes, None, y, [by_relevance], [2], random_state=0)
    assert not any("less than chance" in note for note in found.notes)
    wrong, y = cases.make(0, 80, 2, ["noisy"] * 8 + ["wrong"])
    found = compare(wrong, None, y, [by_relevance], [2], random_state=0)
    assert any("1 of the 2 selected members agrees with y" in note for note in found.notes)


def test_the_leaderboard_has_the_most_accurate_first_and_may_be_changed(tested):
    board = tested.leaderboard()
    assert board["accuracy"].is_monotonic_decreasing
    board["accuracy"] = 0.0
    assert tested.leaderboard()["accuracy"].max() > 0.5


def test_the_front_has_what_nothing_else_beats(tested):
    board, front = tested.leaderboard().query("members > 0"), tested.pareto()
    lines = list(zip(board["bytes"], board["accuracy"]))
    beaten = [
        any((c < mine and a >= good) or (c <= mine and a > good) for c, a in lines)
        for mine, good in lines
    ]
    assert (~board["pareto"]).tolist() == beaten
    assert front["bytes"].is_monotonic_increasing
    assert front["accuracy"].is_monotonic_increasing
    assert len(front) == board["pareto"].sum() < len(board)


def test_a_front_by_hand():
    cost, accuracy = [1, 1, 2, 3, 3, 4], [0.5, 0.6, 0.6, 0.9, 0.9, 0.8]
    assert pareto_mask(cost, accuracy) == [False, True, False, True, True, False]


def test_the_best_is_the_smallest_within_the_tolerance_or_else_the_best_of_what_auto_takes(tested):
    board = tested.leaderboard()
    method, keep = tested.best
    assert method not in {FULL_ENSEMBLE, SINGLE_BEST, *baseline_methods()}
    own = line_of(board, method, keep)
    if own["change"] >= -0.005 - 1e-12:
        smaller = [size for size in tested.sizes if size < keep]
        taken = [
            advised_method(tested, [n for n in tested.curves if n != SINGLE_BEST], s)
            for s in smaller
        ]
        for name, size in zip(taken, smaller):
            assert line_of(board, name, size)["change"] < -0.005
    assert tested.pruning().pruner.get_params()["keep"] == keep


def test_advice_says_what_to_take_in_one_line(tested):
    method, keep = tested.best
    line = line_of(tested.leaderboard(), method, keep)
    told = tested.advice
    assert told.startswith(f"use {method} with {line['members']} members: accuracy ")
    assert f"{line['accuracy']:.3f}" in told
    assert told.endswith(f"the full ensemble of 20; {20 / line['members']:.3g} × smaller")
    assert "\n" not in told


def test_what_every_method_must_beat_is_always_there(forest):
    found = compare(forest, X[CHOOSE], Y[CHOOSE], ["re"], keep=4, random_state=0).leaderboard()
    expected = {"re", SINGLE_BEST, FULL_ENSEMBLE, "majority class", *baseline_methods()}
    assert set(found["method"]) == expected
    (members,) = found[found["method"] == SINGLE_BEST]["members"]
    assert members == 1


def test_cross_fitting_chooses_on_four_fifths_and_judges_on_the_fifth(forest):
    pruners = [ReducedErrorPruner(), COMEP(diversity_weight=0.2), ReducedErrorPruner(backfit=True)]
    found = compare(forest, X[CHOOSE], Y[CHOOSE], pruners, [2, 5], random_state=0)
    X_choose, y = X[CHOOSE], Y[CHOOSE]
    shares = np.stack([tree.predict_proba(X_choose) for tree in forest.estimators_])
    votes = np.array(["ant", "bee", "cat"])[shares.argmax(axis=2)].T
    parts = list(stratified_fold_indices(CODES[CHOOSE], np.random.RandomState(found.split.seed)))
    assert sorted(np.concatenate([held_out for _, held_out in parts])) == list(range(200))
    for pruner in pruners:
        for keep in (2, 5):
            right = []
            for chosen_on, held_out in parts:
                members = pruner.with_keep(keep).fit(votes[chosen_on], y[chosen_on]).member_indices_
                winner = shares[members][:, held_out].sum(axis=0).argmax(axis=1)
                right.append(winner == CODES[CHOOSE][held_out])
            line = line_of(found.leaderboard(), pruner_label(pruner), keep)
            assert line["accuracy"] == pytest.approx(np.concatenate(right).mean())
    assert "cross-validated on 200 validation samples" in found.judged_on
    whole = line_of(found.leaderboard(), FULL_ENSEMBLE, 20)
    assert whole["accuracy"] == pytest.approx(forest.score(X_choose, y))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_predictions_are_counted_as_labels(n_classes):
    votes, y = cases.make(3, 60, n_classes, ["noisy"] * 6 + ["constant", "copy"])
    test_votes, test_y = cases.make(4, 80, n_classes, ["noisy"] * 8)
    found = compare(votes, None, y, ["re", "oep"], [3], X_test=test_votes, y_test=test_y)
    board = found.leaderboard()
    for name, twin in (("re", naive.reduced_error), ("oep", naive.oep)):
        members = twin(votes, y, 3)
        wrong = naive.errors(test_votes, test_y, members)
        assert line_of(board, name, 3)["accuracy"] == pytest.approx(1 - wrong / 80)
        assert found.pruning(name, 3).member_indices.tolist() == members
    assert board["bytes"].isna().all()
    assert board["ms"].isna().all()
    assert found.cost == "members"


def test_probabilities_are_added_up(forest):
    given = np.stack([tree.predict_proba(X[CHOOSE]) for tree in forest.estimators_], axis=1)
    test = np.stack([tree.predict_proba(X[TEST]) for tree in forest.estimators_], axis=1)
    found = compare(given, None, CODES[CHOOSE], ["re"], 4, X_test=test, y_test=CODES[TEST])
    members = found.pruning("re", 4).member_indices
    right = test[:, members].sum(axis=1).argmax(axis=1) == CODES[TEST]
    line = line_of(found.leaderboard(), "re", 4)
    assert line["accuracy"] == pytest.approx(right.mean())
    labels = test.argmax(axis=2)
    counted = (labels[:, members][:, :, None] == np.arange(3)).sum(axis=1).argmax(axis=1)
    assert right.mean() != pytest.approx((counted == CODES[TEST]).mean())  # a case that tells


class Counting(ReducedErrorPruner):
    fits = 0

    def fit(self, votes, y=None):
        type(self).fits += 1
        return super().fit(votes, y)


class CountingUnnested(Counting):
    is_nested = False


class CountingWithWarning(Counting):
    def _selection_warnings(self, votes, members):
        yield f"{len(members)} members are kept"


@pytest.mark.parametrize(
    ("kind", "tested", "n_fits"),
    [
        (Counting, True, 1),
        (Counting, False, 6),
        (CountingWithWarning, False, 6),
        (CountingUnnested, True, 3),
        (CountingUnnested, False, 18),
    ],
)
def test_nothing_is_fitted_twice(kind, tested, n_fits):
    kind.fits = 0
    votes, y = cases.plain(10, 60)
    test = {"X_test": votes, "y_test": y} if tested else {}
    found = compare(votes, None, y, [kind()], [2, 5, 7], **test)
    found.leaderboard()
    found.pruning(kind.__name__, 5)
    assert kind.fits == n_fits
    warned = [note for note in found.notes if "members are kept" in note]
    is_warned = kind is CountingWithWarning
    assert warned == ["CountingWithWarning: 7 members are kept"] * is_warned


def test_threads_run_methods_side_by_side(forest):
    meeting = threading.Barrier(2)

    def first_members(votes, y, keep):
        meeting.wait(300)
        return range(keep)

    methods = {"one": first_members, "two": first_members}
    compared = compare(forest, X[CHOOSE], Y[CHOOSE], methods, keep=[3], n_jobs=2)
    assert compared.curves["one"].selection.members_at(3) == [0, 1, 2]


@pytest.mark.parametrize("scoring", [None, "roc_auc_ovr"])
def test_the_number_of_threads_does_not_change_the_results(forest, scoring):
    tables = [
        compare(
            forest,
            X[CHOOSE],
            Y[CHOOSE],
            keep=[2, 5],
            scoring=scoring,
            n_jobs=n_jobs,
            random_state=0,
        )
        for n_jobs in (None, 2)
    ]
    one, two = (table.leaderboard().drop(columns=["ms", "seconds", "pareto"]) for table in tables)
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    for name, curve in tables[0].curves.items():
        assert curve.selection.order == tables[1].curves[name].selection.order


def test_progress_is_told_after_each_choice():
    votes, y = cases.plain(10, 60)
    told = []
    compare(votes, None, y, ["re", "kp"], 3, callback=lambda *step: told.append(step))
    assert [done for done, _, _ in told] == list(range(1, 31))  # five methods, six choices each
    assert {total for _, total, _ in told} == {30}
    assert {best for _, _, best in told} == {None}


def test_long_searches_are_cut_short_and_said_to_be():
    votes, y = cases.plain(12, 60)
    found = compare(votes, None, y, ["pep", PEP(n_iterations=7)], 3, random_state=0)
    assert list(found.curves) == [
        "pep n_iterations=50",
        "pep n_iterations=7",
        *baseline_methods(),
        SINGLE_BEST,
    ]
    rounds = naive.auto_iterations(12)
    assert any(f"pep made 50 instead of its default {rounds}" in note for note in found.notes)
    few, y = cases.plain(3, 60)  # 3² ln 3 is 10 rounds
    assert list(compare(few, None, y, ["pep"], 2).curves) == [
        "pep",
        *baseline_methods(),
        SINGLE_BEST,
    ]


def test_methods_that_cannot_do_with_missing_votes_are_left_out_of_all(forest):
    bagging = BaggingClassifier(DecisionTreeClassifier(max_depth=4), 12, random_state=0)
    bagging.fit(X[FIT], Y[FIT])
    found = compare(bagging, X[FIT], Y[FIT], keep=4, oob=True, random_state=0)
    assert "oo" not in found.curves
    assert any(note.startswith("oo is left out") for note in found.notes)
    with pytest.raises(ValueError, match="cannot work with missing votes"):
        compare(bagging, X[FIT], Y[FIT], ["oo"], keep=4, oob=True)


def test_out_of_bag_votes_are_judged_by_out_of_bag_votes():
    bagging = BaggingClassifier(DecisionTreeClassifier(max_depth=4), 12, random_state=0)
    bagging.fit(X[FIT], Y[FIT])
    found = compare(bagging, X[FIT], Y[FIT], ["best"], keep=4, oob=True, random_state=0)
    tally = np.zeros((300, 3))
    for tree, rows in zip(bagging.estimators_, bagging.estimators_samples_):
        unseen = np.setdiff1d(np.arange(300), rows)
        tally[unseen] += tree.predict_proba(X[FIT][unseen])
    is_right = tally.argmax(axis=1) == CODES[FIT]
    expected = (is_right & tally.any(axis=1)).mean()  # without any vote, nothing is right
    whole = line_of(found.leaderboard(), FULL_ENSEMBLE, 12)
    assert whole["accuracy"] == pytest.approx(expected)


def test_the_seed_alone_decides(forest):
    given = (forest, X[CHOOSE], Y[CHOOSE], ["sep", "domep", "random"], [3])
    first, again = (compare(*given, random_state=5).leaderboard() for _ in range(2))
    other = compare(*given, random_state=6).leaderboard()
    pd.testing.assert_frame_equal(first.drop(columns=TIMES), again.drop(columns=TIMES))
    assert not first.drop(columns=TIMES).equals(other.drop(columns=TIMES))


def test_the_weight_of_diversity_goes_to_those_that_have_one(forest):
    found = compare(
        forest, X[CHOOSE], Y[CHOOSE], ["comep", "domep", "re"], 3, diversity_weight=0.25
    )
    assert list(found.curves) == [
        "comep λ=0.25",
        "domep λ=0.25",
        "re",
        *baseline_methods(),
        SINGLE_BEST,
    ]
    assert found.pruning("comep λ=0.25", 3).pruner.diversity_weight_ == 0.25


def test_labels_say_what_is_not_as_usual():
    assert pruner_label(make_pruner("kp", keep=3)) == "kp"
    assert pruner_label(COMEP(diversity_weight="auto", random_state=3)) == "comep λ=auto"
    assert pruner_label(DREP(rho=0.2, stop="strict")) == "drep rho=0.2 stop=strict"
    assert pruner_label(Counting(backfit=True)) == "Counting backfit=True"


def test_the_page_in_a_notebook_escapes_names():
    class Hostile(ReducedErrorPruner):
        pass

    Hostile.__name__ = "<script>alert(1)</script>"
    votes, y = cases.plain(6, 40)
    shown = compare(votes, None, y, [Hostile()], 2)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;alert(1)" in shown
    assert "cross-validated" in shown


def test_it_says_what_it_is(tested):
    assert isinstance(tested, Comparison)
    assert repr(tested).startswith("Comparison(RandomForestClassifier of 20 members: comep λ=0.5,")
    assert repr(tested).endswith("; 1 or 3 or 8 kept)")
    assert (
        tested.judged_on
        == "Members are selected on 200 validation samples and scored on 400 test samples."
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": None}, "y is missing"),
        ({"X": None}, "X is missing"),
        ({"keep": ()}, "has no sizes"),
        ({"keep": 21}, "asks for more members than the ensemble has"),
        ({"methods": ["comeep"]}, "Did you mean 'comep'"),
        ({"methods": "comep"}, "Pass one of: all"),
        ({"methods": ["re", 3]}, "pruner=3 is not a valid pruner. Pass a name such as"),
        ({"X_test": X[TEST]}, "X_test and y_test go together"),
        ({"y_test": Y[TEST]}, "X_test and y_test go together"),
        ({"X_test": X[TEST], "y_test": Y[:7]}, "400 samples but y_test has 7 labels"),
    ],
)
def test_what_makes_no_sense_is_refused(forest, given, message):
    arguments = {"X": X[CHOOSE], "y": Y[CHOOSE], "methods": ["re"], "keep": 3} | given
    with pytest.raises(ValueError, match=message) as caught:
        compare(forest, **arguments)
    assert "\n" not in str(caught.value)


def test_a_line_that_was_not_compared_cannot_be_had(tested):
    with pytest.raises(InputError, match="keep=9 was not compared for sep"):
        tested.pruning("sep", 9)
    with pytest.raises(ValueError, match="method='rr' is unknown"):
        tested.pruning("rr", 3)


def test_tables_of_other_members_cannot_be_tested_on():
    votes, y = cases.plain(6, 40)
    with pytest.raises(InputError, match="has 5 members, the validation table 6"):
        compare(votes, None, y, ["re"], 2, X_test=np.array(votes)[:, :5], y_test=y)


def test_a_notebook_shows_the_notes_as_a_list(tested):
    page = tested._repr_html_()
    assert '<ul class="note"><li>' in page
    assert "&lt;ul" not in page
    assert page.count("<table") == 1
