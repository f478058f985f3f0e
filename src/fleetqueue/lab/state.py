"""What a fleet keeps on disk: where it lies, who may use it, and how files are written there.

<data dir>/            0700, because it holds keys
  lock                 held by the one process that runs this fleet
  fleet.json           how the fleet was started: workers, parts
  ports.json           the port of every process
  processes.json       what was started: pid and start time
  kubeconfig           all clusters
  control.sock         the door of a fleet in the background
  supervisor.log       what such a fleet said of its start and its end
  parts.log            what the parts of embedded clusters say
  dashboard.json       the port and the token of the dashboard
  dashboard.log        what went wrong with it
  <cluster>/           pki/ etcd/ kueue/ ocm/ logs/ kubeconfig kubeconfig-remote
"""

import fcntl
import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal

import orjson

from fleetqueue.lab.errors import EngineError

LAB: Final = "lab"
"""The fleet that a command means where none is named."""
ENGINES: Final = ("kubernetes", "embedded")
SCENARIOS: Final = ("multikueue", "none")
"""What fleets can be made of, and what they come with."""


def default_data_dir(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """The state folder of a named fleet of this user."""
    base = environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser().absolute() / "fleetqueue" / name


def option(data_dir: Path) -> str:
    """Return what a command needs, besides its name, to mean the fleet in a folder: nothing for the usual one."""
    return "" if data_dir == default_data_dir(LAB) else f" --data-dir {shlex.quote(str(data_dir))}"


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_name(f".{path.name}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.replace(partial, path)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, complete or not at all."""
    write_private(path, orjson.dumps(value, option=orjson.OPT_INDENT_2))


def read_json(path: Path, default: Any) -> Any:
    """Read a JSON file; a missing one is the default, a broken one is an error that names it."""
    try:
        return orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return default
    except orjson.JSONDecodeError as error:
        raise EngineError(f"{path} is not JSON ({error}); delete it, or the whole folder, and start again") from error


@dataclass(frozen=True, slots=True)
class KeptFleet:
    """What every fleet remembers of how it was started."""

    engine: str
    workers: int
    in_memory: bool = False
    scenario: Literal["multikueue", "none"] = "none"


def kept(data_dir: Path) -> KeptFleet | None:
    """How the fleet in a folder was last started; None if there never was one. A broken record is an error."""
    path = data_dir / "fleet.json"
    try:
        fleet = _kept_fleet(orjson.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except orjson.JSONDecodeError as error:
        raise _broken(path, f"it is not JSON ({error})") from error
    if fleet is None:
        raise _broken(path, "it does not say how the fleet was started")
    return fleet


def _kept_fleet(record: Any) -> KeptFleet | None:
    """Read what is remembered; None where it cannot be that."""
    if not isinstance(record, dict) or not isinstance(workers := record.get("workers"), int):
        return None
    engine, scenario = record.get("engine", "kubernetes"), record.get("scenario", "none")
    if engine not in ENGINES or scenario not in SCENARIOS:
        return None
    return KeptFleet(engine, workers, bool(record.get("in_memory")), scenario)


def _broken(path: Path, why: str) -> EngineError:
    """Say what to do: the clusters may be whole, but not how many they are, nor what they are made of."""
    return EngineError(
        f"{path} is broken: {why}; repair it, or forget the fleet with "
        f"`fleetqueue down --delete{option(path.parent)}` and start again"
    )


def refuse_other_engine(data_dir: Path, engine: str) -> None:
    """Refuse a folder whose fleet is made of something else: its clusters would be lost."""
    there = kept(data_dir)
    if there is not None and there.engine != engine:
        raise EngineError(
            f"the fleet in {data_dir} is made of {there.engine} clusters, not of {engine} ones; start it with "
            f"--engine {there.engine}, choose another folder with --data-dir, or forget it with "
            f"`fleetqueue down --delete{option(data_dir)}`"
        )


def refuse_foreign(data_dir: Path) -> None:
    """Refuse a folder that holds something else than a fleet, since it is going to be deleted."""
    if data_dir.is_dir() and any(data_dir.iterdir()) and not (data_dir / "fleet.json").is_file():
        # what is left of a fleet that never started
        known = {"lock", "ports.json", "supervisor.log", "parts.log", "dashboard.json"}
        if any(entry.name not in known for entry in data_dir.iterdir()):
            raise EngineError(f"{data_dir} is not the folder of a fleet; choose an empty one with --data-dir")


def delete_state(data_dir: Path) -> None:
    """Remove the folder of a fleet that is stopped, or say what stands in the way."""
    if not data_dir.exists():
        return
    try:
        shutil.rmtree(data_dir)
    except OSError as error:
        what = error.filename or data_dir
        reason = error.strerror or error
        raise EngineError(f"{what} cannot be removed: {reason}; remove {data_dir} by hand") from error


def refuse_running(data_dir: Path) -> None:
    """Refuse a folder whose fleet runs, before anything is said of a start."""
    ownership = Ownership(data_dir)
    ownership.take()
    ownership.release()


class Ownership:
    """The lock that lets one process at a time run the fleet of a folder; the kernel frees it when we die.

    Who takes it again inside of that holds it too: it is free when each of them has released it.
    """

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "lock"
        self.file: IO[str] | None = None
        self._holders = 0

    def take(self) -> None:
        """Become the owner, or say who is."""
        if self.file is not None:
            self._holders += 1
            return
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self.path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = self.path.read_text().strip() or "unknown"
            file.close()
            raise EngineError(
                f"the fleet in {self.path.parent} is already run by process {owner}; stop it with "
                f"`fleetqueue down{option(self.path.parent)}`, or choose another folder"
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self.file = file
        self._holders = 1

    def is_taken(self) -> bool:
        """Tell whether a process runs the fleet, without becoming its owner."""
        try:
            with self.path.open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def release(self) -> None:
        """Let another process run the fleet, once all who took this have let go."""
        if self.file is None:
            return
        self._holders -= 1
        if self._holders == 0:
            self.file.close()
            self.file = None
