"""What each kind of cell measures, against slow and plain code."""

import itertools
from dataclasses import replace

import pytest

import naive
from secateurs.paper import _cell_measurer
from secateurs.paper._bagging_protocol import cast_votes
from secateurs.paper._cell_measurer import FREE_SIZE, CellMeasurer, make_cell_pruner
from secateurs.paper._plan import Cell
from secateurs.pruners import all_pruners

METHODS = (*all_pruners(), "full")


def tables(voted):
    """Votes and labels on the validation and the test part, as plain lists."""
    return [
        (
            part.classes[part.codes(range(part.n_members))].T.tolist(),
            part.classes[part.truth].tolist(),
        )
        for part in (voted.validation, voted.test)
    ]


def share_right(votes, y, members):
    return (len(y) - naive.errors(votes, y, members)) / len(y)


def cell(method, variant="library", **changes):
    values = {
        **{"kind": "prune", "dataset": "wine", "reading": "multiclass", "learner": "dt"},
        **{"n_members": 15, "keep": 4, "diversity_weight": 0.3, "fold": 2, "seed": 5},
    }
    return Cell(**values | {"method": method, "variant": variant} | changes)


@pytest.fixture(scope="module")
def voted():
    return cast_votes(cell("re").bag)


@pytest.mark.parametrize("method", METHODS)
def test_a_row_says_of_its_members_what_counting_says(voted, method):
    (votes, y), (test_votes, test_y) = tables(voted)
    row = CellMeasurer(voted).measure_cell(cell(method))
    members = row["members"]
    assert len(members) == len(set(members)) == row["n_kept"]
    assert method in FREE_SIZE or row["n_kept"] == {"full": 15}.get(method, 4)
    assert row["accuracy"] == share_right(test_votes, test_y, members)
    assert row["validation_accuracy"] == share_right(votes, y, members)
    assert row["objective"] == pytest.approx(naive.tdas(votes, y, members, 0.3), abs=1e-9)
    assert (row["n_train"], row["n_validation"], row["n_test"]) == (110, len(y), len(test_y))
    assert row["seconds"] >= 0


def test_members_are_those_that_the_methods_choose_slowly(voted):
    (votes, y), _ = tables(voted)
    expected = {
        "re": naive.reduced_error(votes, y, 4),
        "kp": naive.kappa_pruning(votes, 4),
        "best": naive.best_members(votes, y, 4),
        "es": naive.early_stopping(15, 4),
        "kl": naive.kl_pruning(naive.class_frequencies(votes, y), 4),
        "comep": naive.comep(votes, y, 4, 0.3, naive.spread_start(votes, y, 0.3)),
    }
    measurer = CellMeasurer(voted)
    assert {name: measurer.measure_cell(cell(name))["members"] for name in expected} == expected


def test_what_decides_its_own_size_does_so_whatever_is_kept(voted):
    measurer = CellMeasurer(voted)
    for method in FREE_SIZE:
        rows = [measurer.measure_cell(cell(method, keep=keep)) for keep in (2, 9)]
        assert rows[0]["members"] == rows[1]["members"]
        assert (
            CellMeasurer(voted).measure_cell(cell(method, keep=9))["members"] == rows[0]["members"]
        )


def test_cells_share_only_what_they_have_in_common(voted):
    cells = [
        cell(method, variant, keep=keep, diversity_weight=weight)
        for method in ("comep", "domep", "re", "drep")
        for variant in ("library", "epfd", "authors")
        for keep in (2, 9)
        for weight in (0.0, 1.0)
        if (method, variant) != ("domep", "epfd")
    ]
    measurer = CellMeasurer(voted)
    together = [measurer.measure_cell(one)["members"] for one in cells]
    assert together == [CellMeasurer(voted).measure_cell(one)["members"] for one in cells]


def test_the_distributed_version_prunes_in_groups(voted):
    pruner = make_cell_pruner(cell("re", "epfd"), voted.validation).fit(voted.validation)
    assert [len(group) for group in pruner.groups_] == [8, 7]  # √(15/4) rounded: two
    row = CellMeasurer(voted).measure_cell(cell("re", "epfd"))
    assert row["members"] == pruner.member_indices_.tolist()
    assert row["path_seconds"] > 0
    assert row["group_wins"] == (pruner.winner_ < 2)
    assert make_cell_pruner(cell("oep", "epfd"), voted.validation).n_groups == 2
    assert type(make_cell_pruner(cell("comep", "epfd"), voted.validation)).__name__ == "DOMEP"


def test_the_authors_settings_are_used_where_there_are_any(voted):
    made_of = {
        name: make_cell_pruner(cell(name, "authors"), voted.validation) for name in METHODS[:-1]
    }
    assert made_of["comep"].start == made_of["domep"].start == "random"
    assert (made_of["drep"].stop, made_of["drep"].rho) == ("nonincrease", 4 / 15)
    assert (made_of["sep"].keep, made_of["sep"].n_iterations) == (4, 5)
    assert (made_of["pep"].keep, made_of["pep"].n_iterations) == (None, 4)
    assert made_of["re"].get_params() == make_cell_pruner(cell("re"), voted.validation).get_params()


def test_every_combination_is_scored(voted):
    (votes, y), (test_votes, test_y) = tables(voted)
    row = CellMeasurer(voted).measure_cell(cell("all", kind="combination", keep=3))
    combinations = list(itertools.combinations(range(15), 3))
    assert (row["size"], len(row["points"])) == (3, len(combinations))
    for place in (0, 17, 200, len(combinations) - 1):
        members = list(combinations[place])
        value, validation, test = row["points"][place]
        assert value == pytest.approx(naive.tdas(votes, y, members, 0.3), abs=1e-9)
        assert validation == share_right(votes, y, members)
        assert test == share_right(test_votes, test_y, members)


@pytest.mark.parametrize("method", ["comep", "domep", "oep"])
def test_a_curve_has_the_accuracy_of_every_size(voted, method):
    _, (test_votes, test_y) = tables(voted)
    row = CellMeasurer(voted).measure_cell(cell(method, kind="size", keep=15))
    assert row["sizes"] == list(range(1, 16))
    for size in (1, 4, 15):
        pruner = (
            make_cell_pruner(cell(method), voted.validation).with_keep(size).fit(voted.validation)
        )
        members = pruner.member_indices_.tolist()
        expected = share_right(test_votes, test_y, members)
        assert row["accuracies"][size - 1] == expected


def test_a_race_is_run_several_times_with_as_many_groups_as_workers():
    bag_cell = cell("domep", "2-workers", kind="speedup", dataset="synthetic-200", keep=3)
    row = CellMeasurer(cast_votes(replace(bag_cell, learner="synthetic").bag)).measure_cell(
        bag_cell
    )
    assert (row["workers"], row["n_groups"]) == (2, 2)
    times = [row[f"seconds_{side}"] for side in ("comep", "domep", "comep_cpu", "path_cpu")]
    assert [len(seconds) for seconds in times] == [5] * 4
    assert min(itertools.chain(*times)) > 0


def test_times_against_size_name_the_size():
    one = cell("comep", kind="scale", dataset="synthetic-300", learner="synthetic", n_members=20)
    row = CellMeasurer(cast_votes(one.bag)).measure_cell(one)
    assert (row["n"], row["d"]) == (20, 300)
    assert row["seconds"] > 0


def test_work_that_compiles_is_timed_again(monkeypatch):
    compiled, ticks, runs = iter([0.0, 1.5, 1.5, 1.5]), itertools.count(0, 2), []
    monkeypatch.setattr(_cell_measurer, "compiling_seconds", lambda: next(compiled))
    assert _cell_measurer._seconds(lambda: runs.append(1), lambda: next(ticks)) == 2
    assert len(runs) == 2


@pytest.mark.parametrize(("times", "least"), [((0.2, 0.1, 0.15), 0.1), ((0.4,), 0.4)])
def test_short_work_is_timed_three_times(monkeypatch, times, least):
    measured = iter(times)
    monkeypatch.setattr(_cell_measurer, "_seconds", lambda work: next(measured))
    assert _cell_measurer._least_seconds(None) == least
    assert not list(measured)


def test_with_a_machine_per_group_the_longest_group_counts(voted):
    pruner = make_cell_pruner(cell("re", "epfd"), voted.validation).fit(voted.validation)
    times, selected = iter([3.0, 5.0, 7.0]), []

    def measure(work):
        selected.append(work().member_indices_.tolist())
        return next(times)

    path = _cell_measurer._critical_path_seconds(pruner, voted.validation, measure)
    assert path == 5 + 7
    groups = [*pruner.groups_, sorted(itertools.chain(*pruner.candidates_[:-1]))]
    chosen = [[group[t] for t in part] for group, part in zip(groups, selected, strict=True)]
    assert list(map(sorted, chosen)) == [sorted(part) for part in pruner.candidates_]
