"""A polite way to stop: long loops ask between steps whether they are still wanted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_unwanted: ContextVar[Callable[[], bool] | None] = ContextVar("unwanted", default=None)


class Stopped(Exception):  # noqa: N818
    """The result of this work is no longer wanted."""


def check() -> None:
    """Stop here if nobody waits for the result any more."""
    unwanted = _unwanted.get()
    if unwanted is not None and unwanted():
        raise Stopped


@contextmanager
def interruptible(unwanted: Callable[[], bool]) -> Iterator[None]:
    """Let `check` ask this function."""
    token = _unwanted.set(unwanted)
    try:
        yield
    finally:
        _unwanted.reset(token)
