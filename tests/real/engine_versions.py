"""Which versions the real engine has that tests run on, and what a test leaves out because of them."""

from fleetqueue.real import layout

LEFT_OUT = "left out"
"""The property under which a test records what does not apply to these versions, and why; `make versions` shows it."""


def has_kueue(least: str) -> bool:
    return numbers(layout.chosen().versions().kueue) >= numbers(least)


def has_kubernetes(least: str) -> bool:
    return numbers(layout.chosen().versions().kubernetes) >= numbers(least)


def numbers(version: str) -> tuple[int, ...]:
    """Read a version; a candidate counts as the release that it becomes."""
    return tuple(int(part) for part in version.partition("-")[0].split("."))
