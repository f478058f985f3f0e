"""Divide the tests on the real engine between two processes, and say at the end where their time went, file by file.

The lane has a limit, and most of its time it waits for Kueue, which asks each worker five times a second at most.
"""

from collections import Counter

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep those together that share one fleet; the others start what they need by themselves."""
    for item in items:
        fleet = "shared" if "tests/real" in item.path.as_posix() else "own"
        item.add_marker(pytest.mark.xdist_group(fleet))


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
