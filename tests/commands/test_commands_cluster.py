"""``--scheduler``: where the work is done changes nothing."""

import pytest
from command_line import type_in

distributed = pytest.importorskip("distributed")

VOTES = ("--predictions", "val-votes.csv", "--target", "truth")
PLAIN = ("method", "keep", "members", "accuracy", "change")


@pytest.fixture(scope="module")
def address():
    """A scheduler with two workers, in threads of this process."""
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize(
    "words",
    [
        ("-k", "4", "-p", "comep"),
        ("-k", "4", "-p", "domep"),
        ("-k", "4", "-p", "re", "--n-groups", "2"),
        ("--tolerance", "0.02", "-p", "comep"),
    ],
    ids=" ".join,
)
def test_a_cluster_gives_the_same_members(desk, address, words):
    here = type_in("prune", *VOTES, *words, "--json")
    there = type_in("prune", *VOTES, *words, "--scheduler", address, "--json")
    assert there.code == 0, there.err
    assert there.json["members"] == here.json["members"]


def test_other_methods_work_in_groups(desk, address):
    ended = type_in("prune", *VOTES, "-k", "4", "-p", "kp", "--scheduler", address)
    assert ended.code == 0
    assert "EPFD" in ended.err
    assert "cluster: " in ended.err


def test_a_cluster_gives_the_same_leaderboard(desk, address):
    words = ("compare", *VOTES, "-p", "kp", "-p", "domep", "-k", "3", "--n-groups", "2", "--json")
    boards = [
        [[line[name] for name in PLAIN] for line in type_in(*words, *more).json["leaderboard"]]
        for more in ((), ("--scheduler", address))
    ]
    assert boards[0] == boards[1]


def test_a_cluster_of_our_own_is_started_and_stopped(desk):
    words = ("prune", *VOTES, "-k", "4", "-p", "re", "--n-groups", "2", "--json")
    here, there = type_in(*words), type_in(*words, "--scheduler", "local", "-j", "1")
    assert there.json["members"] == here.json["members"]


PLAN = """
methods = {a = {class = "beside_the_plan.Mine"}, b = {class = "package_of_the_plan.inner.Mine"}}
keep = 2
folds = 3

[datasets]
sklearn = ["iris"]

[ensembles.bags]
class = "sklearn.ensemble.BaggingClassifier"
n_estimators = 4
"""
MINE = """
class Mine:
    def __init__(self, keep=None):
        self.keep = keep

    def fit(self, votes, y):
        self.member_indices_ = list(range(self.keep))
"""


@pytest.mark.parametrize("scheduler", ["local", None], ids=["processes", "threads"])
def test_modules_next_to_a_plan_reach_the_workers(tmp_path, address, scheduler):
    (tmp_path / "beside_the_plan.py").write_text(MINE)
    (tmp_path / "package_of_the_plan").mkdir()
    (tmp_path / "package_of_the_plan" / "__init__.py").write_text("")
    (tmp_path / "package_of_the_plan" / "inner.py").write_text(MINE)
    (tmp_path / "plan.toml").write_text(PLAN)
    words = ("benchmark", str(tmp_path / "plan.toml"), "-o", str(tmp_path / "out"))
    ended = type_in(*words, "--scheduler", scheduler or address, "--json")
    assert ended.code == 0, ended.err
    assert set(ended.json["ranks"]["2"]) == {"a", "b"}
