"""What distributed runs may send, hold and wait for."""

from dataclasses import dataclass


@dataclass
class Limits:
    """Limits of distributed runs; set them on ``secateurs.distributed.limits``.

    Attributes
    ----------
    sent_bytes : int, default=50 MB
        Packed votes in memory that may be sent to workers elsewhere. Larger ones belong in a
        `VoteStore` on storage that all workers share.
    held_bytes : int, default=4 GB
        A store up to this size is loaded by a pruner that runs in one process; COMEP reads a
        larger one tile by tile, in every step.
    keep_seconds : float, default=1
        How often the steps of a run on a store are kept beside it, for a later run to go on.
    wait_seconds : float, default=30
        How long to wait for a first worker, and for a new one when all are lost.

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
