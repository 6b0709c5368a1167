"""The commands and code with which a report repeats a pruning."""

import pytest

from secateurs import COMEP, DOMEP, EPFD, PEP, KappaPruner, RandomPruner, ReducedErrorPruner
from secateurs.report._command_text import cli_method, constructor_call


@pytest.mark.parametrize(
    ("pruner", "name", "options"),
    [
        (KappaPruner(3), "kp", ""),
        (COMEP(3, 0.25, random_state=7), "comep", "--diversity-weight 0.25"),  # draws nothing
        (COMEP(3, "auto"), "comep", "--diversity-weight auto"),
        (RandomPruner(3, random_state=7), "random", "--random-state 7"),
        (RandomPruner(3, random_state=0), "random", ""),
        (
            DOMEP(3, 4, random_state=7),
            "domep",
            "--diversity-weight 0.5 --n-groups 4 --random-state 7",
        ),
        (EPFD(KappaPruner(3), 4), "kp", "--n-groups 4"),
        (RandomPruner(3).draw_from(None, 5), "random", "--random-state 5"),  # drawn, not passed
    ],
)
def test_the_command_line_can_say_it(pruner, name, options):
    found = cli_method(pruner)
    assert (found.name, " ".join(found.options)) == (name, options)


@pytest.mark.parametrize(
    "pruner",
    [PEP(3, n_iterations=7), ReducedErrorPruner(3, backfit=True), COMEP(3, start="random")],
)
def test_it_says_nothing_rather_than_something_else(pruner):
    assert cli_method(pruner) is None


def test_code_makes_the_same_pruner():
    for pruner in (PEP(3, n_iterations=7, random_state=1), EPFD(COMEP(4, 0.3), 5)):
        made = eval(constructor_call(pruner), {"COMEP": COMEP, "EPFD": EPFD, "PEP": PEP})
        assert repr(made) == repr(pruner)
    assert (
        constructor_call(RandomPruner(3).draw_from(None, 5))
        == "RandomPruner(keep=3, random_state=5)"
    )
    assert constructor_call(PEP(3, n_iterations=7), "{keep}") == "PEP(keep={keep}, n_iterations=7)"
