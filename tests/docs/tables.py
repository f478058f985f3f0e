"""Tables of the pages."""

import re


def rows(text: str) -> list[list[str]]:
    """Return the cells of every table row of a page."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
