"""Print listings: columns for people, JSON or YAML for programs."""

from collections.abc import Sequence

from fleetqueue.admin.table_text import Row, written
from fleetqueue.cli.options import Format


def show(rows: Sequence[Row], columns: Sequence[str], output: Format, *, empty: str = "nothing found") -> None:
    """Print rows; programs get every field, people the named columns."""
    print(written(rows, columns, output.value, empty=empty))
