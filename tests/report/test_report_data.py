"""The data of a report: plain values, compared with the models themselves."""

import json
import math
import warnings
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
import skops.io
from report_pages import unpack
from scipy.stats import binomtest
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.metrics import balanced_accuracy_score, confusion_matrix
from sklearn.tree import DecisionTreeClassifier

import cases
import naive
from secateurs import COMEP, DOMEP, PEP, ReducedErrorPruner, collect_votes, compare, prune
from secateurs.exceptions import InputError
from secateurs.outputs.stratified_folds import stratified_fold_indices
from secateurs.persistence.model_export import export
from secateurs.report import render, report_data
from secateurs.report._report_data import SHAPES
from secateurs.report._schema import check_shape
from secateurs.report.sections._before_after import safety_text, verdict_text

X, CODES = make_classification(
    900, 8, n_informative=5, n_classes=3, n_clusters_per_class=1, flip_y=0.2, random_state=2
)
Y = np.array(["ant", "bee", "cat"])[CODES]
FIT, CHOOSE, TEST = slice(0, 300), slice(300, 500), slice(500, 900)


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(20, min_samples_leaf=4, random_state=0).fit(X[FIT], Y[FIT])


@pytest.fixture(scope="module")
def pruning(forest):
    return prune(forest, X[CHOOSE], Y[CHOOSE], pruner="comep", keep=5, random_state=0)


@pytest.fixture(scope="module")
def tables(forest):
    """Predictions to choose on and to test on: nothing of them is timed."""
    return [collect_votes(forest, X[rows]) for rows in (CHOOSE, TEST)]


@pytest.fixture(scope="module")
def data(pruning):
    return report_data(pruning, X[TEST], Y[TEST])


@pytest.fixture(scope="module")
def crossfitted(pruning):
    return report_data(pruning)


def figure(data, name):
    (line,) = [line for line in data["before_after"] if line["figure"] == name]
    return line


def check_all(data):
    """Plain JSON, as described, and in agreement with itself."""
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    check_shape(data, SHAPES["labels"])
    assert set(data) == set(SHAPES["labels"])
    n = data["ensemble"]["n_members"]
    for course in data["courses"]:
        n_sizes = len(course["sizes"])
        assert (course["order"] is None) != (course["sets"] is None)
        for counts in (course["choosing"], course["held_out_labels"], *course["held_out"].values()):
            assert len(counts) == n_sizes
        right, lost, won = (np.array(course["held_out"][k]) for k in ("right", "lost", "won"))
        assert (right == data["whole"]["held_out"] - lost + won).all()
        sets = (
            [course["order"][:size] for size in course["sizes"]]
            if course["order"]
            else course["sets"]
        )
        assert all(len(set(group)) == len(group) and set(group) <= set(range(n)) for group in sets)
    chosen = data["courses"][data["chosen"]["course"]]
    place = chosen["sizes"].index(data["chosen"]["keep"])
    members = (
        chosen["order"][: data["chosen"]["keep"]] if chosen["order"] else chosen["sets"][place]
    )
    assert members == data["chosen"]["members"]
    total = np.array(data["confusion"]["whole"]).sum()
    if len(data["confusion"]["classes"]) == data["confusion"]["n_classes"]:
        assert sum(data["confusion"]["rows"]) == data["whole"]["n_rows"]
        # Out of bag, some samples have no prediction.
        assert total == data["whole"]["n_rows"] or data["rows"]["out_of_bag"]
    for counts in (data["losses"]["by_class"], data["losses"]["by_share"]):
        assert sum(counts["rows"]) == data["whole"]["n_rows"]


def test_all_values_are_plain_and_agree(data, crossfitted):
    check_all(data)
    check_all(crossfitted)


def test_before_and_after_is_what_the_summary_says(data, pruning):
    summary = pruning.summary(X[TEST], Y[TEST])
    for name in ("members", "accuracy", "balanced accuracy", "log loss", "megabytes"):
        line, expected = figure(data, name), summary.loc[name].to_dict()
        for column, value in expected.items():
            assert line[column] == (None if math.isnan(value) else value)


def percentile(values, percent):
    """Between the two values nearest to a place in the order, in proportion."""
    ordered = sorted(values)
    place = percent / 100 * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@pytest.mark.parametrize("rows", ["test", "chosen on"])
def test_milliseconds_are_low_percentiles_with_the_spread_of_their_timings(
    monkeypatch, pruning, rows
):
    steps = np.random.default_rng(0).uniform(0.001, 0.02, size=4000)
    ticks = iter(np.cumsum(steps).tolist())  # a clock that moves on whenever it is read
    monkeypatch.setattr(
        "secateurs.problem.latency.time", SimpleNamespace(perf_counter=lambda: next(ticks))
    )
    monkeypatch.setattr("secateurs.problem.model_costs._TIMING_SECONDS", 0.3)
    given = {"X": X[CHOOSE]} if rows == "chosen on" else {"X_test": X[TEST], "y_test": Y[TEST]}
    data = report_data(pruning, **given)
    check_all(data)
    taken = (1e3 * steps[1::2]).tolist()  # from the reading before to the one after
    for name in ("ms for 1 row", "ms for 1000 rows"):
        line = figure(data, name)
        n_repeats = len(line["timings"]["before"]["all"])
        assert 3 < n_repeats < 100
        both, taken = taken[: 2 * n_repeats], taken[2 * n_repeats :]
        for column, times in (("before", both[::2]), ("after", both[1::2])):
            spread = line["timings"][column]
            assert spread["all"] == pytest.approx(times, abs=1e-6)
            assert line[column] == pytest.approx(percentile(times, 10))
            assert spread["low"] == pytest.approx(percentile(times, 5))
            assert spread["high"] == pytest.approx(percentile(times, 95))


def test_only_milliseconds_have_timings(data, crossfitted):
    for line in (*data["before_after"], *crossfitted["before_after"]):
        assert (line["timings"] is not None) == line["figure"].startswith("ms ")
    assert not any(line["figure"].startswith("ms ") for line in crossfitted["before_after"])


def test_megabytes_are_those_of_the_files_that_are_written(data, crossfitted, pruning, tmp_path):
    whole = prune(pruning.ensemble.model, X[CHOOSE], Y[CHOOSE], "best", keep=1.0)
    for column, one in (("before", whole), ("after", pruning)):
        files = {
            "megabytes as .skops": one.save(tmp_path / f"{column}.skops"),
            "megabytes as .onnx": export(one.estimator, tmp_path / f"{column}.onnx", X[TEST]),
        }
        for name, path in files.items():
            expected = path.stat().st_size / 1e6
            for made in (data, crossfitted):
                assert figure(made, name)[column] == pytest.approx(expected, rel=0.05)


def test_files_are_deflated_as_they_will_be(data, pruning):
    deflated = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 6}
    expected = len(skops.io.dumps(pruning.estimator, **deflated)) / 1e6
    found = figure(data, "megabytes as .skops")["after"]
    assert found == pytest.approx(expected, rel=0.05)
    assert found < 0.5 * len(skops.io.dumps(pruning.estimator)) / 1e6


def test_files_are_weighed_once_for_a_pruning(monkeypatch, forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], pruner="comep", keep=4, random_state=0)
    dumped, dumps = [], skops.io.dumps

    def counted(model, **options):
        dumped.append(model.n_estimators)
        return dumps(model, **options)

    monkeypatch.setattr(skops.io, "dumps", counted)
    lines = [figure(report_data(pruning), "megabytes as .skops") for _ in range(2)]
    assert lines[0] == lines[1]
    assert dumped == [20, 4]


def test_the_verdict_states_the_figures(data, crossfitted):
    accuracy = figure(data, "accuracy")
    assert data["verdict"].startswith(
        f"5 of 20 members: accuracy {accuracy['after']:.3f} on the test set, "
        f"against {accuracy['before']:.3f} for the full ensemble; "
    )
    assert "% smaller" in data["verdict"]
    assert "faster" in data["verdict"]
    assert "on held-out samples" in crossfitted["verdict"]
    assert "faster" not in crossfitted["verdict"]  # no rows at hand to predict


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.001, 0.01, "it is better than for the full ensemble"),
        (-0.004, 0.01, "no more than half a point of accuracy is lost"),
        (-0.03, -0.006, ": more than half a point of accuracy is lost"),
        (-0.03, 0.01, "too few samples to decide"),
    ],
)
def test_safety_says_no_more_than_the_interval_does(low, high, told):
    line = {"figure": "accuracy", "change": (low + high) / 2, "low": low, "high": high}
    assert told in safety_text([line], "accuracy", larger_is_better=True)


@pytest.mark.parametrize(
    ("low", "high", "larger_is_better", "told"),
    [
        (0.01, 0.02, False, "it is worse than for the full ensemble"),
        (-0.02, -0.01, False, "it is better than for the full ensemble"),
        (-0.02, -0.01, True, "it is worse than for the full ensemble"),
        (-0.02, 0.01, True, "no clear difference"),
        (np.nan, np.nan, True, "too few samples for an interval"),
    ],
)
def test_safety_speaks_of_the_score_that_matters(low, high, larger_is_better, told):
    line = {"figure": "log loss", "change": 0.0, "low": low, "high": high}
    assert told in safety_text([line], "log loss", larger_is_better)
    assert "Change in log loss" in safety_text([line], "log loss", larger_is_better)


def test_the_verdict_mentions_log_loss_and_auc_that_move_by_more_than_accuracy():
    lines = [
        {"figure": name, "before": before, "after": after, "change": after - before}
        for name, before, after in (
            ("members", 100, 10),
            ("accuracy", 0.9, 0.89),
            ("log loss", 0.3, 0.5),
            ("ROC AUC", 0.95, 0.949),
        )
    ]
    told = verdict_text(lines, True, "accuracy")
    assert "accuracy 0.890 on the test set, against 0.900 for the full ensemble" in told
    assert "Log loss rises from 0.300 to 0.500." in told
    assert "ROC AUC" not in told
    assert verdict_text(lines, True, "log loss").startswith("10 of 100 members: log loss 0.500")


def test_a_report_speaks_of_the_score_asked_for(tmp_path):
    X, y = make_classification(400, 8, weights=[0.8], random_state=0)
    forest = RandomForestClassifier(12, random_state=0).fit(X[:200], y[:200])
    found = prune(forest, X[200:], y[200:], keep=4, scoring="neg_log_loss")
    data = report_data(found)
    assert data["score"] == {"name": "neg_log_loss", "label": "log loss", "larger_is_better": False}
    assert "4 of 12 members: log loss" in data["verdict"]
    assert "Change in log loss" in data["safety"]
    compared = compare(forest, X[200:], y[200:], ["best"], keep=[4], scoring="neg_log_loss")
    made, lines = report_data(compared), compared.leaderboard().to_dict("records")
    for shown, line in zip(made["leaderboard"], lines, strict=True):
        assert shown["score"] == -line["neg_log_loss"] > 0
        assert shown["change"] == pytest.approx(-line["change"])
        if line["members"] < 12:
            assert shown["low"] == pytest.approx(-line["high"])
    page = render(made)
    for told in ("Log loss against size", "Best log loss first", 'aria-sort="ascending">log loss'):
        assert told in page
    for run in (data, made):
        check_all(run)
        curve = run["score_size"]["curves"][run["chosen"]["course"]]
        (line,) = [x for x in run["before_after"] if x["figure"] == "log loss"]
        place = curve["sizes"].index(run["chosen"]["keep"])
        assert curve["values"][place] == pytest.approx(line["after"])
        assert run["score_size"]["whole"] == pytest.approx(line["before"])
        assert len(run["weights"]["values"]) == len(run["weights"]["grid"])
    assert "--scoring neg_log_loss" in data["reproduce"]["command"]
    assert data["reproduce"]["python"].endswith("scoring='neg_log_loss', refit=True)")


def test_mcnemar_is_exact(data):
    lost, won = (
        data["courses"][0]["held_out"][kind][data["chosen"]["keep"] - 1] for kind in ("lost", "won")
    )
    n = lost + won
    tail = sum(math.comb(n, k) for k in range(min(lost, won) + 1)) / 2**n
    assert f"p = {min(1, 2 * tail):.2g}" in data["safety"]


def test_mcnemar_compares_the_refitted_ensemble(forest):
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], "best", keep=4, refit=True, random_state=0)
    before, after = (model.predict(X[TEST]) == Y[TEST] for model in (forest, pruning.estimator))
    lost, won = int((before & ~after).sum()), int((after & ~before).sum())
    plain = prune(forest, X[CHOOSE], Y[CHOOSE], "best", keep=4).estimator
    assert (plain.predict(X[TEST]) != pruning.estimator.predict(X[TEST])).any()
    expected = binomtest(won, won + lost).pvalue
    assert f"p = {expected:.2g}." in report_data(pruning, X[TEST], Y[TEST])["safety"]


def test_reports_of_refitted_models_say_that_another_run_differs(forest, data):
    note = "Refitting draws synthetic samples at random"
    pruning = prune(forest, X[CHOOSE], Y[CHOOSE], "best", keep=4, refit=True, random_state=0)
    assert note in render(report_data(pruning, X[TEST], Y[TEST]))
    assert note not in render(data)


def test_held_out_counts_are_those_of_the_models_themselves(data, forest, pruning):
    order = data["courses"][0]["order"]
    before = forest.predict(X[TEST]) == Y[TEST]
    assert data["whole"]["held_out"] == before.sum()
    for size in (1, 5, 20):
        model = pruning.ensemble.slice(sorted(order[:size]))
        after = model.predict(X[TEST]) == Y[TEST]
        held_out = data["courses"][0]["held_out"]
        assert held_out["right"][size - 1] == after.sum()
        assert held_out["lost"][size - 1] == (before & ~after).sum()
        assert held_out["won"][size - 1] == (after & ~before).sum()


def test_counts_of_labels_are_those_of_the_plurality(data, forest):
    votes = {"choosing": CHOOSE, "held_out_labels": TEST}
    for course in data["courses"]:
        for name, rows in votes.items():
            table, y = collect_votes(forest, X[rows]).tolist(), Y[rows].tolist()
            place = course["sizes"].index(5)
            members = course["order"][:5] if course["order"] else course["sets"][place]
            assert course[name][place] == len(y) - naive.errors(table, y, members)


def test_confusion_and_losses_are_of_the_models(data, forest, pruning):
    before, after = (model.predict(X[TEST]) for model in (forest, pruning.estimator))
    shown = [["ant", "bee", "cat"][place] for place in data["confusion"]["classes"]]
    for name, predicted in (("whole", before), ("kept", after)):
        expected = confusion_matrix(Y[TEST], predicted, labels=shown)
        assert data["confusion"][name] == expected.tolist()
    lost = (before == Y[TEST]) & (after != Y[TEST])
    counts = data["losses"]["by_class"]["lost"]
    assert counts == [(lost & (Y[TEST] == label)).sum() for label in ("ant", "bee", "cat")]
    assert sum(data["losses"]["by_share"]["lost"]) == lost.sum()


def test_cross_fitted_figures_count_labels_of_members_chosen_elsewhere(crossfitted, forest):
    votes = collect_votes(forest, X[CHOOSE])
    predicted = np.empty(200, dtype=object)
    for chosen_on, held_out in stratified_fold_indices(CODES[CHOOSE], np.random.RandomState(0)):
        part = votes[chosen_on].tolist(), Y[CHOOSE][chosen_on].tolist()
        members = naive.comep(*part, 5, 0.5, "spread")
        rows = votes[held_out].tolist()
        predicted[held_out] = [naive.vote(rows, members, n) for n in range(len(rows))]
    after = figure(crossfitted, "accuracy")["after"]
    assert after == pytest.approx((predicted == Y[CHOOSE]).mean())
    balanced = balanced_accuracy_score(Y[CHOOSE], predicted.astype(str))
    assert figure(crossfitted, "balanced accuracy")["after"] == pytest.approx(balanced)
    assert crossfitted["rows"]["counts_labels"]
    assert crossfitted["rows"]["n_folds"] == 5
    assert "cross-validated on 200 validation samples" in crossfitted["notes"][0]


def test_with_the_rows_chosen_on_cross_fitting_follows_the_ensembles_own_vote(pruning, forest):
    data = report_data(pruning, X=X[CHOOSE])
    check_all(data)
    assert not data["rows"]["counts_labels"]
    whole = forest.score(X[CHOOSE], Y[CHOOSE])
    assert data["whole"]["held_out"] / 200 == pytest.approx(whole)
    with pytest.raises(InputError, match="X has 3 samples, but the members were selected on 200"):
        report_data(pruning, X=X[:3])


def test_weights_follow_comep(data, pruning, forest):
    weights = data["weights"]
    assert len(weights["grid"]) == 21
    for place, weight in enumerate(weights["grid"]):
        members = COMEP(5, weight).fit(pruning.votes).member_indices_
        model = pruning.ensemble.slice(sorted(members))
        accuracy = model.score(X[TEST], Y[TEST])
        assert weights["at_keep"][place] == pytest.approx(accuracy)
        assert weights["held_out"][place][4] / 400 == pytest.approx(accuracy)
        assert weights["starts"][place] == members[0]
        both = set(members) & set(pruning.member_indices)
        either = set(members) | set(pruning.member_indices)
        assert weights["overlap"][place] == len(both) / len(either)
    assert weights["overlap"][weights["grid"].index(0.5)] == 1


def test_a_weight_off_the_grid_is_put_on_it(tables):
    pruning = prune(tables[0], None, Y[CHOOSE], keep=4, diversity_weight=0.37)
    data = report_data(pruning, tables[1], Y[TEST])
    assert 0.37 in data["weights"]["grid"]
    assert [course["label"] for course in data["courses"] if course["live"]] == ["comep λ=0.37"]
    assert data["courses"][0]["weight"] == 0.37


def test_the_votes_in_the_page_are_those_of_the_members(data, forest):
    for name, rows in (("choosing", CHOOSE), ("testing", TEST)):
        facts = data[name]
        codes = unpack(facts["votes"])
        assert facts["n_rows"] == facts["n_all"] == codes.shape[1]
        truth = np.repeat(np.arange(3), facts["truth"])
        table = np.column_stack([truth, codes.T])
        expected = np.searchsorted(["ant", "bee", "cat"], collect_votes(forest, X[rows]))
        expected = np.column_stack([CODES[rows], expected])
        assert sorted(table.tolist()) == sorted(expected.tolist())


def test_too_many_votes_are_cut_to_a_sample(monkeypatch, tables):
    monkeypatch.setattr("secateurs.report.sections._what_if.MOST_LABELS", 20 * 100)
    data = report_data(prune(tables[0], None, Y[CHOOSE], "comep", 5), tables[1], Y[TEST])
    assert (data["choosing"]["n_rows"], data["choosing"]["n_all"]) == (50, 200)
    assert (data["testing"]["n_rows"], data["testing"]["n_all"]) == (50, 400)
    share = np.array(data["testing"]["truth"]) / 50
    assert np.abs(share - np.bincount(CODES[TEST]) / 400).max() < 0.03
    assert data["whole"]["n_rows"] == 400  # figures are of all rows


def test_costs_add_up_to_about_the_size_of_the_model(data):
    cost = data["costs"]["bytes"]
    kept = cost["base"] + sum(cost["each"][member] for member in data["chosen"]["members"])
    assert kept / 1e6 == pytest.approx(figure(data, "megabytes")["after"], rel=0.05)
    whole = cost["base"] + sum(cost["each"])
    assert whole / 1e6 == pytest.approx(figure(data, "megabytes")["before"], rel=0.05)
    sizes, milliseconds = zip(*data["costs"]["ms"], strict=True)
    assert (sizes[0], sizes[-1]) == (1, 20)
    slopes = np.diff(milliseconds) / np.diff(sizes)
    assert slopes == pytest.approx(slopes[0])  # one line
    assert slopes[0] >= 0 < milliseconds[0]


def test_methods_that_are_not_nested_show_their_own_set(tables):
    for pruner in (ReducedErrorPruner(keep=5, backfit=True), DOMEP(keep=5, random_state=0)):
        pruning = prune(tables[0], None, Y[CHOOSE], pruner)
        data = report_data(pruning, tables[1], Y[TEST])
        check_all(data)
        assert data["courses"][0]["sizes"] == [5]
        assert sum(course["live"] for course in data["courses"]) == 1  # comep, beside it
        check_all(report_data(pruning))


def test_chance_drawn_anew_does_not_change_what_was_kept(tables):
    pruning = prune(tables[0], None, Y[CHOOSE], COMEP(keep=5, start="random"))  # no seed
    for _ in range(2):
        check_all(report_data(pruning, tables[1], Y[TEST]))


def test_long_searches_are_shortened_in_cross_fitting_and_said_to_be(tables):
    pruning = prune(tables[0], None, Y[CHOOSE], PEP(n_iterations=60, random_state=0), keep=5)
    data = report_data(pruning)
    check_all(data)
    label = "pep n_iterations=60"
    assert f"In cross-validation, {label} made 50 of its 60 rounds." in data["notes"]
    assert not any("rounds" in note for note in report_data(pruning, tables[1], Y[TEST])["notes"])


def test_a_comparison_shows_its_best_line_and_all_others(tables):
    found = compare(tables[0], None, Y[CHOOSE], ["re", "comep", "sep"], [3, 6], random_state=0)
    data = report_data(found)
    check_all(data)
    label, keep = found.best
    assert data["courses"][data["chosen"]["course"]]["label"] == label
    assert data["chosen"]["keep"] == keep
    assert len(data["leaderboard"]) == 3 + 2 * 5  # with the full ensemble and two baselines
    assert data["leaderboard"][0]["score"] == found.leaderboard()["accuracy"].iloc[0]
    assert {course["label"] for course in data["courses"]} == set(found.curves)
    with pytest.raises(InputError, match="A comparison has its own test set"):
        report_data(found, X[TEST], Y[TEST])


@pytest.mark.parametrize("n_classes", [1, 2, 10, 20])
def test_predictions_have_no_bytes_and_no_milliseconds(n_classes):
    votes, y = cases.make(3, 80, n_classes, ["noisy"] * 6 + ["constant", "copy", "perfect"])
    test_votes, test_y = cases.make(4, 50, n_classes, ["noisy"] * 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one class only
        pruning = prune(votes, y=y, pruner="comep", keep=3)
        for rows in ((), (test_votes, test_y)):
            data = report_data(pruning, *rows)
            check_all(data)
            assert data["costs"] == {"bytes": None, "ms": None}
    assert len(data["confusion"]["classes"]) == min(n_classes, 15)


def test_probabilities_labels_only_in_the_test_rows_and_one_member_are_fine(forest):
    given = np.stack([tree.predict_proba(X[CHOOSE]) for tree in forest.estimators_], axis=1)
    data = report_data(prune(given, y=CODES[CHOOSE], pruner="comep", keep=4))
    check_all(data)
    assert not data["rows"]["counts_labels"]
    votes, y = cases.plain(5, 40)
    later = np.where(np.arange(40) == 3, 7, y)
    data = report_data(prune(votes, y=y, pruner="comep", keep=2), votes, later)
    check_all(data)
    assert data["ensemble"]["classes"] == ["0", "1", "7"]
    with pytest.warns(UserWarning, match="nothing to prune"):
        single = prune([[0], [1], [0], [1]] * 3, y=[0, 1, 1, 1] * 3, pruner="comep", keep=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_all(report_data(single))


def test_out_of_bag_and_weighted_votes_are_fine():
    bagging = BaggingClassifier(DecisionTreeClassifier(max_depth=4), 12, random_state=0)
    bagging.fit(X[FIT], Y[FIT])
    pruning = prune(bagging, X[FIT], Y[FIT], pruner="comep", keep=4, oob=True)
    for data in (report_data(pruning), report_data(pruning, X=X[FIT])):
        check_all(data)
        assert data["rows"]["out_of_bag"]
        assert unpack(data["choosing"]["votes"]).max() == 3  # no vote
    boosting = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=8, random_state=0
    )
    boosting.fit(X[FIT], Y[FIT])
    data = report_data(prune(boosting, X[CHOOSE], Y[CHOOSE], "comep", 3), X[TEST], Y[TEST])
    check_all(data)
    assert data["ensemble"]["vote"] == "weighted labels"


def test_very_many_members_go_without_all_weights(monkeypatch):
    monkeypatch.setattr("secateurs.report.sections._section.MOST_LIVE", 20)
    monkeypatch.setattr("secateurs.evaluation.selections._MAX_ORDER", 20)
    monkeypatch.setattr("secateurs.report.member_diagnostics.MOST_IN_HEATMAP", 20)
    votes, y = cases.plain(100, 60)
    data = report_data(prune(votes, y=y, pruner="comep", keep=5))
    check_all(data)
    assert data["weights"] is None
    assert not any(course["live"] for course in data["courses"])
    assert len(data["courses"][0]["order"]) == 64
    assert not data["distances"]["complete"]
    assert len(data["distances"]["members"]) == 20


def test_the_page_says_that_pairs_of_very_many_members_are_sampled(monkeypatch):
    votes, y = cases.plain(100, 60)
    pruning = prune(votes, y=y, pruner="re", keep=5)
    sentence = "pairs of a sample of the 100 members were compared"
    assert sentence not in render(report_data(pruning))
    monkeypatch.setattr("secateurs.report.member_diagnostics.MOST_IN_PAIRS", 20)
    data = report_data(pruning)
    assert data["kappa_error"]["n_pairs"] == 20 * 19 // 2
    assert f"Only 190 {sentence}" in render(data)


def test_rows_chosen_on_are_not_held_out(pruning):
    with pytest.warns(UserWarning, match="looks better than it is") as caught:
        data = report_data(pruning, X[CHOOSE], Y[CHOOSE])
    told = [note for note in data["notes"] if "looks better" in note]
    assert len(told) == len(caught) == 1


def test_notes_on_methods_are_apart_from_those_on_the_figures(tables):
    found = compare(tables[0], None, Y[CHOOSE], ["kl", "pep", "best"], [4], random_state=0)
    data = report_data(found)
    assert data["notes"][0] == found.judged_on
    assert len(data["notes"]) == 2
    assert data["notes"][1].startswith("200 samples are too few to tell a change of 0.01 in acc")
    assert data["method_notes"][0].startswith("pep made 50 instead of its default")
    assert data["method_notes"][1].startswith("kl: KLDivergencePruner got no distributions")
    page = render(data)
    assert page.index("pep made 50 instead of its default") > page.index(
        '<section id="leaderboard">'
    )


def test_three_lines_are_drawn_at_first(tables):
    found = compare(tables[0], None, Y[CHOOSE], ["kp", "re", "best", "sep"], [4], random_state=0)
    own = report_data(found)["score_size"]
    labels = [curve["label"] for curve in own["curves"]]
    at_keep = {
        curve["label"]: curve["values"][curve["sizes"].index(4)]
        for curve in own["curves"]
        if curve["is_nested"] and curve["label"] not in (found.best[0], "random", "es")
    }
    first, rival, random = [labels[place] for place in own["shown"]]
    assert (first, random) == (found.best[0], "random")
    assert at_keep[rival] == max(at_keep.values())


def test_rows_chosen_on_are_voted_on_as_the_others_where_that_is_known(data, pruning, forest):
    assert data["score_size"]["choosing"]["counts_labels"]  # the rows are not kept
    choosing = report_data(pruning, X[TEST], Y[TEST], X=X[CHOOSE])["score_size"]["choosing"]
    assert not choosing["counts_labels"]
    order = data["courses"][0]["order"]
    for size in (1, 5, 20):
        model = pruning.ensemble.slice(sorted(order[:size]))
        expected = model.score(X[CHOOSE], Y[CHOOSE])
        assert choosing["values"][size - 1] == pytest.approx(expected)


def test_names_say_what_was_pruned(forest, tables):
    trees = list(forest.estimators_[:4])
    given = {
        "4 models": prune(trees, X[CHOOSE], CODES[CHOOSE], "best", 2),
        "Predictions of 20 members": prune(tables[0], None, Y[CHOOSE], "best", 2),
    }
    for name, found in given.items():
        data = report_data(found)
        assert data["ensemble"]["name"] == name
        assert f"<title>{name}, pruned by best</title>" in render(data)
    page = render(report_data(given["4 models"], source="models.pkl"))
    assert "<title>models.pkl, 4 models, pruned by best</title>" in page


def test_the_command_is_completed(pruning):
    data = report_data(pruning, command=["secateurs", "prune", "my forest.skops", "rows.csv"])
    assert data["reproduce"]["shell"] == (
        "secateurs prune 'my forest.skops' rows.csv --pruner comep --keep 5 --diversity-weight 0.5"
    )
    expected = "secateurs.prune(ensemble, X, y, COMEP(keep=5, random_state=0))"
    assert data["reproduce"]["python"] == expected


def test_rows_are_known_again_by_their_votes(data, tables):
    again = report_data(prune(tables[0], None, Y[CHOOSE], "comep", 9), tables[1], Y[TEST])
    assert again["rows"]["choosing_sha256"] == data["rows"]["choosing_sha256"]
    assert again["rows"]["testing_sha256"] == data["rows"]["testing_sha256"]
    assert data["rows"]["testing_sha256"] != data["rows"]["choosing_sha256"]


def test_half_characters_in_names_are_replaced(forest):
    named = dict(zip(["a\ud800", "b", "c"], forest.estimators_))
    names = report_data(prune(named, X[CHOOSE], CODES[CHOOSE], "comep", 2))["ensemble"]["names"]
    assert names == ["a?", "b", "c"]
