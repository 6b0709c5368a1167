"""The method that options ask for, and the workers it runs on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from secateurs._methods import METHODS
from secateurs.commands._options import Workers
from secateurs.commands._output import Output
from secateurs.exceptions import ExecutorError, cause_of, import_extra

WEIGHTED = tuple(name for name, method in METHODS.items() if method.weighted)


@dataclass(frozen=True)
class Wanted:
    """A method with its options, as typed."""

    method: str
    weight: float | str | None = None
    groups: int | None = None
    seed: int = 0
    jobs: int | None = None
    spread: bool = False  # over a cluster
    oob: bool = False

    def check(self) -> None:
        """Refuse options that have no effect together."""
        if self.weight is not None and self.method not in WEIGHTED:
            raise click.UsageError(f"--lambda is for {' and '.join(WEIGHTED)}, not {self.method}.")
        if self.method == "auto" and (self.groups or self.spread):
            raise click.UsageError("--method auto goes without --groups and --scheduler.")

    def pruner(self) -> Any:
        """Make the pruner; a name where the library is to find the method."""
        from secateurs import DOMEP, EPFD, make_pruner

        if self.method == "auto":
            return "auto"
        own: dict[str, Any] = {} if self.weight is None else {"diversity_weight": self.weight}
        if self.method == "domep" or (self.method == "comep" and self.groups):
            groups = "auto" if self.groups is None else self.groups
            return DOMEP(n_groups=groups, n_jobs=self.jobs, random_state=self.seed, **own)
        pruner = make_pruner(self.method, **own).seed(self.seed)
        if self.method != "comep" and (self.groups or self.spread):
            groups = "auto" if self.groups is None else self.groups
            return EPFD(pruner, n_groups=groups, n_jobs=self.jobs, random_state=self.seed)
        return pruner


@contextmanager
def cluster(workers: Workers, out: Output) -> Iterator[Any]:
    """Connect to a Dask cluster, or start one on this machine; None without ``--scheduler``."""
    if workers.scheduler is None:
        yield None
        return
    distributed = import_extra("distributed", "dask", "--scheduler")
    try:
        if workers.scheduler == "local":
            client = distributed.Client(
                n_workers=workers.jobs or 2,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=50,
            )
        else:
            client = distributed.Client(workers.scheduler, timeout="10s")
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        raise ExecutorError(
            f"--scheduler {workers.scheduler}: {cause_of(error)}. Start one first: dask scheduler"
        ) from error
    with client:
        out.note(f"cluster: {client.dashboard_link}")
        yield client
