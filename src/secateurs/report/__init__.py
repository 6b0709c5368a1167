"""Reports: collect their data as JSON values, then render one self-contained HTML page."""

from secateurs.report._report_data import report_data
from secateurs.report._report_page import render
from secateurs.report._run_files import load_run, write_report, write_run
from secateurs.report._run_files import run_content as run_content

__all__ = ["load_run", "render", "report_data", "write_report", "write_run"]
