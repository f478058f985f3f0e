"""One table of a benchmark: each row is printed when it is measured, all of them at the end."""

import platform

from rich.console import Console
from rich.table import Table


class Rows:
    """Questions with what was measured, beside a peer or an aim."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []

    def row(self, question: str, measured: str, beside: str = "") -> None:
        self.rows.append((question, measured, beside))
        print(f"{question}: {measured}", flush=True)

    def show(self, title: str, beside: str) -> None:
        table = Table(title=f"{platform.machine()}, Python {platform.python_version()}, {title}")
        for column in ("question", "measured", beside):
            table.add_column(column)
        for row in self.rows:
            table.add_row(*row)
        Console().print(table)
