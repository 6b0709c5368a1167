"""Agreement and error: κ against the mean error of pairs of members."""

import numpy as np
from numpy.typing import NDArray

from secateurs.evaluation._diagnostics import kappa_error
from secateurs.report._schema import Maybe
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section, Subject

_MOST_PAIRS = 3000  # points of other pairs in the figure
_MOST_FRONT = 40  # pairs in the table

_SHAPE: Plain = {"n_pairs": int, "kept": [[float]], "others": [[float]], "front": [[float]]}
_SHAPE |= {"front_pairs": [[int]], "mean": Maybe([float]), "mean_kept": Maybe([float])}


def facts(subject: Subject) -> Plain:
    """Return κ and mean error of pairs: all of the kept members, a sample of the others."""
    pairs = kappa_error(subject.votes)
    among = pairs.among(subject.kept)
    others = np.flatnonzero(~among)
    if len(others) > _MOST_PAIRS:
        others = np.sort(np.random.RandomState(0).choice(others, _MOST_PAIRS, replace=False))
    front = np.flatnonzero(pairs.front)
    front = front[np.lexsort((pairs.error[front], pairs.kappa[front]))]

    points = np.stack([pairs.kappa, pairs.error], axis=1).round(5)

    def mean(places: NDArray[np.intp]) -> list[float] | None:
        values = pairs.kappa[places], pairs.error[places]
        return [float(one.mean()) for one in values] if len(places) else None

    everything, kept = np.arange(len(among)), np.flatnonzero(among)
    return {
        "kappa_error": {
            "n_pairs": len(among),
            "kept": points[kept[:_MOST_PAIRS]],
            "others": points[others],
            "front": points[front],
            "front_pairs": np.stack([pairs.first, pairs.second], axis=1)[front],
            "mean": mean(everything),
            "mean_kept": mean(kept),
        }
    }


def view(data: Plain) -> Table | None:
    """Return the means, and the pairs that no other pair beats; None without pairs."""
    own, names = data["kappa_error"], data["ensemble"]["names"]
    if own["n_pairs"] == 0:
        return None
    means = (("mean of all pairs", own["mean"]), ("kept", own["mean_kept"]))
    rows = [[label, *mean] for label, mean in means if mean is not None]
    pairs = list(zip(own["front_pairs"], own["front"], strict=True))[:_MOST_FRONT]
    for (first, second), (kappa, error) in pairs:
        rows.append([f"{names[first]} and {names[second]}", kappa, error])
    caption = "Means, and the pairs for which no other is both less alike and more accurate."
    return Table(["pair", "κ", "mean error"], rows, caption, numeric=(1, 2))


SECTION = Section(
    "kappa-error", "Agreement and error", {"kappa_error": _SHAPE}, facts, view, is_drawn=True
)
