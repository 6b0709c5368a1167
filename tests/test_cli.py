"""The command line as a whole: light to start, exact in how it ends, good to type."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from secateurs import __version__
from secateurs._methods import METHODS
from secateurs.cli import COMMANDS, secateurs
from secateurs.commands.reproduce import plan_names

HEAVY = ("sklearn", "pandas", "numba", "numpy", "scipy", "matplotlib", "dask", "rich")


def shell(*words, **settings):
    """Type a command in a shell of its own."""
    return subprocess.run(
        [sys.executable, "-m", "secateurs", *words],
        capture_output=True,
        text=True,
        check=False,
        **settings,
    )


def loaded_by(*words):
    code = (
        "import sys\n"
        "from secateurs.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    print(*sorted(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split()), done.stdout


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)], ids=" ".join
)
def test_help_is_light(words):
    loaded, said = loaded_by(*words)
    assert said
    assert not loaded & set(HEAVY)


def test_help_names_every_command_and_code():
    done = shell("--help")
    assert done.returncode == 0
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout
    for code in ("0 success", "3 invalid input", "4 refused for safety", "130 interrupted"):
        assert code in done.stdout


def test_version():
    assert shell("--version").stdout == f"secateurs {__version__}\n"


def test_nothing_typed_shows_the_help():
    done = shell()
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: secateurs" in done.stderr


def test_a_command_as_typed_in_a_shell(tmp_path):
    done = shell("prune", "forest.skops", "val.csv", "--target", "churn", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr == "error: forest.skops does not exist. Give the path of a file.\n"
    done = shell("inspect", "forest.skops", "--json", cwd=tmp_path)
    assert done.returncode == 3
    assert json.loads(done.stderr)["error"]["code"] == "input.no_file"
    assert list(tmp_path.iterdir()) == []


def complete(words, incomplete):
    found = ShellComplete(secateurs, {}, "secateurs", "_SECATEURS_COMPLETE").get_completions(
        words, incomplete
    )
    return [item.value for item in found]


def test_the_shell_completes_commands():
    assert complete([], "co") == ["compare", "convert"]
    assert complete([], "") == list(COMMANDS)
    assert complete(["data"], "") == ["fetch", "list", "verify"]


def test_the_shell_completes_methods():
    assert complete(["prune", "-p"], "") == [*METHODS, "auto"]
    assert complete(["prune", "--pruner"], "D") == ["domep", "drep"]
    assert complete(["compare", "-p", "re", "-p"], "o") == ["oo", "oep"]
    assert complete(["cite"], "k") == ["kl", "kp"]
    assert complete(["reproduce", "--only"], "table") == [
        name for name in plan_names() if name.startswith("table")
    ]


def test_the_shell_completes_options():
    assert complete(["prune"], "--tol") == ["--tolerance"]
    limits = ["--max-bytes", "--max-latency", "--max-cost", "--max-unpacked"]
    assert complete(["prune"], "--max-") == limits


def test_completion_in_a_real_shell_is_light():
    env = {**os.environ, "_SECATEURS_COMPLETE": "bash_complete"}
    env |= {"COMP_WORDS": "secateurs prune -p dr", "COMP_CWORD": "3"}
    assert shell(env=env).stdout == "plain,drep\n"


def test_plans_are_those_of_the_experiments():
    from secateurs.paper import PLANS

    assert set(plan_names()) == set(PLANS)


def colours(**variables):
    """Type a wrong command on a terminal of our own."""
    import pty

    terminal, end = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", **variables}
    subprocess.run(
        [sys.executable, "-m", "secateurs", "cite", "random"],
        stdin=end,
        stdout=end,
        stderr=end,
        env=env,
        check=False,
    )
    os.close(end)
    said = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other end is closed, and all is read
            break
        if not part:
            break
        said += part
    os.close(terminal)
    return said.decode()


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_colours_are_for_terminals_and_can_be_switched_off():
    said = colours()
    assert "random does not come from a paper" in said
    if "NO_COLOR" not in os.environ:
        assert "\x1b[" in said
    assert "\x1b[31" not in colours(NO_COLOR="1")
    assert "\x1b[1;31" not in colours(NO_COLOR="1")
    assert "\x1b[" not in shell("cite", "random").stderr


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_an_interrupted_command_leaves_nothing_half_done(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "secateurs", "demo", "-o", str(tmp_path / "demo")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "demo" / ".secateurs-demo").exists():  # a minute to go
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1].startswith("error: interrupted.")
    assert "Traceback" not in err
    assert [path.name for path in (tmp_path / "demo").iterdir()] == [".secateurs-demo"]


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_a_reader_that_goes_away_is_no_fault():
    shell_line = f"{sys.executable} -m secateurs methods | head -c 1"
    done = subprocess.run(shell_line, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "n"
    assert "Traceback" not in done.stderr


def test_letters_that_the_terminal_lacks_do_no_harm():
    env = {**os.environ, "PYTHONIOENCODING": "koi8-r"}
    done = shell("prune", "--help", env=env)
    assert done.returncode == 0
    assert "rows ? members ? classes" in " ".join(done.stdout.split())


def test_the_package_has_what_the_commands_need():
    import secateurs as package

    folder = Path(package.__file__).parent / "commands"
    assert (folder / "references.bib").is_file()
    assert all((folder / f"{name}.py").is_file() for name in COMMANDS)
