"""The example of the README runs, and has the results that the README states."""

import pickle
import re
from pathlib import Path

import pytest
from sklearn.metrics import log_loss

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def words(text):
    """Text without line breaks."""
    return " ".join(text.split())


@pytest.mark.filterwarnings("ignore::secateurs.exceptions.SecateursWarning")
def test_the_example_has_the_results_that_the_readme_states(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```python\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
    assert len([line for line in code.splitlines() if line]) == 10
    found = {}
    exec(code, found)
    assert "log loss" in capsys.readouterr().out
    assert (tmp_path / "small.skops").exists()
    forest, pruned = found["forest"], found["pruning"].estimator
    X_test, y_test = found["X_test"], found["y_test"]
    after, before = (model.score(X_test, y_test) for model in (pruned, forest))
    losses = [log_loss(y_test, model.predict_proba(X_test)) for model in (pruned, forest)]
    times_smaller = len(pickle.dumps(forest)) / len(pickle.dumps(pruned))
    assert found["pruning"].problem.refitted is not None
    assert (
        f"`prune` keeps {pruned.n_estimators} of {forest.n_estimators} trees. On the test set, the "
        f"accuracy is {after:.3f} instead of {before:.3f}, the log loss {losses[0]:.3f} instead of "
        f"{losses[1]:.3f}, and the model is {times_smaller:.0f} times smaller."
    ) in words(README)


def test_the_readme_names_the_two_commands():
    assert "    make demo " in README
    assert "    make test " in README


ROWS = {  # rows of the README's table, with their part and row of docs/kept-rivals.md
    "full forest": ("Without a limit", "full forest"),
    "10 trees, pruned": ("10 of 100", "pruned, out of bag"),
    "10 trees, pruned and refitted": ("10 of 100", "refitted, out of bag"),
    "as many bytes, with pruned branches": ("10 of 100", "branches, out of bag"),
    "fresh forest of 10 trees": ("10 of 100", "fresh forest, equal trees"),
    "fresh forest, as many bytes": ("10 of 100", "fresh forest, equal bytes"),
    "LightGBM, as many bytes": ("10 of 100", "LightGBM, equal bytes"),
    "LightGBM, as fast": ("10 of 100", "LightGBM, equal latency"),
    "LightGBM, no limit": ("Without a limit", "LightGBM, early stopping"),
}


def table_rows(text):
    """The rows of all tables in a text: lists of cells."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_has_the_numbers_of_the_benchmark():
    page = (Path(__file__).parents[1] / "docs" / "kept-rivals.md").read_text("utf-8")
    parts = {part.split("\n", 1)[0]: table_rows(part) for part in page.split("\n## ")}
    shown = {row[0]: row[1:] for row in table_rows(README) if row[0] in ROWS}
    assert shown.keys() == ROWS.keys()
    for label, (part, name) in ROWS.items():
        heads, *rows = parts[part]
        (found,) = ([dict(zip(heads, row, strict=True))] for row in rows if row[0] == name)
        columns = ("accuracy", "AUC", "log loss", "bytes", "ms")
        assert shown[label] == [found[0][column] for column in columns], label
