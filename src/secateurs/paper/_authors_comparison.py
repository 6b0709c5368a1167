"""The authors' public program and this library, side by side on the same votes.

Nothing is downloaded: the folder of the authors' repositories is given. Their program runs in a
process of its own, see `_authors_runner`, with the same votes, groups and random first members.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import BaggingClassifier

from secateurs.benchmarking.results_page import (
    PageSection,
    html_piece,
    make_page,
    score_table_piece,
    sheet_files,
    write_folder_files,
)
from secateurs.benchmarking.table_text import Grid, Sheet, csv_text, format_number
from secateurs.exceptions import InputError
from secateurs.objectives import TDAS
from secateurs.outputs.votes import Votes
from secateurs.paper._authors_rules import (
    Rule,
    select_drep,
    select_kp,
    select_oep,
    select_oo,
    select_pep,
    select_sep,
)
from secateurs.paper._printed_tables import method_label
from secateurs.pruners import COMEP, make_pruner
from secateurs.search import tied_best
from secateurs.thread_safety import record_warnings
from secateurs.typing import IndexArray, JsonObject

Select: TypeAlias = Callable[[Votes], list[int]]

_RUNNER = Path(__file__).with_name("_authors_runner.py")
_BASELINES = ("kl", "kp", "oo", "re", "drep", "sep", "oep", "pep")
_N_MEMBERS, _KEEP, _N_GROUPS, _WEIGHT = 21, 6, 2, 0.5
_N_SEEDS = 3  # ensembles per data set
_SECONDS = 600  # limit for one run of the authors' program
_DATA = {"Breast cancer": load_breast_cancer, "Two digits": load_digits}
_DATA |= {"Iris": load_iris, "Wine": load_wine}

# Why selections differ, by method, for two classes and for several.
_REASONS = {
    "kl": "Sums are in single precision there; ties and near ties can differ.",
    "kp": "Their pairs are disjoint; here each pair adds the members that are not selected yet. "
    "For several classes, their kappa multiplies the margins of the chance term instead of adding "
    "them, which can reverse the order; here it is Cohen's.",
    "oo": "If no member qualifies, their program draws one at random.",
    "drep": "Their committee is the sign of the mean label, which cannot name a third class, and "
    "with two members all disagreements are ties. Here it is the plurality vote.",
    "oep": "A tied vote goes to the smallest label there; here it counts as 1 − 1/q errors.",
    "sep": "Both draw at random. Their program runs at most keep + 1 rounds, and stops as soon as "
    "more members are selected than keep; here about n² ln n rounds are run.",
    "pep": "Both draw at random. Their program runs keep rounds; here about n² ln n rounds are "
    "run.",
}
# Plain programs with the rules of their program; they have to select the same members as it does.
_THEIR_RULES: dict[str, Rule] = {
    **{"kp": select_kp, "oo": select_oo, "drep": select_drep},
    **{"sep": select_sep, "oep": select_oep, "pep": select_pep},
}
_NOT_HERE = (
    "GMM (GMA) and LCS of the authors' program, which the paper does not mention, are not methods "
    "here. According to the comments in its code, GMM adds the member that is farthest from the "
    "selected ones, and LCS exchanges members as long as they become more diverse. The code "
    "instead maximises the sum of kappa, which measures similarity. The greedy search for the "
    "largest sum of distances is COMEP, and its exchanges are COMEP(refine=True)."
)


@dataclass(frozen=True, eq=False)
class AuthorsCase:
    """Votes of a bagged ensemble, with the groups and seed that both programs use."""

    name: str
    votes: Votes
    groups: list[IndexArray]
    seed: int

    def as_task(self, folders: Sequence[Path]) -> JsonObject:
        """Return the case as input of the runner."""
        codes = self.votes.codes(range(self.votes.n_members))
        return {
            "folders": [str(folder) for folder in folders],
            "votes": codes.T.tolist(),
            "y": self.votes.truth.tolist(),
            "keep": _KEEP,
            "weight": _WEIGHT,
            "groups": [group.tolist() for group in self.groups],
            "seed": self.seed,
            "baselines": list(_BASELINES),
        }


def compare_with_authors(folder: Path, out_dir: Path) -> list[JsonObject]:
    """Run both programs on the same votes, and write ``authors.html`` and its table.

    Parameters
    ----------
    folder : Path
        Folder with the authors' repositories EPFD and PyEnsemble.
    out_dir : Path
        Folder to write to.

    Returns
    -------
    list of dict
        One per case and method: the members that each program selects, and its seconds of CPU.
    """
    folders = find_authors_folders(folder)
    rows: list[JsonObject] = []
    for case in _cases():
        theirs = _run_authors(case, folders)
        for method, select in _our_selections(case).items():
            with record_warnings():
                select(case.votes)  # the first call may compile
                start = time.process_time()
                members = sorted(select(case.votes))
                seconds = time.process_time() - start
            row = _result_row(case, method, members, seconds, theirs[method])
            rows.append(row | {"is_equal_by_rule": _is_equal_by_rule(case, row)})
    sheet = _comparison_sheet(rows)
    *headings, _ = sheet.grid.headings
    numbers = Grid(tuple(headings), tuple(line[:-1] for line in sheet.grid.lines))
    reasons = [(line[0], line[-1]) for line in sheet.grid.lines if line[-1]]
    page = make_page(
        "The authors' program and this library",
        [html_piece("paragraph", sheet.caption)],
        [
            PageSection(sheet.title, [score_table_piece(numbers, sheet.title)]),
            PageSection("Why selections differ", [html_piece("terms", reasons)]),
            PageSection("Methods that are not compared", [html_piece("paragraph", _NOT_HERE)]),
        ],
    )
    write_folder_files(out_dir, sheet_files([sheet]) | {"authors.html": page.encode()})
    return rows


def find_authors_folders(folder: Path) -> list[Path]:
    """Return the folders of the authors' two repositories; raise an error that says what lacks."""
    how_to_get = "github.com/eustomaqua/EPFD and github.com/eustomaqua/PyEnsemble"
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Pass a folder with clones of {how_to_get}.")
    found = []
    for name, content in (("EPFD", "data_distributed.py"), ("PyEnsemble", "pyensemble")):
        # An unpacked archive is named after its branch, such as EPFD-master.
        candidates = (folder / name, folder, *sorted(folder.glob(f"{name}-*")))
        places = [place for place in candidates if (place / content).exists()]
        if not places:
            raise InputError(
                f"{folder} has no copy of the authors' repository {name} (with {content}). Clone "
                f"{how_to_get} into it."
            )
        found.append(places[0].resolve())
    return found


def _cases() -> Iterator[AuthorsCase]:
    """Yield votes of bagged trees of two and of several classes."""
    for (name, load), seed in ((item, seed) for item in _DATA.items() for seed in range(_N_SEEDS)):
        X, y = load(return_X_y=True)
        if name == "Two digits":
            X, y = X[np.isin(y, [3, 8])], (y[np.isin(y, [3, 8])] == 8).astype(int)
        rng = np.random.RandomState(seed)
        order = rng.permutation(len(y))
        train, validation = order[: len(y) // 2], order[len(y) // 2 :][:120]
        bag = BaggingClassifier(n_estimators=_N_MEMBERS, max_samples=0.5, random_state=seed)
        bag.fit(X[train], y[train])
        votes = np.stack([tree.predict(X[validation]) for tree in bag.estimators_], axis=1)
        groups = np.array_split(rng.permutation(_N_MEMBERS), _N_GROUPS)
        encoded = Votes.encode(votes.astype(int), y[validation])
        yield AuthorsCase(name, encoded, [np.sort(group) for group in groups], seed)


def _run_authors(case: AuthorsCase, folders: Sequence[Path]) -> JsonObject:
    try:
        done = subprocess.run(
            [sys.executable, str(_RUNNER)],
            input=json.dumps(case.as_task(folders)),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise InputError(
            f"The authors' program did not finish within {_SECONDS} seconds."
        ) from None
    except (subprocess.CalledProcessError, json.JSONDecodeError) as error:
        lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise InputError(
            f"The authors' program failed: {lines[-1] if lines else 'no message'}. Check the "
            "copies of its repositories."
        ) from None


def _our_selections(case: AuthorsCase) -> dict[str, Select]:
    """Return a function for each method that selects with the draws of the authors' program."""
    # They draw the first member of each call of COMEP from one generator: of COMEP itself, or of
    # the groups in turn and then of the union.
    rng = np.random.RandomState(case.seed)

    def select_comep(votes: Votes) -> list[int]:
        start = int(rng.randint(0, votes.n_members))
        fitted = COMEP(min(_KEEP, votes.n_members), _WEIGHT, start=start).fit(votes)
        return fitted.member_indices_.tolist()

    def tdas(members: list[int]) -> float:
        return TDAS(case.votes, _WEIGHT).value_of(members)

    def domep(votes: Votes) -> list[int]:
        rng.seed(case.seed)
        return _two_rounds(votes, select_comep, case.groups, tdas)

    def comep(votes: Votes) -> list[int]:
        rng.seed(case.seed)
        return select_comep(votes)

    selections: dict[str, Select] = {"comep": comep, "domep": domep}
    for name in _BASELINES:
        selections[name] = _baseline(name)
        selections[f"epfd {name}"] = _epfd(_baseline(name), case.groups)
    return selections


def _is_equal_by_rule(case: AuthorsCase, row: JsonObject) -> bool | None:
    """Return whether a plain program with their rule selects their members; None without one."""
    base = row["method"].removeprefix("epfd ")
    if base not in _THEIR_RULES or row["theirs"] is None:
        return None
    rng = np.random.RandomState(case.seed)

    def select(votes: Votes) -> list[int]:
        return _THEIR_RULES[base](votes, _KEEP, _KEEP / _N_MEMBERS, rng)

    selection = select if base == row["method"] else _epfd(select, case.groups)
    return sorted(selection(case.votes)) == row["theirs"]


def _baseline(name: str) -> Select:
    def select(votes: Votes) -> list[int]:
        if votes.n_members <= _KEEP:
            return list(range(votes.n_members))
        parameters: JsonObject = {"keep": _KEEP if name in ("kl", "kp", "re") else None}
        if name == "kl":
            parameters["distributions"] = votes.sizes
        if name == "drep":
            parameters |= {"stop": "nonincrease", "rho": _KEEP / _N_MEMBERS}
        return make_pruner(name, **parameters).seed(0).fit(votes).member_indices_.tolist()

    return select


def _epfd(select: Select, groups: Sequence[IndexArray]) -> Select:
    return lambda votes: _two_rounds(votes, select, groups, votes.accuracy)


def _two_rounds(
    votes: Votes,
    select: Select,
    groups: Sequence[IndexArray],
    score: Callable[[list[int]], float],
) -> list[int]:
    """Prune given groups, then their union; the union's result unless a group's is better."""
    results = [group[np.sort(select(votes.take(group)))].tolist() for group in groups]
    union = np.sort(np.concatenate(results)).astype(int)
    results.append(union[np.sort(select(votes.take(union)))].tolist())
    tied = tied_best(np.array([score(result) for result in results]))
    return results[-1] if tied[-1] else results[int(np.argmax(tied))]


def _result_row(
    case: AuthorsCase, method: str, members: list[int], seconds: float, theirs: JsonObject
) -> JsonObject:
    others = theirs.get("members")
    return {
        "data": case.name,
        "classes": case.votes.n_classes,
        "seed": case.seed,
        "method": method,
        "ours": members,
        "theirs": others,
        "problem": theirs.get("error", ""),
        "is_equal": members == others,
        "seconds": seconds,
        "their_seconds": theirs.get("seconds"),
        "errors": 1 - case.votes.accuracy(members),
        "their_errors": 1 - case.votes.accuracy(others) if others else None,
    }


def _comparison_sheet(rows: Sequence[JsonObject]) -> Sheet:
    headings = (
        *("Method", "Equal, two classes", "Equal, several classes", "Members kept, theirs, ours"),
        *("Errors of the vote, theirs, ours", "Time, theirs / ours", "Reason"),
    )
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        done = [row for row in mine if row["theirs"]]
        equal = [
            f"{sum(r['is_equal'] for r in part)} of {len(part)}"
            for part in ([r for r in mine if (r["classes"] == 2) is two] for two in (True, False))
        ]
        base = method.removeprefix("epfd ")
        problems = {row["problem"] for row in mine if row["problem"]}
        differs = not all(row["is_equal"] for row in mine)
        explained = [_REASONS.get(base, "Not found."), *_rule_note(mine)] if differs else []
        failures = [f"Their program fails: {problem}." for problem in sorted(problems)]
        reason = " ".join([*explained, *failures])
        name = method_label(base) if base == method else f"EPFD({method_label(base)})"
        lines.append((name, *equal, *_mean_columns(done), reason))
    caption = (
        f"Bagged trees on {', '.join(_DATA)} ({_N_SEEDS} ensembles each), {_KEEP} of {_N_MEMBERS} "
        f"members, {_N_GROUPS} groups, λ = {_WEIGHT:g}. Both programs have the same votes, groups "
        "and first members, and a plain program with their rules has the same random draws as "
        "theirs. Times are seconds of CPU, without the calls of the garbage collector "
        "in the authors' program, which take most of its time."
    )
    columns = tuple(rows[0])
    text = csv_text(columns, [[_plain_cell(row[c]) for c in columns] for row in rows])
    grid = Grid(headings, tuple(lines))
    return Sheet("authors-program", "Selections of both programs", caption, grid, text)


def _rule_note(rows: Sequence[JsonObject]) -> list[str]:
    """Return how often a plain program with the rules of their program selects the same members."""
    equal = [row["is_equal_by_rule"] for row in rows if row["is_equal_by_rule"] is not None]
    if not equal:
        return []
    return [f"A plain program with their rule is equal in {sum(equal)} of {len(equal)} cases."]


def _mean_columns(rows: Sequence[JsonObject]) -> tuple[str, str, str]:
    """Return mean sizes, mean errors and the ratio of times as text."""
    if not rows:
        return "–", "–", "–"
    sizes = [np.mean([len(row[side]) for row in rows]) for side in ("theirs", "ours")]
    errors = [np.mean([row[side] for row in rows]) for side in ("their_errors", "errors")]
    times = [np.median([row[side] for row in rows]) for side in ("their_seconds", "seconds")]
    return (
        ", ".join(format_number(float(size), 1) for size in sizes),
        ", ".join(format_number(float(error), 3) for error in errors),
        format_number(float(times[0] / max(times[1], 1e-9)), 1),
    )


def _plain_cell(value: object) -> object:
    return " ".join(map(str, value)) if isinstance(value, list) else value
