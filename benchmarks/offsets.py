"""Look for reasons why all methods differ from the printed accuracies on some data sets.

The script trains full ensembles, without pruning, with other numbers of members, neighbours and
training samples, on five folds of the paper's protocol with several seeds. It prints the mean
accuracy, and the standard deviation of the mean of five folds from seed to seed.
"""

import argparse

import numpy as np
from sklearn.ensemble import BaggingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from secateurs.benchmarking.splits_and_seeds import N_FOLDS, split_samples
from secateurs.paper import datasets
from secateurs.paper._printed_tables import printed_accuracies

TREE, NEIGHBOURS = DecisionTreeClassifier(), KNeighborsClassifier(weights="distance")
SCALED = make_pipeline(StandardScaler(), KNeighborsClassifier(weights="distance"))
# Table, row, data set, number of seeds, and settings: learner, number of members, and whether the
# validation samples are used for training.
LOOKED_AT = (
    ("table-dt", "Liver", "liver", 8, {f"{n} members": (TREE, n, False) for n in (1, 5, 17, 100)}),
    ("table-dt", "Landsat", "landsat", 2, {f"{n} members": (TREE, n, False) for n in (5, 17, 100)}),
    (
        *("table-knn", "Sonar", "sonar", 8),
        {
            "17 members": (NEIGHBOURS, 17, False),
            "1 neighbour": (KNeighborsClassifier(1), 17, False),
            "3 neighbours": (KNeighborsClassifier(3, weights="distance"), 17, False),
            "uniform weights": (KNeighborsClassifier(), 17, False),
            "standardised": (SCALED, 17, False),
            "four fifths train": (NEIGHBOURS, 17, True),
        },
    ),
    (
        *("table-knn", "WaveformNoise", "waveform_noise", 2),
        {
            **{f"{n} members": (NEIGHBOURS, n, False) for n in (1, 5, 17)},
            "1 neighbour": (KNeighborsClassifier(1), 17, False),
            "3 neighbours": (KNeighborsClassifier(3, weights="distance"), 17, False),
        },
    ),
)


def accuracy(data, learner, n_members: int, uses_validation: bool, seed: int) -> float:
    """Return the test accuracy of full ensembles in per cent, mean over five folds."""
    scores = []
    for fold in range(N_FOLDS):
        parts = split_samples(data.y, fold, np.random.default_rng(seed))
        rows = np.concatenate([parts.train, parts.validation]) if uses_validation else parts.train
        model = BaggingClassifier(learner, n_members, random_state=N_FOLDS * seed + fold)
        model.fit(data.X[rows], data.y[rows])
        scores.append(model.score(data.X[parts.test], data.y[parts.test]))
    return 100 * float(np.mean(scores))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.offsets", description=__doc__)
    parser.add_argument("data", help="folder of the data sets")
    folder = parser.parse_args().data
    print("| row | printed | setting | mean | from seed to seed |\n|---|---|---|---|---|")
    for table, row, name, n_seeds, tried in LOOKED_AT:
        paper = np.mean([entry.mean for entry in printed_accuracies(table)[row].values()])
        data = datasets.load(name, folder, "binary")
        for what, settings in tried.items():
            found = [accuracy(data, *settings, seed) for seed in range(n_seeds)]
            numbers = f"{np.mean(found):.1f} | {np.std(found, ddof=1):.1f}"
            print(f"| {row} | {paper:.1f} | {what} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
