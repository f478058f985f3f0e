"""Logs of processes: kept small, and quoted with advice when something went wrong."""

from pathlib import Path
from typing import Final

TAIL_LINES: Final = 15
LARGE_BYTES: Final = 20_000_000
# What a log says, and what to do about it.
ADVICE: Final = {
    "inotify: too many open files": (
        "The limit of this user's inotify instances is used up (a fleet with three workers needs eight): "
        "stop another fleet, or raise it with `sudo sysctl fs.inotify.max_user_instances=1024`"
    ),
    "address already in use": "Something took the port after it was chosen: start again, and another one is chosen",
    "no space left on device": "The disk is full: free some space, or choose another data folder",
}


def make_room(log: Path) -> None:
    """Put a log that has grown large aside; a second one of its kind is dropped."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LARGE_BYTES:
        log.replace(log.with_suffix(".old.log"))


def log_tail(log: Path) -> str:
    """The end of a log, or where it would be."""
    try:
        lines = log.read_text(errors="replace").rstrip().splitlines()[-TAIL_LINES:]
    except OSError:
        lines = []
    if not lines:
        return f"its log {log} is empty"
    text = "\n".join(lines)
    advice = "".join(f"\n{sentence}" for sign, sentence in ADVICE.items() if sign in text)
    return f"the end of {log}:\n{text}{advice}"
