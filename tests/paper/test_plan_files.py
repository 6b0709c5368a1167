"""Plans: what they ask for, and what is wrong with a file."""

import pytest
from made_up_results import key_of, plan_of, row_of

from secateurs.exceptions import InputError
from secateurs.paper import PLANS, PaperRow, Plan, load_plan, read_plan
from secateurs.paper._bagging_protocol import LABEL_CODINGS, cast_votes
from secateurs.paper._cell_measurer import CellMeasurer
from secateurs.paper.datasets import DATASETS, find

TEN = ("kl", "kp", "oo", "re", "drep", "sep", "oep", "pep", "comep", "domep")
PRINTED = {
    "table-dt": "Iono Liver Spam Wisconsin Credit Landsat Wilt Shuttle Ecoli SensorReadings",
    "table-svm": "Liver Ringnorm Waveform Credit Landsat Page Wilt SensorReadings EEGEyeState "
    "WaveformNoise",
    "table-knn": "Ames Card Sonar Page Wilt Landsat Shuttle Ecoli WaveformNoise EEGEyeState "
    "SensorReadings",
}


def made(**changes):
    rows = (PaperRow("Iris", "iris", "multiclass", "dt", False),)
    values = {
        **{"name": "made", "title": "", "reproduces": "", "kind": "prune", "rows": rows},
        **{"methods": ("comep", "full"), "n_members": (10,), "keep": (0.25,)},
        **{"diversity_weight": (0.5,), "folds": (0, 3)},
    }
    return Plan(**values | changes)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", PLANS)
def test_every_plan_asks_for_known_data_and_methods(name, quick):
    plan = load_plan(name, quick)
    assert plan.cells()
    assert all(r.dataset in DATASETS or r.dataset.startswith("synthetic-") for r in plan.rows)
    assert all(1 <= cell.keep <= cell.n_members for cell in plan.cells())
    for row in plan.rows:
        known = DATASETS.get(row.dataset)
        reading, _, coding = row.reading.partition("+")
        assert known is None or known.task != "binary" or reading == "binary"
        assert not coding or (coding in LABEL_CODINGS and name == "credit")


@pytest.mark.parametrize("name", PLANS)
def test_quick_plans_need_no_data_folder_and_no_network(name, monkeypatch):
    monkeypatch.delenv("SECATEURS_DATA", raising=False)
    for row in load_plan(name, quick=True).rows:
        assert row.learner == "synthetic" or find(row.dataset) in ("scikit-learn", "generated")
        assert row.is_stand_in == ("(stand-in)" in row.paper_name)


@pytest.mark.parametrize("name", PLANS)
def test_quick_plans_take_rows_of_the_paper_from_a_folder(name, tmp_path):
    whole = load_plan(name)
    for row in whole.rows:
        (tmp_path / f"{row.dataset}.csv.gz").write_bytes(b"any")
    plan, short = load_plan(name, quick=True, data_dir=tmp_path), load_plan(name, quick=True)
    assert set(plan.rows) <= set(whole.rows)
    assert plan.paper_item == short.paper_item == whole.paper_item
    sizes = [DATASETS[row.dataset].n_rows for row in plan.rows if row.learner != "synthetic"]
    # The SVMs of Credit, whose samples are far from each other, take a second per bag.
    assert all(size <= (30_000 if name == "credit" else 7400) for size in sizes)
    if name != "figure-scale":
        assert not set(short.rows) >= set(plan.rows)


def test_a_folder_without_data_of_the_plan_changes_nothing(tmp_path):
    (tmp_path / "spam.csv.gz").write_bytes(b"any")
    short = load_plan("table-dt", quick=True)
    assert load_plan("table-dt", quick=True, data_dir=tmp_path) == short
    (tmp_path / "liver.csv.gz").write_bytes(b"any")
    plan = load_plan("table-dt", quick=True, data_dir=tmp_path)
    assert [row.paper_name for row in plan.rows] == ["Liver"]


def test_items_of_the_paper_are_numbered_as_there():
    items = {name: load_plan(name).paper_item for name in PLANS}
    assert {name: item for name, item in items.items() if item} == {
        **{"table-dt": "Table I", "table-svm": "Table II", "table-knn": "Table III"},
        **{"figure-speedup": "Figure 3", "figure-epfd": "Figures 4–7"},
        **{"figure-objective": "Figures 8–10", "figure-lambda": "Figures 11–13"},
    }
    plan = load_plan("figure-epfd")
    rows = [row for row in plan.rows if plan.is_drawn(row)]
    assert [(row.paper_item, row.learner, row.reading) for row in rows] == [
        *(("Figure 4", "dt", "binary"), ("Figure 5", "knn", "binary")),
        *(("Figure 6", "dt", "multiclass"), ("Figure 7", "knn", "multiclass")),
        ("", "synthetic", "multiclass"),
    ]
    assert load_plan("figure-epfd").repeated(rows[-1]) == "Not in the paper."
    names = {r.paper_item: r.paper_name for r in load_plan("figure-lambda").rows}
    assert names == {"Figure 11": "Ringnorm", "Figure 12": "Heart", "Figure 13": "Waveform"}
    plan = load_plan("figure-objective")
    assert [plan.repeated(row) for row in plan.rows if plan.is_drawn(row)] == [
        *("Repeats Figure 8 of the paper.", "In place of Figure 8 of the paper."),
        *("Repeats Figure 9 of the paper.", "Repeats Figure 10 of the paper."),
    ]


def quick_rows():
    """Cells of each row of the short forms, without methods that take long, by fold."""
    rows = {}
    for name in PLANS:
        plan = load_plan(name, quick=True)
        for cell in plan.cells() if plan.kind == "prune" else ():
            if cell.method not in ("sep", "pep", "random", "best", "full"):
                folds = rows.setdefault((cell.dataset, cell.reading, cell.learner), {})
                folds.setdefault(cell.bag, []).append(cell)
    return rows


def test_methods_can_differ_on_every_row_of_the_short_forms(monkeypatch):
    monkeypatch.delenv("SECATEURS_DATA", raising=False)
    alike = [row for row, folds in quick_rows().items() if not any(map(differ, folds.items()))]
    assert alike == []


def differ(bag_and_cells):
    bag, cells = bag_and_cells
    measurer = CellMeasurer(cast_votes(bag))
    accuracies = (measurer.measure_cell(cell)["accuracy"] for cell in cells)
    first = next(accuracies)
    return any(accuracy != first for accuracy in accuracies)


@pytest.mark.parametrize("name", PRINTED)
def test_tables_have_the_rows_of_the_paper_in_their_order(name):
    plan = load_plan(name)
    assert [row.paper_name for row in plan.rows] == PRINTED[name].split()
    assert plan.methods == (*TEN, "random", "best", "full")
    assert (plan.n_members, plan.keep, plan.diversity_weight) == ((100,), (0.2,), (0.5,))
    assert plan.folds == (0, 1, 2, 3, 4)
    for row in plan.rows:
        assert DATASETS[row.dataset].paper_name == row.paper_name


def test_readings_are_those_that_were_established():
    read = {
        (name, row.paper_name): (row.dataset, row.reading)
        for name in PRINTED
        for row in load_plan(name).rows
    }
    assert read["table-dt", "Landsat"] == ("landsat", "binary")
    assert read["table-dt", "SensorReadings"] == ("sensor_readings_24", "multiclass")
    assert read["table-svm", "SensorReadings"] == ("sensor_readings_24", "binary")
    assert read["table-svm", "Waveform"] == ("waveform_binary", "binary")
    assert read["table-svm", "WaveformNoise"] == ("waveform_noise", "multiclass")
    assert read["table-knn", "SensorReadings"] == ("sensor_readings_4", "multiclass")
    assert read["table-knn", "Landsat"] == ("landsat", "multiclass")
    assert read["table-knn", "WaveformNoise"] == ("waveform_noise", "binary")


def test_a_plan_is_the_product_of_what_it_lists():
    plan = made(n_members=(10, 20), keep=(0.25, 5), diversity_weight=(0.1, 0.9))
    cells = plan.cells(seed=7)
    # 10 members: 2 (0.25 of them, rounded to even) and 5; 20 members: 5 both times, once.
    assert {(cell.n_members, cell.keep) for cell in cells} == {(10, 2), (10, 5), (20, 5)}
    assert len(cells) == 3 * 2 * 2 * 2
    assert {cell.seed for cell in cells} == {7}
    assert {cell.fold for cell in cells} == {0, 3}


def test_counts_larger_than_an_ensemble_are_left_out():
    cells = made(n_members=(4, 8), keep=(5,)).cells()
    assert {(cell.n_members, cell.keep) for cell in cells} == {(8, 5)}


def test_learners_are_named_once():
    assert load_plan("figure-objective").learners == ("dt",)
    learners = load_plan("figure-epfd").learners
    assert len(set(learners)) == len(learners)
    assert {"dt", "svm-rbf", "knn", "synthetic"} <= set(learners)


def test_a_row_may_have_sizes_and_methods_of_its_own():
    own = {"n_members": (6,), "keep": (2, 3), "methods": ("oo",)}
    row = PaperRow("Iris", "iris", "multiclass", "dt", False, **own)
    other = PaperRow("Wine", "wine", "multiclass", "dt", False)
    plan = made(rows=(row, other), n_members=(9,), keep=(4,))
    found = {(cell.dataset, cell.n_members, cell.keep, cell.method) for cell in plan.cells()}
    mine = {("iris", 6, 2, "oo"), ("iris", 6, 3, "oo")}
    assert found == mine | {("wine", 9, 4, method) for method in plan.methods}


def test_runs_of_a_repeated_plan_share_no_seed():
    plan = made(n_seeds=3)
    seeds = [{cell.seed for cell in plan.cells(seed)} for seed in (0, 1)]
    assert seeds == [{0, 1, 2}, {3, 4, 5}]
    assert len(plan.cells(1)) == 3 * len(made().cells(1))


def test_a_plan_may_have_the_rows_of_others(tmp_path):
    text = (
        'title = "T"\nreproduces = "nothing"\nkind = "prune"\nmethods = ["oo"]\nn_members = [9]\n'
        'keep = [3]\ndiversity_weight = [0.5]\nfolds = [0]\nrows_of = ["table-dt", "table-knn"]\n'
        '[[rows]]\npaper_name = "Iris"\ndataset = "iris"\nreading = "multiclass"\n'
        'learner = "dt"\nestablished = false\n'
        '[quick]\n[[quick.rows]]\npaper_name = "Wine"\ndataset = "wine"\n'
        'reading = "multiclass"\nlearner = "dt"\nestablished = false\n'
    )
    (tmp_path / "mine.toml").write_text(text)
    tables = [row for name in ("table-dt", "table-knn") for row in load_plan(name).rows]
    rows = read_plan(tmp_path / "mine.toml").rows
    assert list(rows[:-1]) == tables
    assert rows[-1].paper_name == "Iris"
    assert [r.paper_name for r in read_plan(tmp_path / "mine.toml", quick=True).rows] == ["Wine"]


def test_a_plan_may_repeat_its_rows_with_stratified_bags():
    plan = load_plan("bootstrap")
    plain = [*load_plan("table-dt").rows, *load_plan("table-knn").rows]
    assert list(plan.rows[: len(plain)]) == plain
    repeated = [(row.dataset, row.reading, row.learner) for row in plan.rows[len(plain) :]]
    assert repeated == [(r.dataset, r.reading, f"{r.learner}-stratified") for r in plain]


def test_no_two_cells_of_all_plans_share_a_key():
    cells = {
        cell for name in PLANS for quick in (False, True) for cell in load_plan(name, quick).cells()
    }
    assert len({key_of(cell) for cell in cells}) == len(cells)
    assert len({cell.bag.unique_name for cell in cells}) == len({cell.bag for cell in cells})


def test_rows_are_named_apart_where_they_share_a_name():
    rows = [
        row_of("Iono"),
        row_of("Iono", "knn"),
        row_of("Wave"),
        row_of("Wave", reading="multiclass"),
    ]
    assert plan_of("table-dt", rows).row_names == [
        "Iono, trees",
        "Iono, nearest neighbours",
        "Wave, two classes",
        "Wave, all classes",
    ]


def test_an_unknown_plan_is_told_with_those_there_are():
    with pytest.raises(
        InputError, match=r"'table-4' is not a table or figure\. Pass one of: table-dt"
    ):
        load_plan("table-4")


TEXT = """
title = "t"
reproduces = "r"
kind = "prune"
methods = ["comep"]
n_members = [10]
keep = [3]
diversity_weight = [0.5]
folds = [0]
[[rows]]
paper_name = "Iris"
dataset = "iris"
reading = "multiclass"
learner = "dt"
established = false
[quick]
n_members = [5]
"""


def test_the_short_form_takes_the_place_of_what_stands_above(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TEXT)
    plan, short = read_plan(path), read_plan(path, quick=True)
    assert (plan.name, plan.n_members, plan.quick) == ("mine", (10,), False)
    assert (short.n_members, short.keep, short.quick) == ((5,), (3,), True)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('methods = ["comep"]', 'methods = ["comet"]', "has method 'comet'. Known: .*comep"),
        ('"prune"', '"prone"', "has kind 'prone'"),
        ('"dt"', '"tree"', "has learner 'tree'"),
        ('"multiclass"', '"multi"', "has reading 'multi'"),
        ("folds = [0]", "folds = [5]", "has fold 5"),
        ("folds = [0]", 'folds = [0]\nvariants = ["mine"]', "has variant 'mine'"),
        ("folds", "holds", "has unknown settings holds"),
        ("established = false", "", "cannot be read: TypeError"),
        ("[[rows]]", "[[rows", "cannot be read: TOMLDecodeError"),
    ],
)
def test_what_is_wrong_with_a_plan_is_told_with_its_file(tmp_path, old, new, message):
    path = tmp_path / "mine.toml"
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(InputError, match=message) as caught:
        read_plan(path)
    assert str(path) in str(caught.value)
