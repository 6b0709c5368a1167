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


def main() -> NoReturn:
    """Run the command line."""
    # Handles interrupts during imports, when there is nothing to clean up, and second interrupts.
    signal.signal(signal.SIGINT, exit_as_interrupted)
    from secateurs import cli

    cli.main()


if __name__ == "__main__":
    main()
