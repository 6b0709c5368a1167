"""The tests themselves end: they wait for other processes with a limit, and can interrupt them."""

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Methods that wait for a process or thread, and the number of arguments without a limit.
WAITS = {"wait": 0, "communicate": 0}
STARTS = ("run", "call", "check_call", "check_output")  # functions of subprocess that wait


def is_unlimited(call):
    """Return whether a call may wait for ever."""
    keywords = [keyword.arg for keyword in call.keywords]
    if not isinstance(call.func, ast.Attribute) or "timeout" in keywords or None in keywords:
        return False
    if isinstance(call.func.value, ast.Name) and call.func.value.id == "subprocess":
        return call.func.attr in STARTS
    return call.func.attr in WAITS and len(call.args) == WAITS[call.func.attr]


def test_every_wait_for_another_process_has_a_limit():
    unlimited = [
        f"{path.relative_to(HERE)}:{node.lineno}"
        for path in HERE.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and is_unlimited(node)
    ]
    assert unlimited == []


INTERRUPT = """
import os, signal, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
import conftest
# Processes that tests start can be interrupted too.
sleeps = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"]
child = subprocess.Popen(sleeps, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
child.stdout.readline()
child.send_signal(signal.SIGINT)
assert child.wait(300) == -signal.SIGINT
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_interrupts_work_where_sigint_was_ignored_from_the_start():
    done = subprocess.run(  # as by `nohup make test &`
        [sys.executable, "-c", INTERRUPT, str(HERE)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert done.stdout == "interrupted\n", done.stderr
