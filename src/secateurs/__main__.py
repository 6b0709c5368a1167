"""Entry point of ``secateurs`` and ``python -m secateurs``, which can always be interrupted."""

import os
import signal
import sys
from typing import NoReturn

from secateurs.text_format import interrupt_hint


def exit_as_interrupted(*_: object) -> NoReturn:
    """Print one line about the interrupt, and end the process without clean-up."""
    hint = interrupt_hint(sys.argv[1:])
    line = f"error: interrupted. {hint}"
    if "--json" in sys.argv:
        line = (
            f'{{"error": {{"code": "interrupted", "message": "interrupted.", "hint": "{hint}"}}}}'
        )
    os.write(2, f"{line}\n".encode())
    os._exit(130)


def leave_current_folder() -> None:
    """Take the current folder off Python's path, where ``python -m secateurs`` puts it.

    Otherwise a file next to a plan or a table could replace a library. The installed command does
    not search the current folder either. The variable has the same effect on worker processes.
    """
    folder = os.getcwd()
    if folder == os.path.dirname(os.path.dirname(os.path.abspath(__file__))):
        return  # the package itself is imported from there
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    if sys.path and sys.path[0] in ("", folder):
        del sys.path[0]


def main() -> NoReturn:
    """Run the command line."""
    # Handles interrupts during imports, when there is nothing to clean up, and second interrupts.
    signal.signal(signal.SIGINT, exit_as_interrupted)
    leave_current_folder()
    from secateurs import cli

    cli.main()


if __name__ == "__main__":
    main()
