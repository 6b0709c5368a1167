"""Progress: what callbacks are told, when a bar appears, where, and that it goes away."""

import os
import pty
import re
import subprocess
import sys
import threading
from types import ModuleType

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

import cases
from fitted_models import CHOOSE, FIT, X, Y
from secateurs import (
    PEP,
    LeafRefit,
    all_pruners,
    collect_predictions,
    collect_votes,
    compare,
    make_pruner,
    progress,
    prune,
)
from secateurs.progress import (
    ProgressState,
    ProgressWatch,
    open_stage,
    report_progress,
    watch_progress,
)
from secateurs.report import report_data

# What callbacks are told ---------------------------------------------------------------


class Told(list):
    """A callback that remembers."""

    def __call__(self, done, total, best):
        self.append((done, total, best))

    @property
    def stages(self):
        """The totals, and the steps that were told of each, in turn."""
        found = []
        for done, total, _ in self:
            if not found or found[-1][0] != total or done <= found[-1][1][-1]:
                found.append((total, []))
            found[-1][1].append(done)
        return found


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("collect", [collect_votes, collect_predictions])
def test_collecting_reports_every_member(forest, tmp_path, collect, n_jobs):
    told = Told()
    collect(forest, X[CHOOSE], n_jobs=n_jobs, callback=told)
    n_members = len(forest.estimators_)
    assert told == [(done, n_members, None) for done in range(1, n_members + 1)]
    told = Told()
    collect(forest, X[CHOOSE], store=tmp_path / "store", callback=told)
    assert told[-1] == (n_members, n_members, None)


@pytest.mark.filterwarnings("ignore:KLDivergencePruner got no")
def test_every_method_reports_its_steps():
    votes, y = cases.plain(12, 60)
    for name in all_pruners():
        told = Told()
        make_pruner(name, keep=4).fit(votes, y, callback=told)
        (total, steps), *more = told.stages
        assert not more, name
        assert steps == sorted(steps), name
        assert steps[-1] == total, name


def test_long_searches_report_at_intervals():
    votes, y = cases.plain(12, 60)
    told = Told()
    PEP(n_iterations=1000, random_state=0).fit(votes, y, callback=told)
    assert told == [(done, 1000, None) for done in range(5, 1001, 5)]


def test_prune_reports_each_stage(forest):
    told = Told()
    prune(forest, X[CHOOSE], Y[CHOOSE], random_state=0, refit=LeafRefit(1), callback=told)
    n_members = len(forest.estimators_)
    trials = 7 * 5  # four methods and three guards, on four fifths each
    expected = [n_members, n_members, trials]  # votes, scores, trials; then the size
    assert told.stages[:3] == [(total, list(range(1, total + 1))) for total in expected]
    assert told.stages[-1][0] == 8  # sweeps of refitting


def test_the_steps_of_a_selection_are_not_those_of_the_report(forest):
    options = {"X_test": X[FIT], "y_test": Y[FIT], "random_state": 0}
    comparison = compare(forest, X[CHOOSE], Y[CHOOSE], ["comep"], 3, **options)
    with watch_progress(told := Told()):
        report_data(comparison)
    assert all(done <= total for done, total, _ in told)


def test_boosted_models_report_their_rounds():
    model = GradientBoostingClassifier(n_estimators=7, random_state=0).fit(X[FIT], Y[FIT])
    told = Told()
    prune(model, X[CHOOSE], Y[CHOOSE], keep=3, callback=told)
    assert told.stages[0] == (7, list(range(1, 8)))


def test_an_error_in_a_callback_ends_the_run(forest):
    def enough(done, total, best):
        raise RuntimeError("enough")

    for run in (
        lambda: collect_votes(forest, X[CHOOSE], n_jobs=2, callback=enough),
        lambda: prune(forest, X[CHOOSE], Y[CHOOSE], "re", 3, callback=enough),
        lambda: compare(forest, X[CHOOSE], Y[CHOOSE], ["re"], 3, callback=enough),
    ):
        with pytest.raises(RuntimeError, match="enough"):
            run()


def test_a_nested_stage_reports_nothing():
    told = Told()
    with watch_progress(told), open_stage("outer", 2) as outer:
        with open_stage("inner", 9) as inner:
            inner.step()
            report_progress(5, 9)
        outer.step()
    assert told == [(1, 2, None)]


# When it is shown ---------------------------------------------------------------------


class Shown:
    """A display that remembers."""

    def __init__(self):
        self.states, self.closed = [], False

    def show(self, state):
        self.states.append(state)

    def close(self):
        self.closed = True


def test_nothing_is_shown_before_two_seconds():
    shown, now = Shown(), [100.0]
    watch = ProgressWatch(display=shown, label="choosing", clock=lambda: now[0])
    watch.report_progress(1, 8)
    for now[0] in (100.0, 101.0, 101.999):
        watch.refresh_display()
    assert shown.states == []
    now[0] = 102.0
    watch.refresh_display()
    assert shown.states == [ProgressState("choosing", 1, 8, 2.0)]


def test_the_display_is_closed_after_an_error():
    shown = Shown()
    with pytest.raises(KeyboardInterrupt), watch_progress(display=shown, label="choosing"):
        raise KeyboardInterrupt
    assert shown.closed


def test_the_display_shows_the_current_stage(monkeypatch):
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    shown = Shown()
    with watch_progress(display=shown, label="pruning") as watch:
        watch.refresh_display()
        with open_stage("collecting votes", 3) as steps:
            steps.step()
            watch.refresh_display()
        watch.refresh_display()
    labels = [(state.label, str(state)) for state in shown.states]
    assert ("pruning", "") in labels
    assert ("collecting votes", "1 of 3") in labels
    assert labels[-1] == ("pruning", "")


@pytest.fixture
def person(monkeypatch):
    """A terminal that a person looks at."""
    monkeypatch.setattr(progress, "is_terminal", lambda: True)
    monkeypatch.setattr(progress, "_UNATTENDED", ("CI",))  # pytest sets its own again and again
    for name in ("CI", "SECATEURS_PROGRESS"):
        monkeypatch.delenv(name, raising=False)


def test_a_bar_is_shown_in_terminals_and_notebooks_only(person, monkeypatch):
    with watch_progress() as watch:
        assert isinstance(watch.display, progress.TerminalBar)
        with watch_progress() as inner:
            assert inner is watch
    with watch_progress(Told()) as watch:  # whose own it is to show
        assert watch.display is None
    for name, value in (("CI", "true"), ("SECATEURS_PROGRESS", "Off")):
        with monkeypatch.context() as context:
            context.setenv(name, value)
            with watch_progress() as watch:
                assert watch.display is None
    monkeypatch.setattr(progress, "is_terminal", lambda: False)
    with watch_progress() as watch:
        assert watch.display is None


def test_nothing_is_shown_in_tests(monkeypatch):
    monkeypatch.setattr(progress, "is_terminal", lambda: True)
    monkeypatch.delenv("CI", raising=False)
    with watch_progress() as watch:
        assert watch.display is None


def test_workers_show_nothing(person):
    found = []

    def work():
        with watch_progress() as watch:
            found.append(watch.display)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(300)
    assert found == [None]


# In notebooks -------------------------------------------------------------------------


class ZMQInteractiveShell:
    """The shell of a notebook, by its name."""


@pytest.fixture
def notebook(person, monkeypatch):
    """What a notebook shows, each output as it was drawn last."""
    outputs = []

    class Handle:
        def __init__(self, content):
            outputs.append([content])

        def update(self, content):
            outputs[-1].append(content)

    package, shown = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = ZMQInteractiveShell
    package.display = shown
    shown.HTML = str
    shown.display = lambda content, display_id: Handle(content)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return outputs


def test_a_notebook_has_a_bar_that_leaves_nothing(notebook, monkeypatch):
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    with watch_progress() as watch, open_stage("choosing by <re>", 1200) as steps:
        assert isinstance(watch.display, progress.NotebookBar)
        steps.report_progress(30, 1200)
        watch.refresh_display()
    (drawn,) = notebook
    expected = '<progress value="30" max="1200"></progress> choosing by &lt;re&gt; 30 of 1,200, 0 s'
    assert expected in drawn
    assert drawn[-1] == ""


# In terminals -------------------------------------------------------------------------

_RUN = """
import logging, sys, time
import numpy as np
logging.getLogger("secateurs").setLevel("ERROR")  # no note on compiling, in a fresh clone
from secateurs import SEP, progress
progress.SHOWN_AFTER, progress._EVERY = float(sys.argv[1]), 0.001
rng = np.random.RandomState(0)
votes, y = rng.randint(0, 2, (300, 40)), rng.randint(0, 2, 300)
seen = []
show = progress.TerminalBar.show
def showing(self, state):
    show(self, state)
    seen.append(state)
progress.TerminalBar.show = showing
from secateurs.pruners import _sep
tell = _sep.report_progress
def waiting(*told):  # until it is shown, if it is to be
    tell(*told)
    while sys.argv[1] == "0" and sys.stderr.isatty() and len(seen) < 3:
        time.sleep(0.001)
_sep.report_progress = waiting
print("before", file=sys.stderr)
SEP(n_iterations=5000, random_state=0).fit(votes, y)
print("after", file=sys.stderr)
"""


def in_terminal(seconds, **environment):
    """Return what a terminal gets from a run that shows a bar after some seconds."""
    ours, theirs = pty.openpty()
    hidden = {"CI", "PYTEST_CURRENT_TEST", "NO_COLOR", "SECATEURS_PROGRESS"}
    known = {name: value for name, value in os.environ.items() if name not in hidden}
    run = subprocess.Popen(
        [sys.executable, "-c", _RUN, seconds],
        stderr=theirs,
        env=known | {"TERM": "xterm", "COLUMNS": "100"} | environment,
    )
    os.close(theirs)
    read = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not block:
            break
        read += block
    os.close(ours)
    assert run.wait(300) == 0
    return read.decode()


def screen(written):
    """Return the lines that a terminal shows in the end, by the few controls that a bar uses."""
    lines, row, column = [""], 0, 0
    for control, letter in re.findall(r"(\x1b\[[0-9;?]*[A-Za-z])|(.)", written, flags=re.DOTALL):
        if control:
            number = int(re.sub(r"\D", "", control) or 1)
            if control[-1] == "A":
                row -= number
            elif control[-1] == "K":
                lines[row] = ""
            else:
                assert control[-1] in "mhl", control  # colours, and whether there is a cursor
        elif letter == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif letter == "\r":
            column = 0
        else:
            lines[row] = lines[row][:column].ljust(column) + letter + lines[row][column + 1 :]
            column += 1
    return [line for line in lines if line]


def test_a_terminal_shows_a_bar_that_leaves_nothing_behind():
    written = in_terminal("0")
    assert "selecting members by sep" in written
    assert "of 5,000" in written
    assert screen(written) == ["before", "after"]


def test_short_runs_show_nothing():
    assert in_terminal("600") == "before\r\nafter\r\n"


def test_a_pipe_gets_no_bar():
    known = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    run = subprocess.run(
        [sys.executable, "-c", _RUN, "0"],
        capture_output=True,
        env=known,
        check=True,
        text=True,
        timeout=600,
    )
    assert run.stderr == "before\nafter\n"
    assert run.stdout == ""


def test_the_best_value_is_reported_if_there_is_one():
    votes, y = cases.plain(12, 60)
    told = Told()
    pruner = make_pruner("comep", keep=4).fit(votes, y, callback=told)
    np.testing.assert_array_equal([best for _, _, best in told], pruner.scores_)
