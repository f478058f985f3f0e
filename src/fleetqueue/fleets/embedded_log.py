"""The one log of an embedded fleet: all parts share a process, and every line says on which cluster whose pod spoke."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from fleetqueue.runtime import logs

FILE: Final = "parts.log"
API: Final = "apiserver"
"""What is no pod of a cluster: its API, its own controllers and its node, as `fleetqueue status` names them."""
_BEGINNING: Final = re.compile(r"\d\d:\d\d:\d\d\.\d{3} [A-Z] ")
_SPEAKER: Final = re.compile(r" on=(?P<cluster>\S+)(?: pod=[^/\s]+/(?P<pod>\S+))?")


def keep(data_dir: Path) -> None:
    """Write what the parts of this process say into the folder of their fleet."""
    logs.set_up(json=False, file=data_dir / FILE)


class LinesOf:
    """Tells, line by line, what a cluster said, or one part of it; a part is named by how its pods' names begin."""

    def __init__(self, name: str) -> None:
        self.cluster, _, self.part = name.partition("/")
        self._is_told = False

    def __call__(self, line: str) -> bool:
        if _BEGINNING.match(line):  # any other line, as of a traceback, goes on with the one before
            cluster, part = _speaker(line)
            self._is_told = cluster == self.cluster and part.startswith(self.part)
        return self._is_told


def speakers(lines: Iterable[str]) -> list[str]:
    """Name the parts that said something, as `hub/kueue-controller-manager`."""
    pairs = {_speaker(line) for line in lines if _BEGINNING.match(line)}
    return sorted({f"{cluster}/{_deployment(part)}" for cluster, part in pairs if cluster})


def _speaker(line: str) -> tuple[str, str]:
    match = _SPEAKER.search(line)
    return (match["cluster"], match["pod"] or API) if match else ("", "")


def _deployment(pod: str) -> str:
    """Return whose pod it is, which ends in that of its ReplicaSet and in its own five letters."""
    return re.sub(r"-[a-z0-9]+-[a-z0-9]{5}$", "", pod)
