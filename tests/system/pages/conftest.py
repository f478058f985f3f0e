"""A shell, and one in which a fleet runs."""

from collections.abc import Iterator

import pytest

from .fleet import FLEET
from .shell import Shell


@pytest.fixture
def empty(tmp_path) -> Iterator[Shell]:
    """A person's terminal, and no fleet."""
    shell = Shell(tmp_path)
    yield shell
    shell.close()


@pytest.fixture
def fleet(empty) -> Shell:
    for line in FLEET:
        empty.type(line)
    return empty
