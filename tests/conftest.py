"""Say at the end of a run where the time on the real engine went, file by file: the lane has a limit."""

from collections import Counter

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for some in terminalreporter.stats.values() for report in some]
    spent = Counter[str]()
    for report in reports:
        if isinstance(report, pytest.TestReport) and "real" in report.keywords:
            spent[report.location[0]] += report.duration
    if spent.total() < 1:
        return
    terminalreporter.section(f"the real engine took {spent.total() / 60:.1f} minutes")
    for file, seconds in spent.most_common():
        terminalreporter.write_line(f"{seconds:7.1f} s  {file}")
