"""The command line as a whole: light to start, exact in how it ends, good to type."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
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
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
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
    for code in (
        "0 success",
        "3 invalid input",
        "4 rejected for safety",
        "130 interrupted",
        "141 output closed",
    ):
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
    assert done.stderr == "error: forest.skops does not exist. Pass the path of a file.\n"
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
    limits = ["bytes", "latency", "cost", "group-loss", "nodes", "unpacked"]
    assert complete(["prune"], "--max-") == [f"--max-{name}" for name in limits]


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
        timeout=600,
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


ONE_LINE = "error: interrupted. Run the same command to start over.\n"


def start(*words):
    """Start a command with a line on stderr for every module that it has imported."""
    return subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "secateurs", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said_by(process):
    """What a command says until its end, without the lines about modules."""
    return "".join(line for line in process.stderr if not line.startswith("import time:"))


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize(
    ("module", "twice", "as_json"),
    [
        ("click.core", False, False),
        ("secateurs.commands.shared_options", False, True),
        ("secateurs.commands.compare", True, False),
        ("numpy.linalg", False, False),
        ("scipy.sparse", True, True),
        ("sklearn.base", False, True),
        ("sklearn.tree", True, False),
    ],
)
def test_a_command_can_be_interrupted_as_soon_as_it_imports_anything(
    tmp_path, module, twice, as_json
):
    process = start("demo", "-q", "-o", str(tmp_path / "demo"), *["--json"] * as_json)
    for line in process.stderr:
        if line.startswith("import time:") and line.split("|")[-1].strip() == module:
            break
    else:
        pytest.fail(f"{module} is not imported")
    process.send_signal(signal.SIGINT)
    if twice:
        process.send_signal(signal.SIGINT)
    said = said_by(process)
    assert (process.wait(300), process.stdout.read()) == (130, "")
    expected = {"code": "interrupted", "message": "interrupted."}
    if as_json:
        assert json.loads(said)["error"].items() >= expected.items()
    else:
        assert said == ONE_LINE
    assert [path.name for path in tmp_path.glob("demo/*")] in ([], [".secateurs-demo"])


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("n_times", [1, 2, 3])
def test_an_interrupted_command_leaves_nothing_half_done(tmp_path, n_times):
    process = start("demo", "-q", "-o", str(tmp_path / "demo"), "--trees", "5000")
    reader = ThreadPoolExecutor(1)
    said = reader.submit(said_by, process)
    while not (tmp_path / "demo" / ".secateurs-demo").exists():  # a minute to go, or more
        assert process.poll() is None
        time.sleep(0.02)
    for _ in range(n_times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    assert (said.result(300), process.wait(300), process.stdout.read()) == (ONE_LINE, 130, "")
    assert [path.name for path in (tmp_path / "demo").iterdir()] == [".secateurs-demo"]


def piped(words, end):
    """Type a command in a POSIX shell, with this end; its exit code and what it says on stderr."""
    line = f"({sys.executable} -m secateurs {words}; echo code $? >&3) {end}"
    return subprocess.run(
        ["sh", "-c", f"exec 3>&1; {line}"], capture_output=True, text=True, check=False, timeout=600
    )


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_a_reader_that_goes_away_is_no_fault():
    shell_line = f"{sys.executable} -m secateurs methods | head -c 1"
    done = subprocess.run(
        shell_line, shell=True, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.stdout == "n"
    assert "Traceback" not in done.stderr
    assert "details: secateurs methods" in done.stderr or not done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_a_reader_that_is_gone_from_the_start_has_its_exit_code():
    commands = ["methods", "methods --json", "--help", "prune --help", "cite re"]
    ends = ["| sh -c 'exec <&-; sleep 2'", "2>&1 | sh -c 'exec <&-; sleep 2'"]
    cases = [(words, end) for words in commands for end in ends]
    with ThreadPoolExecutor(len(cases)) as pool:  # each case waits for two seconds
        found = list(pool.map(lambda case: piped(*case), cases))
    expected = [(*case, "code 141\n", "") for case in cases]
    assert [(*case, f.stdout, f.stderr) for case, f in zip(cases, found)] == expected


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("words", ["methods", "--help", "prune --help"])
def test_an_output_without_room_is_named(words):
    done = piped(words, "> /dev/full")
    assert done.stdout == "code 3\n"
    assert done.stderr == "error: stdout: No space left on device\n"


def test_letters_that_the_terminal_lacks_do_no_harm():
    env = {**os.environ, "PYTHONIOENCODING": "koi8-r"}
    done = shell("prune", "--help", env=env)
    assert done.returncode == 0
    assert "samples ? members ? classes" in " ".join(done.stdout.split())


def test_the_package_has_what_the_commands_need():
    import secateurs as package

    folder = Path(package.__file__).parent / "commands"
    assert (folder / "references.bib").is_file()
    assert all((folder / f"{name}.py").is_file() for name in COMMANDS)
