"""A fleet over sockets that a test owns: a hub and workers in a process beside it, with TLS, in memory, in real time.

def test_my_operator(live_fleet):
    live_fleet.add(Path("crd.yaml"), Path("example.yaml"))                        # on the hub, as an administrator
    with KopfRunner(["run", "-A", "operator.py"]):                                # KUBECONFIG is that of the fleet
        live_fleet.until(lambda: live_fleet.get("ConfigMap", "made"))
"""

import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Final, Self, TypeVar

import orjson

from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.errors import ApiError, Unreachable
from fleetqueue.api.scheme import Manifest
from fleetqueue.fleets.embedded_settings import EmbeddedSettings, Scenario
from fleetqueue.fleets.faults import named_status
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.lab.errors import EngineError
from fleetqueue.lab.state import read_json
from fleetqueue.testing.arranged_objects import ArrangedObjects, is_true
from fleetqueue.testing.blocking_connection import BlockingConnection
from fleetqueue.testing.manifest_sources import ManifestSource
from fleetqueue.testing.waiting import Look, seconds_of

T = TypeVar("T")

MODULE: Final = "fleetqueue.testing.live_process"
START_SECONDS: Final = 120.0
"""It takes one to three; a machine that does much else may need many times that."""
ANSWER_SECONDS: Final = 30.0
END_SECONDS: Final = 20.0
LOOK_SECONDS: Final = 0.05
EVER: Final = 2**53
"""As often as nobody asks."""


class LiveCluster(ArrangedObjects):
    """One cluster of the fleet: arrange its objects, and look at what is there."""

    def __init__(self, name: str, folder: Path, port: int, process: "LiveProcess") -> None:
        self.name = name
        self._process = process
        self._seconds_per_request = 0.0
        self.url = f"https://127.0.0.1:{port}"
        self.kubeconfig = folder / "kubeconfig"
        """The file of this cluster alone, for its administrator."""
        self.connection = BlockingConnection(self.url, folder / "pki")
        super().__init__(self.connection.ask)

    # Faults, which do not stop what the test itself adds, changes or looks at

    @property
    def seconds_per_request(self) -> float:
        """How much longer every request takes."""
        return self._seconds_per_request

    @seconds_per_request.setter
    def seconds_per_request(self, seconds: float) -> None:
        self._seconds_per_request = seconds
        self._process.ask("slow", self.name, seconds)

    def fail_on(
        self, what: str, error: ApiError | Unreachable, *, times: int | None = None, applied: bool = False
    ) -> None:
        """Answer requests like `delete configmaps/team-a/a` (`*` stands for anything) with an error.

        With `applied` the request is carried out and only its answer is lost; with `Unreachable` the connection breaks.
        """
        self._process.ask("fail", self.name, what, _told(error), EVER if times is None else times, applied)

    def end_watches(self, error: ApiError | None = None) -> None:
        """End every open watch: cleanly, or with an ERROR event."""
        self._process.ask("end_watches", self.name, error and named_status(error))

    def compact(self) -> None:
        """Forget the past: watches and lists from an older revision expire."""
        self._process.ask("compact", self.name)

    def heal(self) -> None:
        """End all faults on the way to it."""
        self._seconds_per_request = 0.0
        self._process.ask("heal", self.name)

    def _created(self, resource: Any, namespace: str, manifest: Manifest) -> Manifest:
        made = super()._created(resource, namespace, manifest)
        if resource == CustomResourceDefinition.resource:  # its objects may come next
            name = made["metadata"]["name"]
            wait_until(lambda: is_true(self.raw(CustomResourceDefinition, name), "Established"), ANSWER_SECONDS)
        return made


class LiveFleet:
    """A hub and workers. What is added, looked at or removed without naming a cluster is on the hub."""

    def __init__(self, folder: Path, process: "LiveProcess") -> None:
        self.kubeconfig = folder / "kubeconfig"
        """The file with all clusters; the hub is the current context."""
        ports = read_json(folder / "ports.json", {})
        names = [name.partition("/")[0] for name in ports]
        self._clusters = {
            name: LiveCluster(name, folder / name, port, process)
            for name, port in zip(names, ports.values(), strict=True)
        }
        self._process = process

    @classmethod
    @contextmanager
    def open(cls, workers: int = 2, *, scenario: Scenario = "none") -> Iterator[Self]:
        """Start a fleet; its process and all that it has written are gone when the block ends.

        Args:
            workers: how many clusters there are beside the hub: `cluster1`, `cluster2`, ...
            scenario: `none` (bare clusters, as `fleetqueue up` starts them), or `multikueue` (Kueue, OCM and fleetqueue
                at work).
        """
        settings = EmbeddedSettings(workers=workers, in_memory=True, scenario=scenario)
        with tempfile.TemporaryDirectory(prefix="fleetqueue-", ignore_cleanup_errors=True) as folder:
            with LiveProcess.running(Path(folder), settings) as process:
                fleet = cls(Path(folder), process)
                try:
                    yield fleet
                finally:
                    for cluster in fleet:
                        cluster.connection.close()

    @property
    def contexts(self) -> tuple[str, ...]:
        """The contexts of the kubeconfig, one for each cluster: `hub`, `cluster1`, ..."""
        return tuple(self._clusters)

    @property
    def environment(self) -> dict[str, str]:
        """The environment for a program that shall talk to the fleet: `subprocess.run(..., env=fleet.environment)`."""
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}

    @property
    def hub(self) -> LiveCluster:
        return self._clusters[HUB]

    @property
    def workers(self) -> Sequence[LiveCluster]:
        return [cluster for cluster in self if cluster.name != HUB]

    def __getitem__(self, name: str) -> LiveCluster:
        return self._clusters[name]

    def __iter__(self) -> Iterator[LiveCluster]:
        return iter(self._clusters.values())

    # Objects of the hub

    def add(self, *manifests: ManifestSource) -> None:
        """Create objects on the hub: dictionaries, YAML text, or files (a `pathlib.Path`)."""
        self.hub.add(*manifests)

    def get(self, kind: str, name: str, namespace: str = "") -> Manifest | None:
        """Return an object of the hub, or None."""
        return self.hub.get(kind, name, namespace)

    def list(self, kind: str, namespace: str = "") -> Sequence[Manifest]:
        """Return all of a kind on the hub, in all namespaces or in one."""
        return self.hub.list(kind, namespace)

    def remove(self, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object of the hub; finalizers still hold it."""
        self.hub.remove(kind, name, namespace)

    # Time

    def until(self, check: Callable[[], T], *, within: float | str = "30s") -> T:
        """Wait until something holds, and return what the check said.

        A field or an object that is not there yet is no error: it does not hold. In an `async def` test, whose loop
        must go on meanwhile: `await asyncio.to_thread(live_fleet.until, ...)`.
        """
        return wait_until(check, within)

    # Faults

    def cut(self, *names: str, silently: bool = False) -> None:
        """Cut workers off: connections are refused, or (silently) stay open and nothing is answered."""
        for name in names:
            self._process.ask("cut", name, "hang" if silently else "refuse")

    def heal(self, *names: str) -> None:
        """End all faults on the way to clusters, to all where none is named."""
        for name in names or self.contexts:
            self[name].heal()


class LiveProcess:
    """The process of a fleet: it answers lines, and ends when nobody can send it any more."""

    def __init__(self, process: "subprocess.Popen[bytes]", errors: IO[bytes]) -> None:
        assert process.stdin
        assert process.stdout
        self._process, self._errors = process, errors
        self._questions, self._answers = process.stdin, process.stdout

    @classmethod
    @contextmanager
    def running(cls, folder: Path, settings: EmbeddedSettings) -> Iterator[Self]:
        command = (sys.executable, "-m", MODULE, str(folder), orjson.dumps(asdict(settings)))
        with tempfile.TemporaryFile() as errors:
            # In a session of its own, so that Ctrl-C in a terminal reaches it through the test only.
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
            live = cls(process, errors)
            try:
                live.answer(START_SECONDS)
                yield live
            finally:
                live.end()

    def ask(self, verb: str, *arguments: Any) -> Any:
        self._questions.write(orjson.dumps({"do": verb, "arguments": arguments}) + b"\n")
        self._questions.flush()
        answer = self.answer(ANSWER_SECONDS)
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["value"]

    def answer(self, within: float) -> Any:
        """Read one line."""
        line = b""
        if select.select([self._answers], [], [], within)[0]:
            line = self._answers.readline()
        if not line:
            self._errors.seek(0)
            raise EngineError(f"the fleet does not answer; it said: {self._errors.read().decode() or 'nothing'}")
        return orjson.loads(line)

    def end(self) -> None:
        with suppress(BrokenPipeError):  # it may have died, and then hears nothing
            self._questions.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._answers.close()


def _told(error: ApiError | Unreachable) -> Manifest | str:
    """Return an error as it travels to the process of a fleet."""
    return named_status(error) if isinstance(error, ApiError) else str(error)


def wait_until(check: Callable[[], T], within: float | str) -> T:
    """Look again and again; raises AssertionError when the time is over."""
    look, ends = Look(check), time.monotonic() + seconds_of(within)
    while not look():
        if time.monotonic() >= ends:
            raise AssertionError(look.why_not(within))
        time.sleep(LOOK_SECONDS)
    return look.said
