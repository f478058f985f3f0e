from collections.abc import Iterator

import pytest

from .shell import Shell


@pytest.fixture
def empty(tmp_path) -> Iterator[Shell]:
    """A person's terminal, and no fleet."""
    shell = Shell(tmp_path)
    yield shell
    shell.close()
