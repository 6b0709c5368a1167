"""``python -m benchmarks.kept --data DIR``: measure all methods and write docs/kept.md.

Further parts: ``safe`` measures how often a plain call is safe, ``rivals`` compares pruned forests
with smaller models, and ``blends`` compares weights of model libraries and panels of voters.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from benchmarks.kept import blends, data, judge, measure, page, refits, rivals, safe


def measure_one(name: str, split: int, folder: Path | None, out: Path) -> None:
    """Measure every method on a split of a data set, unless a file has the results."""
    _written(out / f"{_file_name(name, split)}.jsonl", measure.measured(name, split, folder))


def _file_name(name: str, split: int) -> str:
    return f"{name.replace(': ', '-')}-{split}"


def _written(path: Path, records: Iterator[dict[str, Any]]) -> None:
    if path.exists():
        return
    warnings.simplefilter("ignore")
    start = time.process_time()
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    print(f"{path.stem}: {time.process_time() - start:.0f} s", flush=True)


def main() -> None:
    parts = {"safe": safe.main, "rivals": rivals.main, "blends": blends.main}
    if sys.argv[1:2] and sys.argv[1] in parts:
        parts[sys.argv[1]](sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kept", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of tables NAME.csv or NAME.csv.gz")
    parser.add_argument("--out", type=Path, default=Path("kept-results"), help="folder of results")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument(
        "--prior", type=Path, help="write the prior scores of methods for auto to this .json file"
    )
    parser.add_argument("--page", type=Path, help="write docs/kept.md to this file, with pictures")
    parser.add_argument(
        "--refits",
        type=Path,
        help="measure refitting and pruned branches instead, and write their page to this file",
    )
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.refits is not None:
        out = options.out / "refits"
        refits.run(options.data, out, options.splits, options.only)
        options.refits.write_text(refits.page(out), encoding="utf-8")
        return
    names = [name for name in data.names(options.data) if not options.only or name in options.only]
    tasks = [(name, split) for split in range(options.splits) for name in names]
    folders = (options.data, options.out)
    parallel = Parallel(n_jobs=options.jobs, batch_size=1)
    parallel(delayed(measure_one)(*task, *folders) for task in tasks)
    records = judge.read(options.out)
    if options.prior is not None:
        write_prior(records, options.prior)
    print(page.written(records, options.page))


def write_prior(records: list[dict[str, Any]], path: Path) -> None:
    """Write the leads of methods over the median method, for `evaluation.auto_method`."""
    n_sets = len({record["data"] for record in records})
    content = {
        "made by": "python -m benchmarks.kept --data DIR --prior FILE",
        "meaning": "points that a method is ahead of the median one",
        "data sets": n_sets,
        "points": judge.prior_of(records),
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
