"""What is printed: tables, JSON, warnings, progress; and the values of options."""

import io
import json
import math
import re
import shlex
import sys
import threading
import warnings

import click
import numpy as np
import pytest

from secateurs import progress
from secateurs.commands import console_output
from secateurs.commands.command_errors import Refusal, format_option, name_options_in_errors
from secateurs.commands.compare import compare
from secateurs.commands.console_output import Output, runnable_command, to_json
from secateurs.commands.export import export
from secateurs.commands.parameter_types import KEEP, LATENCY, SIZE, WEIGHT
from secateurs.commands.prune import prune
from secateurs.commands.reproduce import reproduce
from secateurs.exceptions import SecateursWarning
from secateurs.text_format import format_columns, format_signed


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (KEEP, "50", 50),
        (KEEP, "1", 1),
        (KEEP, "0.1", 0.1),
        (KEEP, ".5", 0.5),
        (KEEP, "10%", 0.1),
        (KEEP, "100%", 1.0),
        (SIZE, "5MB", 5e6),
        (SIZE, "1.5 kb", 1500),
        (SIZE, "2KiB", 2048),
        (SIZE, "12", 12),
        (LATENCY, "2ms", 0.002),
        (LATENCY, "1.5s", 1.5),
        (LATENCY, "20us", 2e-5),
        (WEIGHT, "0.3", 0.3),
        (WEIGHT, "0", 0.0),
        (WEIGHT, "1", 1.0),
        (WEIGHT, "auto", "auto"),
    ],
)
def test_values_are_read(kind, text, value):
    found = kind.convert(text, None, None)
    assert found == pytest.approx(value) if isinstance(value, float) else found == value
    assert type(found) is type(value) or isinstance(found, float)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *(
            (KEEP, text)
            for text in ("0", "-1", "1.5", "nan", "1e2", "", "101%", "0%", "٣.٥", "0.0")
        ),
        *((SIZE, text) for text in ("MB", "-5MB", "5 parsecs", "nan", "", "1e400")),
        *((LATENCY, text) for text in ("2", "ms", "-2ms", "2 hours", "")),
        *((WEIGHT, text) for text in ("-0.1", "1.1", "nan", "half", "")),
    ],
)
def test_values_that_are_none_are_refused(kind, text):
    with pytest.raises(click.BadParameter, match="Pass "):
        kind.convert(text, None, None)


def test_tables_line_up():
    text = format_columns(("name", "n"), [("one", "1"), ("a longer one", "1,000")])
    assert text.splitlines() == [
        "name              n",
        "one               1",
        "a longer one  1,000",
    ]
    assert format_columns(("", ""), [("a", "b\x1b[2J\nc")], left=2) == "a  b?[2J c"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0.5, 2, "+0.50"), (-0.5, 1, "−0.5"), (-0.00001, 4, "0.0000"), (0.0, 0, "0")],
)
def test_changes_have_their_sign(value, digits, text):
    assert format_signed(value, digits) == text


def test_json_holds_plain_values_only():
    data = {"a": np.float64(1.5), "b": [math.nan, math.inf, None], "c": np.arange(2), 3: (True,)}
    assert json.loads(to_json(data)) == {
        "a": 1.5,
        "b": [None, None, None],
        "c": [0, 1],
        "3": [True],
    }


def test_warnings_become_lines(capsys):
    out = Output()
    with out.print_library_warnings():
        warnings.warn(SecateursWarning("Pass {oob}\nto this.", oob=True), stacklevel=1)
        warnings.warn(SecateursWarning("Pass {oob}\nto this.", oob=True), stacklevel=1)
        warnings.warn("for programmers", DeprecationWarning, stacklevel=1)
        warnings.warn("for programmers", FutureWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: Pass --oob to this.\n"
    assert out.warnings == ["Pass --oob to this."]


def test_json_takes_warnings_in(capsys):
    out = Output(as_json=True)
    out.warn("careful")
    out.print_note("unsaid")
    out.print_result({"a": 1}, "text")
    said = capsys.readouterr()
    assert json.loads(said.out) == {"a": 1, "warnings": ["careful"]}
    assert said.err == ""


@pytest.mark.parametrize(
    ("command", "parameters", "spelled"),
    [
        (prune, {"keep": 40}, "--keep 40"),
        (prune, {"keep": ...}, "--keep"),
        (prune, {"force": True}, "--force"),
        (prune, {"trust": "pickle"}, "--trust-pickle"),
        (prune, {"trust_types": ["a.B", "c.D"]}, "--trust-type a.B --trust-type c.D"),
        (prune, {"trust_types": []}, "--trust-type"),
        (prune, {"sha256": "ab12"}, "--sha256 ab12"),
        (prune, {"n_groups": 9}, "--n-groups 9"),
        (prune, {"max_bytes": 20_000.0}, "--max-bytes 20000"),
        (prune, {"max_unpacked": 4 << 30}, "--max-unpacked 4294967296"),
        (prune, {"max_latency": 1e-6}, "--max-latency 0.001ms"),
        (prune, {"diversity_weight": 2}, "--diversity-weight 2"),
        (prune, {"n_rounds": 7}, "n rounds 7"),  # which has no such option
        (prune, {"executor": ...}, "--scheduler"),
        (compare, {"methods": ["a", "b"]}, "--pruner a --pruner b"),
        (export, {"X_check": ...}, "--check"),
        (export, {"model": ...}, "MODEL"),
        (reproduce, {"data_dir": ...}, "--data"),
    ],
)
def test_parameters_are_spelled_as_options_of_the_command(command, parameters, spelled):
    (name,) = parameters
    with pytest.raises(Refusal) as caught, click.Context(command), name_options_in_errors():
        raise Refusal("bad", f"x. Pass {{{name}}}.", **parameters)
    assert str(caught.value) == f"x. Pass {spelled}."


def test_outside_of_a_command_options_follow_from_the_names():
    assert format_option("max_bytes", 10) == "--max-bytes 10"
    assert format_option("force", True) == "--force"


class Lines(io.StringIO):
    """Tells when the time that is left was written."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def write(self, text):
        super().write(text)
        if "left" in text:
            self.written.set()
        return len(text)


def test_where_there_is_no_terminal_a_line_comes_now_and_then(monkeypatch):
    lines = Lines()
    monkeypatch.setattr("sys.stderr", lines)
    monkeypatch.setattr(console_output, "_EVERY", 0.001)
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    with Output().show_progress("selecting") as report:
        report(3, 12, 240.0)
        assert lines.written.wait(300)
    line = r"selecting, 3 of 12, about 4 min left, \d+ s so far\n"
    assert re.search(line, lines.getvalue())


@pytest.mark.parametrize("out", [Output(quiet=True), Output(as_json=True)])
def test_quiet_commands_show_no_progress(monkeypatch, out):
    lines = Lines()
    monkeypatch.setattr("sys.stderr", lines)
    monkeypatch.setattr(console_output, "_EVERY", 0.001)
    with out.show_progress("selecting") as report:
        report(1, 2)
        threading.Event().wait(0.02)
    assert lines.getvalue() == ""


class Terminal(Lines):
    def isatty(self):
        return True


def test_on_a_terminal_there_is_a_bar_that_goes_away(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    with Output().show_progress("selecting") as report:
        report(3, 12, 30)
        assert terminal.written.wait(300)
    said = terminal.getvalue()
    assert "selecting" in said
    assert "3 of 12, about 30 s left" in said
    assert said.endswith("\x1b[2K")  # the line is cleared


def test_a_suggested_command_starts_as_the_program_was_started(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "secateurs"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["bin/secateurs", "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert runnable_command(["prune", "a file.csv"]) == "bin/secateurs prune 'a file.csv'"
    monkeypatch.setenv("PATH", str(program.parent))
    assert runnable_command(["prune"]) == "secateurs prune"
    monkeypatch.setattr("sys.argv", ["lib/secateurs/__main__.py", "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shlex.split(runnable_command(["prune"])) == [sys.executable, "-m", "secateurs", "prune"]
