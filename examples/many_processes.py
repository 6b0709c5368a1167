"""Votes in a store on disk, pruned by two processes: the result of one.

With a cluster, give a Dask client instead of the pool: ``fit(store, executor=Client(...))``.
"""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from secateurs import COMEP, DOMEP, collect_votes


def main() -> None:
    """Collect votes into a store, and prune it in three ways."""
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(200, random_state=0).fit(X[:900], y[:900])
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        store = collect_votes(forest, X[900:], store=Path(folder) / "votes", y=y[900:])
        one = COMEP(keep=20).fit(store)
        two = COMEP(keep=20).fit(store, executor=pool)
        print("one process: ", one.member_indices_[:8], f"TDAS {one.objective_:.4f}")
        print("two processes:", two.member_indices_[:8], f"TDAS {two.objective_:.4f}")
        domep = DOMEP(keep=20, random_state=0).fit(store, executor=pool)
        print(f"DOMEP in {len(domep.groups_)} groups: TDAS {domep.objective_:.4f}")


if __name__ == "__main__":  # processes import this file
    main()
