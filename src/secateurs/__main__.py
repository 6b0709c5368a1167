"""The command ``secateurs`` and ``python -m secateurs``: an interrupt ends it at any moment."""

import os
import signal
import sys
from typing import NoReturn

_TEXT = "error: interrupted. Run the same command to resume."
_JSON = (
    '{"error": {"code": "interrupted", "message": "interrupted.", '
    '"hint": "Run the same command to resume."}}'
)


def exit_as_interrupted(*_: object) -> NoReturn:
    """Say in one line that the command was interrupted, and end the process."""
    os.write(2, f"{_JSON if '--json' in sys.argv else _TEXT}\n".encode())
    os._exit(130)


def main() -> NoReturn:
    """Run the command line."""
    # Until there is something to clean up, and whenever an interrupt comes a second time.
    signal.signal(signal.SIGINT, exit_as_interrupted)
    from secateurs import cli

    cli.main()


if __name__ == "__main__":
    main()
