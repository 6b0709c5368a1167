"""Limits of distributed runs."""

from dataclasses import dataclass


@dataclass
class Limits:
    """Limits of distributed runs; set them on ``secateurs.distributed.limits``.

    Attributes
    ----------
    sent_bytes : int, default=50 MB
        Largest size of packed votes or scores that are sent from memory to workers elsewhere.
        Larger ones belong in a `VoteStore` or `PredictionStore` on storage that all workers share.
    held_bytes : int, default=4 GB
        Largest size of a store that a pruner loads into memory when it runs in one process; COMEP
        and joint error read a larger one tile by tile in every step.
    keep_seconds : float, default=1
        Seconds between checkpoints of a run on a store; a later run continues from the last one.
    wait_seconds : float, default=30
        Seconds to wait for a first worker, and for a new one when all are lost.

    Examples
    --------
    >>> from secateurs.distributed import limits
    >>> limits.sent_bytes
    50000000
    """

    sent_bytes: int = 50_000_000
    held_bytes: int = 4_000_000_000
    keep_seconds: float = 1.0
    wait_seconds: float = 30.0


limits = Limits()
