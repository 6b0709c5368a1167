"""Reports: collect their data as JSON values, then render one self-contained HTML page."""

from secateurs.report._report_data import report_data
from secateurs.report._report_page import render
from secateurs.report._run_files import load_run, run_content, write_report, write_run

__all__ = ["load_run", "render", "report_data", "run_content", "write_report", "write_run"]
