"""The soak itself: what goes wrong is counted as that, and a batch of each cheap kind is run."""

import json
import random

import paths  # noqa: F401
import pytest
import supervise
from chaos_stores import stores
from chaos_threads import threads
from tally import BAD, Tally, table

from secateurs.exceptions import InputError

pytestmark = pytest.mark.filterwarnings("ignore")  # of small ensembles and poor members


class TwoLinesError(InputError):
    """An error whose message has two lines, which messages of secateurs never have."""

    def __str__(self):
        return "No.\nNo."


def raising(error):
    def do():
        raise error

    return do


def test_every_end_of_an_attempt_is_counted(tmp_path):
    tally = Tally(path=tmp_path / "tally.json")
    tally.attempt("the same", lambda: [1], [1])
    tally.attempt("one line", raising(InputError("No.")), [1])
    assert tally.is_good
    tally.attempt("another answer", lambda: [2], [1])
    tally.attempt("two lines", raising(TwoLinesError("No.")), [1])
    tally.attempt("of others", raising(KeyError("no")), [1])
    assert (tally.tried, tally.equal, tally.clean, tally.wrong) == (5, 1, 1, 3)
    assert not tally.is_good
    assert len(tally.faults) == 3
    assert Tally.read(tally.path).faults == tally.faults
    assert json.loads(tally.path.read_text())["doing"] is None


SLEEPS = """
import random, subprocess, sys, time
def made(rng, folder, tally):
    tally.begin("something long")
    {body}
    tally.add("equal")
"""
BODIES = {
    "hung": "time.sleep(600)",
    "crashed": "import os; os.kill(os.getpid(), 11)",
    "leaked": "subprocess.Popen(['sleep', '600'])",
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_batch_that_does_not_end_well_is_counted(kind, tmp_path, monkeypatch):
    (tmp_path / "chaos_made.py").write_text(SLEEPS.format(body=BODIES[kind]))
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys; sys.path.insert(0, {str(supervise.__file__.rpartition('/')[0])!r})\n"
        "import supervise; supervise.KINDS['made'] = ('chaos_made', 1)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(supervise, "GRACE_SECONDS", 1)
    found = supervise.supervise("made", 1, most_seconds=6 if kind == "hung" else 100)
    assert {name for name in BAD if getattr(found, name)} == {kind}
    assert len(found.faults) == 1


def test_a_table_has_a_row_for_each_kind_and_one_for_all():
    tallies = {"pools": Tally(equal=1200, clean=3), "dask": Tally(hung=1)}
    text = table(tallies, {"pools": 60.0, "dask": 30.0})
    assert text.splitlines()[-1].split() == [
        "all",
        "1,204",
        "1,200",
        "3",
        "0",
        "1",
        "0",
        "0",
        "1.5",
    ]
    lines = table(tallies, {"pools": 60.0, "dask": 30.0}, markdown=True).splitlines()
    assert lines[0].startswith("| kind | tried | equal | clean error | wrong | hung |")
    assert lines[2] == "| pools | 1,203 | 1,200 | 3 | 0 | 0 | 0 | 0 | 1.0 |"


def test_threads_and_damaged_stores(tmp_path):
    for batch, options in ((threads, {"n_rounds": 1}), (stores, {"n_damages": 4})):
        tally = Tally()
        batch(random.Random(f"test {batch.__name__}"), tmp_path, tally, **options)
        assert tally.is_good, tally.faults
        assert tally.tried > 3
