"""ParetoCOMEP again: every set tried, every pair of sets compared, as plainly as `naive`."""

from itertools import combinations

from naive import all_members, best, nmi, nvi


def over_common(measure, *columns):
    """A measure over the samples on which no column has a gap (None); 0 without any."""
    rows = [row for row in zip(*columns) if None not in row]
    return measure(*map(list, zip(*rows))) if rows else 0.0


def judged_sets(votes, y, keep):
    """Every set of keep members: (members, sum of MI with y, sum of VI over pairs)."""
    members = all_members(votes)
    columns = list(zip(*votes))
    told = [over_common(nmi, columns[t], y) for t in members]
    apart = {(i, j): over_common(nvi, columns[i], columns[j]) for i, j in combinations(members, 2)}
    judged = []
    for chosen in combinations(members, keep):
        diversity = sum((apart[pair] for pair in combinations(chosen, 2)), 0.0)
        judged.append((chosen, sum(told[t] for t in chosen), diversity))
    return judged


def slack(a, b):
    """Within this, two real numbers are equal."""
    return 1e-12 * max(1, abs(a), abs(b))


def at_least(a, b):
    """a is at least as large as b, up to rounding."""
    return a >= b - slack(a, b)


def covers(z, s):
    """z is as good as s in both sums."""
    return at_least(z[1], s[1]) and at_least(z[2], s[2])


def beats(z, s):
    """z is as good as s in both sums, and better in one."""
    return covers(z, s) and not covers(s, z)


def front(votes, y, keep):
    """The sets that none beats, from the most relevant on; of equal ones the first."""
    everything = judged_sets(votes, y, keep)
    found = []
    for s in everything:
        if not any(beats(z, s) for z in everything) and not any(covers(z, s) for z in found):
            found.append(s)
    return sorted(found, key=lambda s: (-s[1], s[2]))


def at_trade_off(sets, t):
    """The set whose diversity is closest to t of the way along the front."""
    target = sets[0][2] + t * (sets[-1][2] - sets[0][2])
    return list(sets[best({p: -abs(s[2] - target) for p, s in enumerate(sets)})][0])


def class_places(votes, y, labels):
    """The place of each class: by its rows, then by the votes for it, then by the other classes.

    Of classes that are still alike, the first one comes first.
    """
    place = dict.fromkeys(labels, 0)
    while len(set(place.values())) < len(labels):
        before = len(set(place.values()))
        told = []
        for row, true in zip(votes, y):
            right = [2 if v is None else int(v == true) for v in row]
            told.append((right, place[true], [place.get(v, len(labels)) for v in row]))
        place = ranked(
            {c: (place[c], sorted(t for t, true in zip(told, y) if true == c)) for c in labels}
        )
        if len(set(place.values())) < len(labels):
            given = {
                c: sorted(
                    (t, told[n])
                    for n, row in enumerate(votes)
                    for t in all_members(votes)
                    if row[t] == c
                )
                for c in labels
            }
            place = ranked({c: (place[c], given[c]) for c in labels})
        if len(set(place.values())) == before:
            tied = min(p for p in place.values() if list(place.values()).count(p) > 1)
            first = next(c for c in labels if place[c] == tied)
            place = ranked({c: (place[c], c != first) for c in labels})
    return place


def ranked(keys):
    """The place of each key among the different keys."""
    different = sorted(
        key for n, key in enumerate(keys.values()) if key not in list(keys.values())[:n]
    )
    return {c: different.index(key) for c, key in keys.items()}


def fifths(y, rng, places):
    """Rows dealt in turn to five parts, classes together and in random order within."""
    shuffled = sorted((int(n) for n in rng.permutation(len(y))), key=lambda n: places[y[n]])
    n_parts = min(5, len(y))
    return [sorted(shuffled[part::n_parts]) for part in range(n_parts)]


def is_wrong(row, truth, members, labels):
    """Whether the vote of those who have one errs; a tie, of all labels too, to the lowest."""
    given = [row[t] for t in members]
    return max(labels, key=lambda label: (given.count(label), -labels.index(label))) != truth


def pareto_comep(votes, y, keep, rng):
    """The set of the front at the trade-off with the best cross-validated accuracy."""
    whole = front(votes, y, keep)
    if len(whole) == 1:
        return list(whole[0][0])
    labels = sorted({*y, *(label for row in votes for label in row if label is not None)})
    places = class_places(votes, y, labels) | {None: len(labels)}  # gaps come last
    rows = [n for n in range(len(y)) if any(label is not None for label in votes[n])]
    rows.sort(key=lambda n: [places[label] for label in [y[n], *votes[n]]])
    votes, y = [list(votes[n]) for n in rows], [y[n] for n in rows]
    wrong = dict.fromkeys([t / 10 for t in range(11)], 0)
    for held_out in fifths(y, rng, places):
        others = [n for n in range(len(y)) if n not in held_out]
        part = front([votes[n] for n in others], [y[n] for n in others], keep)
        for t in wrong:
            members = at_trade_off(part, t)
            wrong[t] += sum(is_wrong(votes[n], y[n], members, labels) for n in held_out)
    return at_trade_off(whole, best({t: -count for t, count in wrong.items()}))
