"""A row of the page: plain values, under short names since ten thousand of them travel at once."""

from datetime import datetime
from typing import Any

Row = dict[str, Any]


def seconds(moment: datetime | None) -> float | None:
    """Write a moment as the page reads it: seconds since 1970."""
    return None if moment is None else round(moment.timestamp(), 1)
