"""What holds for every run: a short way for the garbage collector, and where the time on the real engine went."""

import gc
from collections import Counter

import pytest

MIRROR = "tests/unit/real/"


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Let no collection of garbage look again at thousands of tests and modules, which stay until the end.

    And let it come as rarely as in a fleet that runs: at Python's own 700 new objects it takes a sixth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it file by file: the lane has a limit."""
    reports = [report for some in terminalreporter.stats.values() for report in some]
    spent = Counter[str]()
    for report in reports:
        # A keyword is a mark or the name of a folder, and `tests/unit/real` needs no engine.
        if isinstance(report, pytest.TestReport) and "real" in report.keywords and MIRROR not in report.nodeid:
            spent[report.location[0]] += report.duration
    if spent.total() < 1:
        return
    terminalreporter.section(f"the real engine took {spent.total() / 60:.1f} minutes")
    for file, seconds in spent.most_common():
        terminalreporter.write_line(f"{seconds:7.1f} s  {file}")
