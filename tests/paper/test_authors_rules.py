"""Methods by the rules of the authors' program, against slow programs of these rules."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cases import cases_with_keep
from secateurs import Votes
from secateurs.paper._authors_rules import (
    select_drep,
    select_kp,
    select_oep,
    select_oo,
    select_pep,
    select_sep,
    their_kappa,
)

RNG = np.random.RandomState(0)  # of rules that draw nothing


def vote_errors(votes, y, bits):
    """Errors of the vote of the members with bit 1; ties and empty votes go to the least label."""
    least, wrong = min(y), 0
    for row, label in zip(votes, y, strict=True):
        counts = Counter(vote for vote, bit in zip(row, bits, strict=True) if bit)
        winner = min(counts, key=lambda c: (-counts[c], c)) if counts else least
        wrong += winner != label
    return wrong


def flipped(bits, rng):
    draws = rng.uniform(size=len(bits))
    return [1 - bit if draw < 1 / len(bits) else bit for bit, draw in zip(bits, draws, strict=True)]


def chosen(bits):
    return [member for member, bit in enumerate(bits) if bit]


def rule_result(rule, votes, y, keep, seed=0):
    """The selection of a rule with the draws of a seed, and a generator with the same draws."""
    rho = keep / len(votes[0])
    members = rule(Votes.encode(votes, y), keep, rho, np.random.RandomState(seed))
    return members, np.random.RandomState(seed), math.ceil(rho * len(votes[0]))


# In these cases all labels are true labels of some sample, and not all members are kept.
def is_plain(votes, y, keep):
    return keep < len(votes[0]) and {label for row in votes for label in row} <= set(y)


@given(cases_with_keep(most_members=6, most_samples=20), st.integers(0, 99))
def test_sep_flips_bits_for_a_few_rounds(drawn, seed):
    (votes, y), keep = drawn
    if not is_plain(votes, y, keep):
        return
    found, rng, limit = rule_result(select_sep, votes, y, keep, seed)
    n_members = len(votes[0])
    bits = [int(draw <= keep / n_members) for draw in rng.uniform(size=n_members)]
    if not any(bits):
        bits[rng.randint(n_members)] = 1
    left = limit
    while left >= 0:
        other = flipped(bits, rng)
        if vote_errors(votes, y, other) <= vote_errors(votes, y, bits):
            bits = other
        left -= 1
        if sum(bits) > limit:
            break
    assert found == chosen(bits)


@given(cases_with_keep(most_members=5, most_samples=12), st.integers(0, 99))
def test_pep_keeps_an_archive_for_a_few_rounds(drawn, seed):
    (votes, y), keep = drawn
    if not is_plain(votes, y, keep):
        return
    found, rng, limit = rule_result(select_pep, votes, y, keep, seed)

    def goals(bits):
        return vote_errors(votes, y, bits), sum(bits)

    def add(bits):
        mine = goals(bits)
        others = [goals(other) for other in archive]
        if any(a <= mine[0] and b <= mine[1] and (a < mine[0] or b < mine[1]) for a, b in others):
            return False
        stays = [not (mine[0] <= a and mine[1] <= b) for a, b in others]
        archive[:] = [bits for bits, stay in zip(archive, stays, strict=True) if stay]
        archive.append(bits)
        return True

    archive = [rng.randint(2, size=len(votes[0])).tolist()]
    for _ in range(limit):
        child = flipped(archive[rng.randint(len(archive))], rng)
        if not add(child):
            continue
        path, left = child, set(range(len(child)))
        steps = []
        while left:
            options = {i: [bit ^ (j == i) for j, bit in enumerate(path)] for i in sorted(left)}
            best = min(options, key=lambda i: (vote_errors(votes, y, options[i]), i))
            path = options[best]
            steps.append(path)
            left.remove(best)
        for step in steps:
            add(step)
    best = min(archive, key=lambda bits: vote_errors(votes, y, bits))
    expected = chosen(best) or [rng.randint(len(best))]
    assert found == expected


@given(cases_with_keep(most_members=6, most_samples=20), st.integers(0, 99))
def test_oo_draws_a_member_if_none_qualifies(drawn, seed):
    (votes, y), keep = drawn
    if not is_plain(votes, y, keep):
        return
    found, rng, _ = rule_result(select_oo, votes, y, keep, seed)
    signs = [[1 if row[t] == label else -1 for row, label in zip(votes, y, strict=True)]
             for t in range(len(votes[0]))]  # fmt: skip
    total = [sum(column) for column in zip(*signs, strict=True)]
    squares = sum(value * value for value in total)
    qualified = []
    for member, mine in enumerate(signs):
        # c_t · c_ref times squares, which is exact in integers
        product = sum(mine) * squares - sum(total) * sum(
            a * b for a, b in zip(mine, total, strict=True)
        )
        if squares and product > 0:
            qualified.append(member)
        elif squares and product == 0:
            return  # on the edge rounding decides
    assert found == (qualified or [rng.randint(len(signs))])


@given(cases_with_keep(classes=(2,), most_members=6, most_samples=20))
def test_drep_of_two_classes_stops_when_the_errors_increase(drawn):
    (votes, y), keep = drawn
    if not is_plain(votes, y, keep) or len(set(y)) != 2:
        return
    codes = {label: 2 * code - 1 for code, label in enumerate(sorted(set(y)))}
    columns = [[codes[row[t]] for row in votes] for t in range(len(votes[0]))]
    truth = [codes[label] for label in y]
    found, _, limit = rule_result(select_drep, votes, y, keep)

    def committee(members):
        sums = [sum(votes) for votes in zip(*(columns[t] for t in members), strict=True)]
        tie = 1 if sum(s > 0 for s in sums) > sum(s < 0 for s in sums) else -1
        return [1 if s > 0 else -1 if s < 0 else tie for s in sums]

    def wrong(labels):
        return sum(a != b for a, b in zip(labels, truth, strict=True))

    selected = [min(range(len(columns)), key=lambda t: (wrong(columns[t]), t))]
    for _ in range(limit):
        now = committee(selected)
        rest = [t for t in range(len(columns)) if t not in selected]
        same = {t: sum(a == b for a, b in zip(columns[t], now, strict=True)) for t in rest}
        # up to 16 numbers, NumPy's default sort is stable
        nearest = sorted(rest, key=lambda t: same[t])[: math.ceil(keep / len(columns) * len(rest))]
        best = min(nearest, key=lambda t: wrong(committee([*selected, t])))
        if wrong(committee([*selected, best])) > wrong(now):
            break
        selected.append(best)
    assert found == sorted(selected)


@given(cases_with_keep(most_members=6, most_samples=20))
def test_oep_keeps_the_shortest_prefix_of_the_greedy_order(drawn):
    (votes, y), keep = drawn
    n_members = len(votes[0])
    order, errors = [], []
    while len(order) < n_members:
        rest = [t for t in range(n_members) if t not in order]
        order.append(min(rest, key=lambda t: (naive.errors(votes, y, [*order, t]), t)))
        errors.append(naive.errors(votes, y, order))
    expected = sorted(order[: errors.index(min(errors)) + 1])
    found, _, _ = rule_result(select_oep, votes, y, keep)
    assert found == (expected if keep < n_members else list(range(n_members)))


@given(cases_with_keep(classes=(2,), most_members=6, most_samples=20))
def test_kp_of_two_classes_selects_disjoint_pairs_of_lowest_kappa(drawn):
    (votes, y), keep = drawn
    n_members = len(votes[0])
    encoded = Votes.encode(votes, y)
    kappa = {
        (i, j): np.float32(their_kappa(*encoded.codes([i, j]), encoded.truth))
        for i in range(n_members)
        for j in range(i + 1, n_members)
    }
    for (i, j), value in kappa.items():
        columns = naive.column(votes, i), naive.column(votes, j)
        if len(set(columns[0]) | set(columns[1]) | set(y)) == 2 and columns[0] != columns[1]:
            assert value == pytest.approx(naive.kappa(*columns), abs=1e-6)
    selected = []
    for pair in sorted(kappa, key=lambda pair: (kappa[pair], pair)):
        if not set(pair) & set(selected):
            selected += pair
    expected = sorted(selected[:keep]) if keep < n_members else list(range(n_members))
    assert select_kp(encoded, keep, keep / n_members, RNG) == expected


def test_their_kappa_of_three_classes_multiplies_margins():
    # table of labels: 2 1 0 / 0 2 1 / 1 0 2, so that each row and column has 3 and 2 · (2 + 1)
    first, second = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), np.array([0, 0, 1, 1, 1, 2, 0, 2, 2])
    margin = (2 + 1) * (2 + 0)
    agreement, chance = Fraction(6, 9), Fraction(3 * margin * margin, 81)
    expected = (agreement - chance) / (1 - chance)
    assert their_kappa(first, second, first) == pytest.approx(float(expected))
    assert expected > 1  # which no kappa can be
