"""Take pictures of the report for the README: ``python scripts/screenshots.py [FOLDER]``.

The script prunes a forest on handwritten digits, opens its report in Debian's chromium, and writes
report-light.png and report-dark.png, by default to docs/images. It needs the extra ``test``.
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from secateurs import prune

WIDTH, HEIGHT = 1200, 1900
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def write_page(path: Path) -> None:
    """Prune a forest to a tenth of its trees and write the report."""
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(300, random_state=0).fit(X[:900], y[:900])
    pruning = prune(forest, X[900:1350], y[900:1350], keep=30, random_state=0)
    pruning.report(path, X[1350:], y[1350:])


def take(page: Path, folder: Path) -> None:
    """Take pictures of the top of the page in the light and dark theme."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for scheme in ("light", "dark"):
            size = {"width": WIDTH, "height": HEIGHT}
            view = browser.new_page(viewport=size, color_scheme=scheme)
            view.goto(page.as_uri())
            view.wait_for_selector("html[data-ready]")
            view.screenshot(path=folder / f"report-{scheme}.png")
        browser.close()


def main() -> None:
    """Write the page and take its pictures."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as temporary:
        page = Path(temporary) / "report.html"
        write_page(page)
        take(page, folder)
    print(*sorted(folder.glob("report-*.png")), sep="\n")


if __name__ == "__main__":
    main()
