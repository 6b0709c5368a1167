"""``python -m secateurs`` is the command ``secateurs``."""

from secateurs.cli import main

if __name__ == "__main__":
    main()
