"""What came of attempts: counted, and kept in a file, so that a crash takes nothing along."""

import json
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path

from secateurs.exceptions import SecateursError

GOOD, BAD = ("equal", "clean"), ("wrong", "hung", "crashed", "leaked")
COLUMNS = {
    "tried": "tried",
    "equal": "equal",
    "clean": "clean error",
    "wrong": "wrong",
    "hung": "hung",
    "crashed": "crashed",
    "leaked": "leaked",
}


@dataclass
class Tally:
    """Counts of attempts, and what went wrong with some.

    Attributes
    ----------
    equal, clean : int
        Ended with the answer of one undisturbed process; with one line of an error of ours.
    wrong, hung, crashed, leaked : int
        Ended otherwise; not in time; with the process; left memory or processes behind.
    faults : list of str
        What went wrong.
    doing : str or None
        What is being tried now.
    path : Path or None
        Where all this is written whenever it changes.
    """

    equal: int = 0
    clean: int = 0
    wrong: int = 0
    hung: int = 0
    crashed: int = 0
    leaked: int = 0
    faults: list = field(default_factory=list)
    doing: str | None = None
    path: Path | None = None

    @property
    def tried(self):
        """Number of attempts."""
        return sum(getattr(self, name) for name in (*GOOD, *BAD))

    @property
    def is_good(self):
        """Whether nothing went wrong."""
        return not any(getattr(self, name) for name in BAD)

    def add(self, kind, n=1, fault=None):
        """Count attempts of one kind."""
        setattr(self, kind, getattr(self, kind) + n)
        if fault is not None:
            self.faults.append(f"{kind}: {fault}")
        self.doing = None
        self._write()

    def attempt(self, told, do, expected):
        """Do something; it must return what is expected, or raise one line of ours."""
        self.begin(told)
        try:
            found = do()
        except SecateursError as error:
            self.refused(error)
        except Exception:
            last = traceback.format_exc().strip().splitlines()
            self.add("wrong", fault=f"{told}: {last[-1]} ({last[-3].strip()})")
        else:
            same = found == expected
            differs = f"{told}: {str(found)[:300]} instead of {str(expected)[:300]}"
            self.add("equal") if same else self.add("wrong", fault=differs)

    def begin(self, told):
        """Note what is tried next."""
        print(time.strftime("%X"), told, flush=True)  # into the log of the batch
        self.doing = told
        self._write()

    def refused(self, error):
        """Count an error of ours: a clean one has one line."""
        if len(str(error).splitlines()) == 1:
            self.add("clean")
        else:
            self.add("wrong", fault=f"{self.doing}: an error of several lines: {error}")

    def merge(self, other):
        """Add the counts of another one."""
        for name in (*GOOD, *BAD):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.faults += other.faults

    def _write(self):
        if self.path is not None:
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps({**asdict(self), "path": None}))
            new.replace(self.path)

    @classmethod
    def read(cls, path):
        """Return the counts that a process has written; none if it wrote none."""
        return cls(**json.loads(path.read_text())) if path.exists() else cls()


def table(tallies, seconds, markdown=False):
    """Return counts of each kind as text in columns, or as a table of Markdown."""
    whole = Tally()
    for tally in tallies.values():
        whole.merge(tally)
    rows = [["kind", *COLUMNS.values(), "minutes"]]
    for kind, tally in {**tallies, "all": whole}.items():
        spent = sum(seconds.values()) if kind == "all" else seconds[kind]
        rows.append([kind, *(f"{getattr(tally, name):,}" for name in COLUMNS), f"{spent / 60:.1f}"])
    if markdown:
        rows.insert(1, ["---", *["---:"] * (len(rows[0]) - 1)])
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]
    return "\n".join(lines)
