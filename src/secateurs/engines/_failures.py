"""Failures of workers and clusters, told in one line."""

from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import contextmanager

from secateurs import __version__
from secateurs.exceptions import ExecutorError, SecateursError, cause_of

_US = f"secateurs {__version__} on all workers"


@contextmanager
def explained() -> Iterator[None]:
    """Tell the failures of workers in one line; errors of their tasks stay as they are."""
    try:
        yield
    except BrokenExecutor as error:
        raise ExecutorError(
            f"A worker process died ({cause_of(error)}): killed, or out of memory. Run again; "
            "a Dask cluster goes on with the workers that are left."
        ) from error
    except CancelledError as error:
        raise ExecutorError("The tasks were cancelled: the scheduler is lost.") from error
    except Exception as error:
        explanation = _explanation(error)
        if explanation is None:
            raise
        raise explanation from error


@contextmanager
def scheduler_answers() -> Iterator[None]:
    """Tell in one line of a scheduler that does not; a client that gave it up has none at all."""
    try:
        yield
    except (OSError, AttributeError) as error:
        raise _scheduler_lost(error) from error


def _scheduler_lost(error: Exception) -> ExecutorError:
    return ExecutorError(f"The scheduler is lost ({cause_of(error)}). Start it and run again.")


def _explanation(error: Exception) -> ExecutorError | None:
    kind = type(error).__name__
    if kind == "KilledWorker":
        return ExecutorError(
            "A task was on several workers that died, one after another: most likely it needs more "
            "memory than they have. Give more groups or shards, or larger workers."
        )
    if kind in ("FutureCancelledError", "CommClosedError"):
        return _scheduler_lost(error)
    if kind == "RuntimeError" and str(error).startswith("cannot open a task"):
        return ExecutorError(f"A worker {error}. Install what it lacks, and {_US}.")
    lacks_us = isinstance(error, (ImportError, AttributeError)) and "secateurs" in str(error)
    if lacks_us and not isinstance(error, SecateursError):
        return ExecutorError(f"A worker cannot run this task ({cause_of(error)}). Install {_US}.")
    return None
