"""A real Dask cluster on loopback: a scheduler and workers, each a process of its own."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from gated import wait_for

from processes import with_path

HERE = Path(__file__).parent


class Cluster:
    """A scheduler, and workers to be started and killed; all are gone at the end.

    Parameters
    ----------
    folder : Path
        For the scheduler's address, the workers' files, and what they all say.
    """

    def __init__(self, folder):
        self.folder = folder
        self._processes = []
        self._file = folder / "scheduler.json"
        self.scheduler = self._start(
            *("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", self._file),
            *("--idle-timeout", "5 minutes"),  # should the tests themselves be killed
        )
        self.address = wait_for(self._read_address, "the scheduler's address")

    def _read_address(self):
        assert self.scheduler.poll() is None, self.said()
        try:
            return json.loads(self._file.read_text())["address"]
        except (OSError, ValueError):  # not there yet, or not whole
            return None

    def workers(self, client, n_workers, *options, **environment):
        """Start workers of one thread, with what `_start` takes, and wait until they are seen."""
        started = dict(self._start_worker(*options, **environment) for _ in range(n_workers))

        def seen():
            assert all(process.poll() is None for process in started.values()), self.said()
            infos = client.scheduler_info(n_workers=-1)["workers"].values()
            return set(started) <= {info["name"] for info in infos}

        wait_for(seen, f"{n_workers} workers")
        return list(started.values())

    def _start_worker(self, *options, **environment):
        name = f"worker-{len(self._processes)}"
        process = self._start(
            *("worker", self.address, "--nthreads", "1", "--no-nanny", "--name", name),
            *("--host", "127.0.0.1", "--local-directory", self.folder),
            *options,
            **environment,
        )
        return name, process

    def _start(self, *arguments, path=(), **environment):
        """Start a process; folders of `path` come before all others."""
        with (self.folder / f"log-{len(self._processes)}.txt").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *map(str, arguments), "--no-dashboard"],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**with_path(*path, HERE, HERE.parent), **environment},
            )
        self._processes.append(process)
        return process

    def said(self):
        """All that the processes have said."""
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("log-*.txt")))

    def close(self):
        """Kill all that is left."""
        for process in self._processes:
            kill(process)


def kill(process):
    """Kill a process at once, and see it gone."""
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=300)
