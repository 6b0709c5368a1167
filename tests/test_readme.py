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
