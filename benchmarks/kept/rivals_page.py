"""Page."""


def write(out, page):
    """Write."""
