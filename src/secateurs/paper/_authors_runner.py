"""Run the authors' program on given votes, in a process of its own.

This file is executed by path and imports nothing of secateurs: the authors' modules have general
names, such as ``utils_const``. It reads one JSON object from standard input and writes one to
standard output. Random draws are replaced by given ones, groups are pruned one after another, and
calls of the garbage collector, which take most of the program's time, are left out. The clock
stands still, because some of their draws are seeded by it.
"""

import gc
import importlib
import json
import sys
import time
import types


def main():
    """Select members with each method, and print them with the seconds of CPU."""
    gc.collect = lambda *_: 0
    time.time = lambda: 0.0
    task = json.load(sys.stdin)
    sys.path[:0] = task["folders"]
    sys.modules.update(_serial_pathos())
    import numpy as np

    data_distributed = importlib.import_module("data_distributed")
    data_entropy = importlib.import_module("data_entropy")

    def partition(n, m):
        groups = np.zeros(n, dtype=int)
        for index, members in enumerate(task["groups"]):
            groups[members] = index
        return groups.tolist()

    data_entropy.randomly_partition = partition
    columns = np.array(task["votes"]).T.tolist()  # members × samples
    y, keep, weight = task["y"], task["keep"], task["weight"]
    calls = {
        "comep": lambda: data_distributed.COMEP_Pruning(task["votes"], keep, y, weight),
        "domep": lambda: data_distributed.DOMEP_Pruning(
            task["votes"], keep, len(task["groups"]), y, weight
        ),
    }
    for name in task["baselines"]:
        calls[name] = lambda name=name: data_distributed.element_contrastive_pruning_via_validation(
            name.upper(), len(columns), keep, y, columns, rho=keep / len(columns)
        )[0]
        calls[f"epfd {name}"] = lambda name=name: data_distributed.distributed_pruning_methods(
            y, columns, keep, len(task["groups"]), name.upper(), rho=keep / len(columns)
        )
    results = {}
    for name, call in calls.items():
        np.random.seed(task["seed"])  # noqa: NPY002 (the generator that their program draws from)
        start = time.process_time()
        try:
            members = [int(member) for member in call()]
        except Exception as error:  # their program fails on some input; the page says so
            results[name] = {"error": f"{type(error).__name__}: {error}"}
            continue
        results[name] = {"members": members, "seconds": time.process_time() - start}
    json.dump(results, sys.stdout)


def _serial_pathos():
    """Return modules in place of pathos: a pool whose ``map`` runs in this process."""

    class ProcessingPool:
        def __init__(self, nodes=None):
            del nodes

        def map(self, function, *columns):
            return [function(*values) for values in zip(*columns, strict=True)]

    package, inner = types.ModuleType("pathos"), types.ModuleType("pathos.multiprocessing")
    inner.ProcessingPool = ProcessingPool
    package.multiprocessing = inner
    return {"pathos": package, "pathos.multiprocessing": inner}


if __name__ == "__main__":
    main()  # type: ignore[no-untyped-call]
