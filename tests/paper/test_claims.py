"""Claims: the rule that they share, and that all of them are judged."""

import json
from dataclasses import asdict

import pandas as pd
import pytest
from made_up_results import claims_of, noisy

from secateurs.paper._reproduce import make_contents
from secateurs.paper.claims import weigh_settings


@pytest.mark.parametrize(
    ("n", "n_for", "n_against", "verdict"),
    [
        (0, 0, 0, "cannot be told"),
        (2, 2, 0, "cannot be told"),
        (3, 3, 0, "holds"),
        (4, 3, 1, "holds"),
        (8, 5, 2, "cannot be told"),
        (8, 5, 3, "does not hold"),
        (8, 0, 0, "cannot be told"),
        (3, 0, 3, "does not hold"),
    ],
)
def test_settings_are_weighed_by_quarters(n, n_for, n_against, verdict):
    assert weigh_settings(n, n_for, n_against).verdict == verdict


def test_every_claim_is_judged_even_without_results():
    claims = make_contents([], pd.DataFrame()).claims
    assert [claim.name for claim in claims] == [
        *("not-worse", "best-ranks", "superior", "faster", "faster-bare", "faster-large"),
        *("faster-large-bare", "super-linear"),
        *("epfd-accuracy", "epfd-time", "epfd-time-large", "epfd-pep"),
        *("objective", "objective-test", "mix", "mix-alone", "weight", "tuned", "sizes"),
    ]
    assert {claim.verdict for claim in claims} == {"not measured"}
    assert all("The claim holds" in claim.rule for claim in claims)
    assert all(claim.told for claim in claims)


def test_claims_are_plain_values_with_the_statistic_that_they_rest_on():
    found = [*claims_of("figure-epfd", noisy).values(), *claims_of("table-dt", noisy).values()]
    told = [claim for claim in found if claim.statistic]
    assert [claim.name for claim in told] == [
        *("epfd-accuracy", "epfd-time", "epfd-time-large", "epfd-pep"),
        *("not-worse", "best-ranks", "superior"),
    ]
    for claim in told:
        assert claim.statistic.low <= claim.statistic.value <= claim.statistic.high
    for claim in found:
        assert json.loads(json.dumps(asdict(claim)))["verdict"] == claim.verdict
