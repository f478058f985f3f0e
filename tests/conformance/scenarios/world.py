"""What a room's scenarios are to the tests: their descriptions, the two sides that they run on, and the record.

The record, `recorded.json` beside the scenarios, is what upstream's part made of each of them. It says which versions
of the parts that were, and carries a seal of the scenarios, of these versions and of what was made of them: as long as
that is the same, the record is current, and nobody has written into it by hand.
"""

import hashlib
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import yaml

from fleetqueue.real.parts import KUBERNETES_VERSION, KUEUE_VERSION, OCM_VERSION

Described = dict[str, Any]
"""A scenario in the form of its room: `name`, what happens, and `differs` where ours is known to end otherwise.

That says `why`, and `at` which places of the end, such as `hub.jobs.a.status`; all others are still compared.
"""
Ends = dict[str, Any]
"""What each scenario ends in, by its name."""
VERSIONS = {"Kubernetes": KUBERNETES_VERSION, "Kueue": KUEUE_VERSION, "OCM": OCM_VERSION}
ORIGIN = ""
"""Under this name, which no scenario has, the record keeps what it was made of: the versions, and its seal."""


@dataclass(frozen=True, eq=False)
class World:
    folder: Path
    """Where its scenarios and their record are; the folder's name is the world's."""
    described: Sequence[Described]
    run_on_ours: Callable[[], Coroutine[Any, Any, Ends]]
    """To be run in virtual time."""
    run_on_real: Callable[[Path], Coroutine[Any, Any, Ends]]
    """Given a folder for the state of the real fleet."""
    time_limit: float = 300.0
    """Seconds that the real part may take for all scenarios."""

    @property
    def name(self) -> str:
        return self.folder.name

    def origin(self, ends: Ends) -> Described:
        """Tell what these scenarios ended in, on the parts of this engine, from all else."""
        happening = [{part: what for part, what in each.items() if part != "differs"} for each in self.described]
        whole = {"versions": VERSIONS, "scenarios": happening, "ends": ends}
        return {**VERSIONS, "seal": hashlib.sha256(_json(whole).encode()).hexdigest()}

    def recorded(self) -> Ends:
        found = self._read()
        del found[ORIGIN]
        return found

    def is_sealed(self) -> bool:
        """Tell whether the record is what the parts that the engine has now made of these scenarios."""
        return bool(self._read()[ORIGIN] == self.origin(self.recorded()))

    def record(self, ends: Ends) -> None:
        """Write what the real part made of each scenario, a line for each."""
        whole = {ORIGIN: self.origin(ends), **ends}
        lines = (f"{_json(name)}: {_json(whole[name])}" for name in sorted(whole))
        (self.folder / "recorded.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")

    def _read(self) -> Ends:
        found: Ends = orjson.loads((self.folder / "recorded.json").read_bytes())
        return found


def written(folder: Path) -> list[Described]:
    """Return the scenarios of all files of a folder, file by file."""
    return [each for path in sorted(folder.glob("*.yaml")) for each in yaml.load(path.read_text(), yaml.CSafeLoader)]


def prefixes(described: Sequence[Described], letter: str) -> dict[str, str]:
    """Return what the names of each scenario's objects begin with, by the scenario's name."""
    found = {each["name"]: f"{letter}{number:03d}-" for number, each in enumerate(described)}
    assert len(found) == len(described), "two scenarios have one name"
    return found


def once(run: Callable[[World], Ends]) -> Callable[[World], Ends]:
    """Run each world for the first who asks; where that failed, it fails for all who ask, without another try."""

    @cache
    def outcome(world: World) -> Future[Ends]:
        done: Future[Ends] = Future()
        try:
            done.set_result(run(world))
        except BaseException as error:  # a test that ran out of time ends by one
            done.set_exception(error)
        return done

    return lambda world: outcome(world).result()


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
