"""benchmark: own data sets and methods, and the tables of the paper to the byte."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier

import secateurs
from secateurs import COMEP, DREP, OEP, SEP, KLDivergencePruner, Votes, benchmark, make_pruner
from secateurs.benchmarking.splits_and_seeds import seed_sequence, small_seed, split_samples
from secateurs.benchmarking.table_text import Sheet, as_latex
from secateurs.exceptions import InputError
from secateurs.paper import PaperRow, Plan, load_results, run
from secateurs.paper._accuracy_tables import make_accuracy_table
from secateurs.paper._printed_tables import PAPER_METHODS, method_label
from secateurs.paper.datasets import Loader
from secateurs.progress import watch_progress
from secateurs.statistics import nemenyi, wilcoxon_holm

SETS = {"iris": load_iris, "wine": load_wine, "some cancer": load_breast_cancer}


def last(votes, y, keep):
    """Keep the last members."""
    return range(votes.shape[1] - keep, votes.shape[1])


class Mine:
    """Keep the members that are right most often, with a mask."""

    def __init__(self, keep=1):
        self.keep = keep

    def fit(self, votes, y):
        right = (np.asarray(votes) == np.asarray(y)[:, None]).sum(axis=0)
        self.chosen = np.argsort(-right, kind="stable")[: self.keep]
        self.n_members = len(right)
        return self

    def get_support(self):
        return np.isin(np.arange(self.n_members), self.chosen)


METHODS = {
    "COMEP, λ = 0.1": COMEP(diversity_weight=0.1),
    "reduced error": "re",
    "mine": Mine,
    "my object": Mine(),
    "last": last,
    "chi2": SelectKBest(chi2, k=4),
    "OEP": OEP(),
}


def forest():
    return RandomForestClassifier(12)


def untimed(found):
    return found.frame[[name for name in found.frame if not name.endswith("seconds")]]


@pytest.fixture(scope="module")
def found():
    return benchmark(SETS, {"forest": forest}, METHODS, [3, "50%"], folds=3, control="mine")


def kl(votes, y, keep):
    """The paper's plans give KL how often each member votes for each class."""
    sizes = Votes.encode(votes, y).sizes
    return KLDivergencePruner(keep, distributions=sizes).fit(votes, y).member_indices_


def test_the_papers_tables_come_out_to_the_byte(tmp_path):
    rows = tuple(PaperRow(n.title(), n, "multiclass", "dt", False) for n in ("iris", "wine"))
    sizes = {"n_members": (12,), "keep": (0.25,), "diversity_weight": (0.5,)}
    plan = Plan(
        *("table-dt", "Trees", "", "prune", rows, PAPER_METHODS), folds=tuple(range(5)), **sizes
    )
    run([plan], tmp_path)
    paper = make_accuracy_table(plan, load_results(tmp_path))
    free = {"kl": kl, "drep": DREP(keep=None), "sep": SEP(keep=None), "oep": OEP(keep=None)}
    free |= {name: make_pruner(name, keep=None) for name in ("oo", "pep")}
    found = benchmark(
        {"Iris": Loader("iris"), "Wine": Loader("wine")},
        {"dt": BaggingClassifier(DecisionTreeClassifier(), n_estimators=12)},
        {method_label(method): free.get(method, method) for method in PAPER_METHODS},
        keep=0.25,
        voting="labels",
        control="DOMEP",
    )
    own = replace(found.table(), columns=found.methods, caption=paper.caption, title=paper.title)
    latex = [as_latex(Sheet("same", t.title, t.caption, t.grid(), "")) for t in (own, paper)]
    assert latex[0] == latex[1]
    assert latex[0].count(r"\textbf") >= 2
    theirs = load_results(tmp_path)
    for _, line in theirs.iterrows():
        mine = found.frame.set_index(["dataset", "method", "fold"])["members"]
        assert (
            mine[line["dataset"].title(), method_label(line["method"]), line["fold"]]
            == line["members"]
        )


def test_a_score_is_that_of_the_pruned_model_on_rows_held_out(found):
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(seed_sequence(0, "wine", "folds"))
    train, choose, test = split_samples(y, 1, rng, 3)
    assert sorted([*train, *choose, *test]) == list(range(len(y)))
    model = RandomForestClassifier(12, random_state=small_seed(0, "wine", "forest", 1, "train"))
    model.fit(X[train], y[train])
    pruned = secateurs.prune(model, X[choose], y[choose], "re", keep=3)
    mine = found.frame.query("dataset == 'wine' and fold == 1 and keep == 3").set_index("method")
    assert mine.loc["reduced error", "members"] == pruned.member_indices.tolist()
    assert mine.loc["reduced error", "score"] == pruned.estimator.score(X[test], y[test])
    assert mine.loc["all members", "score"] == model.score(X[test], y[test])
    assert mine.loc["es", "members"] == [0, 1, 2]
    assert mine.loc["last", "members"] == [9, 10, 11]
    assert mine.loc["mine", "members"] == mine.loc["my object", "members"]
    assert mine.loc["single best", "n_kept"] == 1
    sizes = (mine.loc["all members", n] for n in ("n_train", "n_validation", "n_test"))
    assert list(sizes) == [len(train), len(choose), len(test)]


def test_the_frame_is_tidy(found):
    names = ["dataset", "ensemble", "method", "keep", "seed", "fold"]
    assert not found.frame.duplicated(names).any()
    assert len(found.frame) == 3 * 11 * 2 * 3
    assert found.methods == tuple(METHODS)
    assert found.baselines == ("es", "random", "single best", "all members")
    assert found.sizes == (3, 0.5)
    asked = found.frame.query("method in ['last', 'random', 'reduced error']")
    assert (asked["n_kept"] == asked["keep"].map({3: 3, 0.5: 6})).all()
    assert set(found.frame.query("method == 'chi2'")["n_kept"]) == {4}  # it decides
    free = found.frame.query("method == 'OEP'").groupby(["dataset", "fold"])
    assert (free["score"].nunique() == 1).all()


def naive_ranks(scores):
    """Average ranks, a row at a time: one, and one for each that is better, half for each equal."""
    ranks = [
        [1 + sum(o > s for o in row) + (sum(o == s for o in row) - 1) / 2 for s in row]
        for row in scores
    ]
    return np.mean(ranks, axis=0)


@pytest.mark.parametrize("keep", [3, 0.5])
def test_ranks_and_tests_are_those_of_the_means(found, keep):
    mine = found.frame[found.frame["keep"] == keep]
    means = mine.pivot_table(index="dataset", columns="method", values="score", sort=False)
    pd.testing.assert_frame_equal(
        found.mean_scores(keep)[list(METHODS)],
        means[list(METHODS)],
        check_names=False,
        rtol=1e-12,
    )
    rounded = (100 * means[list(METHODS)]).round(2)
    expected = dict(zip(METHODS, naive_ranks(rounded.to_numpy()), strict=True))
    assert found.ranks(keep).to_dict() == pytest.approx(expected)
    assert found.ranks(keep).is_monotonic_increasing
    statistic = stats.friedmanchisquare(*rounded.to_numpy().T).statistic
    assert found.friedman(keep).statistic == pytest.approx(statistic)
    for own, of_table in (
        (found.nemenyi(keep), nemenyi(rounded)),
        (found.wilcoxon_holm(keep), wilcoxon_holm(rounded, "mine")),
    ):
        np.testing.assert_allclose(own.p_values, of_table.p_values)
    assert "7 methods on 3 data sets" in found.describe(keep)


def test_latex_and_markdown_have_the_numbers(found):
    mine = found.frame[found.frame["keep"] == 3]
    folds = (100 * mine.set_index(["dataset", "method", "fold"])["score"]).unstack()
    latex, markdown = found.to_latex(3), found.to_markdown(3)
    for text, start, sep, pm in ((latex, "", " & ", r"$\pm$"), (markdown, "| ", " | ", "±")):
        for dataset in SETS:
            line = next(
                one for one in text.splitlines() if one.startswith(f"{start}{dataset}{sep}")
            )
            cells = [re.sub(r"\\textbf{|}|\*\*|\$\\d*dagger\$|[‡†]|\\\\| \|$", "", cell).strip()
                     for cell in line.split(sep)[1:]]  # fmt: skip
            for method, cell in zip(found.methods, cells, strict=False):
                values = folds.loc[dataset, method]
                shown = f"{values.mean():.2f}{pm}{values.std(ddof=1):.2f}"
                assert cell.removesuffix(" |") == shown, (dataset, method)
    for part in (r"\toprule", r"\midrule", r"\bottomrule", r"COMEP, $\lambda$ = 0.1"):
        assert part in latex
    assert "The best method of a row is in bold: highest mean" in latex
    assert r"$\ddagger$ and $\dagger$ mark methods that mine is significantly better" in latex
    best = max(found.methods, key=lambda name: round(folds.loc["wine", name].mean(), 2))
    line = next(one for one in latex.splitlines() if one.startswith("wine"))
    assert rf"\textbf{{{folds.loc['wine', best].mean():.2f}" in line


def test_marks_are_those_of_a_paired_t_test(found):
    mine = found.frame[found.frame["keep"] == 3]
    folds = mine.set_index(["dataset", "method", "fold"])["score"].unstack()
    for row in found.table(3).rows:
        for method in found.methods:
            entry, pair = row.entries[method], (folds.loc[row.name, n] for n in ("mine", method))
            first, second = pair
            if method == "mine" or np.allclose(first, second):
                assert entry.mark == ""
            else:
                assert entry.test.p_value == pytest.approx(stats.ttest_rel(first, second).pvalue)


def test_the_page_and_all_files_are_written(found, tmp_path):
    wrote = found.save(tmp_path)
    names = {path.relative_to(tmp_path).as_posix() for path in wrote}
    assert all(path.is_file() for path in wrote)
    assert {"index.html", "scores.csv", "tables/keep-3.tex", "tables/keep-0.5.csv"} <= names
    assert {f"figures/critical-difference-keep-3.{kind}" for kind in ("png", "svg", "csv")} <= names
    page = found.report(tmp_path / "page.html").read_text("utf-8")
    assert page == (tmp_path / "index.html").read_text("utf-8")
    for text in ("COMEP, λ = 0.1", "some cancer", "all members", "data:image/svg+xml"):
        assert text in page
    assert "http://" not in page
    assert "https://" not in page
    assert " at 0x" not in page  # addresses differ from run to run
    with pytest.raises(InputError, match="exists"):
        found.report(tmp_path / "page.html")
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert scores["score"].tolist() == found.frame["score"].tolist()
    assert "<table>" in found._repr_html_()
    assert repr(found).startswith("Benchmark(7 methods on 3 data sets: COMEP, λ = 0.1, reduced")


def test_the_figure_is_of_the_ranks(found):
    import matplotlib.pyplot as plt

    display = found.plot(3, test="wilcoxon")
    assert display.pairs.ranks.to_dict() == pytest.approx(found.ranks(3).to_dict())
    plt.close(display.figure_)


def test_threads_processes_and_order_change_nothing():
    settings = {"datasets": {"iris": load_iris}, "ensembles": forest(), "keep": 3, "folds": 3}
    methods = {"mine": Mine, "last": last, "random": "random"}
    one = benchmark(**settings, methods=methods)
    both = benchmark(**settings, methods=methods, n_jobs=2)
    pd.testing.assert_frame_equal(untimed(one), untimed(both))
    with ThreadPoolExecutor(2) as pool:
        turned = benchmark(**settings, methods=dict(reversed(methods.items())), executor=pool)
    names = ["dataset", "method", "fold"]
    frames = (untimed(f).sort_values(names, ignore_index=True) for f in (one, turned))
    pd.testing.assert_frame_equal(*frames)
    assert one.baselines == ("es", "single best", "all members")  # random takes part


def test_what_cannot_be_sent_to_other_processes_is_named():
    class Stuck(Mine):
        def __reduce__(self):
            raise TypeError("it holds a lock")

        def __deepcopy__(self, memory):
            return type(self)(self.keep)

    text = r"Method mine cannot be sent to other processes: TypeError: it holds a lock\. Define"
    with pytest.raises(InputError, match=text):
        benchmark({"iris": load_iris}, forest(), {"mine": Stuck()}, 3, n_jobs=2)
    benchmark({"iris": load_iris}, forest(), {"mine": Stuck()}, 3, folds=3)


def test_progress_is_in_measurements_and_not_in_steps_of_methods():
    calls = []
    with watch_progress(lambda *call: calls.append(call[:2])):
        benchmark({"iris": load_iris}, forest(), ["re"], 3, folds=3)
    assert calls == [(0, 15), (5, 15), (10, 15), (15, 15)]


def test_regressors_are_split_as_they_are_and_scored_by_r2():
    found = benchmark({"diabetes": load_diabetes}, RandomForestRegressor(8), keep=3, folds=3)
    assert found.methods == ("joint", "caruana", "best")  # the methods for regression
    assert found.scoring.name == "r2"
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(seed_sequence(0, "diabetes", "folds"))
    train, _, test = split_samples(y, 0, rng, 3, by_class=False)
    assert {len(train), len(test)} == {148, 147}
    seed = small_seed(0, "diabetes", "RandomForestRegressor", 0, "train")
    model = RandomForestRegressor(8, random_state=seed).fit(X[train], y[train])
    mine = found.frame.query("method == 'all members' and fold == 0")
    assert mine["score"].item() == pytest.approx(model.score(X[test], y[test]), abs=1e-6)
    assert "R²" in found.to_text()


def test_any_score_of_scikit_learn_is_taken():
    found = benchmark(
        {"iris": load_iris}, forest(), ["re", "caruana"], 3, folds=3, scoring="neg_log_loss"
    )
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(seed_sequence(0, "iris", "folds"))
    train, _, test = split_samples(y, 2, rng, 3)
    seed = small_seed(0, "iris", "RandomForestClassifier", 2, "train")
    model = RandomForestClassifier(12, random_state=seed).fit(X[train], y[train])
    mine = found.frame.query("method == 'all members' and fold == 2")["score"].item()
    assert mine == pytest.approx(-log_loss(y[test], model.predict_proba(X[test])), abs=1e-6)


def test_a_size_that_was_not_measured_is_told(found):
    with pytest.raises(InputError, match=r"keep=7 was not measured. Pass one of: 3, 0.5"):
        found.ranks(7)


def test_repetitions_have_folds_of_their_own_and_count_as_one():
    found = benchmark({"iris": load_iris}, forest(), ["re"], 3, folds=3, random_state=4, repeats=2)
    assert set(found.frame["seed"]) == {4, 5}
    mine = found.frame.query("method == 're'")
    folds = mine.groupby("fold")["score"].mean()
    entry = found.table().rows[0].entries["re"]
    assert list(entry.folds.values()) == pytest.approx((100 * folds).tolist())
    assert "over 3 folds, each the mean of 2 repetitions" in found.to_text()
    later = benchmark({"iris": load_iris}, forest(), ["re"], 3, folds=3, random_state=5)
    same = untimed(found).query("seed == 5").reset_index(drop=True)
    pd.testing.assert_frame_equal(same, untimed(later))


def test_one_data_set_has_tables_but_nothing_to_test(tmp_path):
    found = benchmark({"iris": load_iris}, forest(), ["re", "kp"], 3, folds=3)
    assert "nothing to test with 2 methods on 1 data set" in found.describe()
    assert not any("figures" in str(path) for path in found.save(tmp_path))
