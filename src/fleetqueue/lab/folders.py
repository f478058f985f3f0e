"""The folders of all fleets on this machine: those in the user's state folder, and those that were started elsewhere.

Of a fleet elsewhere, a small file in the state folder remembers the path: one for each, so that two starts at the same
time do not lose one.
"""

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Final

from fleetqueue.lab.state import LAB, default_data_dir, write_private

ELSEWHERE: Final = ".elsewhere"


def remember(data_dir: Path) -> None:
    """Note where a fleet is started, unless all fleets of that folder are known anyway.

    Who may not write to the state folder has a fleet all the same; it is not listed then.
    """
    if data_dir.parent == _base():
        return
    name = hashlib.sha256(str(data_dir).encode()).hexdigest()[:16]
    with suppress(OSError):
        write_private(_base() / ELSEWHERE / name, str(data_dir).encode())


def known_folders() -> list[Path]:
    """Return the folders that hold a fleet, in order; what is remembered of others is forgotten."""
    usual = [path for path in _base().glob("*") if path.name != ELSEWHERE]
    for note in (_base() / ELSEWHERE).glob("*"):
        folder = Path(note.read_text())
        if _has_fleet(folder):
            usual.append(folder)
        else:
            note.unlink(missing_ok=True)
    return sorted(filter(_has_fleet, usual))


def _base() -> Path:
    return default_data_dir(LAB).parent


def _has_fleet(folder: Path) -> bool:
    return (folder / "fleet.json").is_file()
