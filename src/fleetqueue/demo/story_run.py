"""What a story is told with: clusters as they are now, commands that change them, expectations, and who prints it."""

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, Protocol, Self

import yaml

from fleetqueue import clock
from fleetqueue.admin.waiting import NotInTime, Observed
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions, core_v1
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.meta import Object, View
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.demo.commands import Commands, Typed
from fleetqueue.demo.expectations import CHECKLIST, ExpectationFailed, ExpectationOutcome, Record
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.manifests import folder, objects
from fleetqueue.rules.run_times import RUN_FOR
from fleetqueue.runtime.cluster import Cluster


class StoryPrinter(Protocol):
    """Where a story is told: a terminal, or nowhere."""

    def title(self, text: str) -> None:
        """Begin a story or a part of one."""
        ...

    def say(self, text: str) -> None:
        """Tell what is done next, and why."""
        ...

    async def command(self, text: str) -> None:
        """Show a command before it runs; may wait until the reader is ready."""
        ...

    def output(self, text: str) -> None:
        """Show what a command printed."""
        ...

    def reason(self, text: str) -> None:
        """Show why something happened, in the words of an Event."""
        ...

    def waiting(self, text: str) -> None:
        """Say what is waited for now; the next outcome ends it."""
        ...

    def outcome(self, outcome: ExpectationOutcome) -> None:
        """Show whether an expectation held."""
        ...


OURS: Final = "fleetqueue.dev/controller"


class Regarding(View):
    kind: str = ""
    name: str = ""


class StoryEvent(Object):
    """An Event about an object, which the stories tell where it is our controller's."""

    resource: ClassVar = Event.resource

    reason: str = ""
    note: str = ""
    event_time: str = ""
    reporting_controller: str = ""
    regarding: Regarding = Regarding()

    @property
    def is_ours(self) -> bool:
        return self.reporting_controller == OURS

    @property
    def sentence(self) -> str:
        return f"{self.regarding.kind} {self.regarding.name}: {self.note}"


LIMIT: Final = 60.0
"""Seconds for one expectation. Most take less than two; a machine that is busy with something else may need many."""
EVENT_LIMIT: Final = 5.0

ON_HUB: Final[tuple[type[Object], ...]] = (
    cluster.ManagedCluster,
    cluster.ManagedClusterSet,
    cluster.ManagedClusterSetBinding,
    cluster.Placement,
    cluster.PlacementDecision,
    cluster.AddOnPlacementScore,
    ClusterProfile,
    kueue.AdmissionCheck,
    kueue.ClusterQueue,
    kueue.LocalQueue,
    kueue.ResourceFlavor,
    kueue.MultiKueueConfig,
    kueue.MultiKueueCluster,
    kueue.QueuedWorkload,
    Job,
)
ON_WORKERS: Final[tuple[type[Object], ...]] = (kueue.QueuedWorkload, Job)


class PausableParts(Protocol):
    """What runs beside or in the clusters of a fleet, by name, such as `cluster2/score-agent`."""

    async def states(self) -> Mapping[str, str]: ...

    async def pause(self, name: str) -> None: ...

    async def resume(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class StoryFleet:
    """A fleet on which the stories can be told."""

    kubeconfig: Path
    """All clusters: contexts `kind-hub`, `kind-cluster1`, ..."""
    workers: tuple[str, ...] = ("cluster1", "cluster2", "cluster3")
    has_agents: bool = True
    """Whether OCM's agents report on the workers."""
    processes: PausableParts | None = None
    has_pods: bool = False
    """Whether the parts of all systems are pods, brought by add-ons where the walkthroughs have them so."""
    dial: Callable[[str], Client] | None = None
    """Opens a cluster by its name; otherwise the kubeconfig does."""
    commands: Callable[[Mapping[str, Client]], Commands] | None = None
    """Who runs the commands; otherwise the programs themselves."""


class StoryRun:
    def __init__(self, fleet: StoryFleet, printer: StoryPrinter, *, is_fast: bool = False) -> None:
        self.fleet = fleet
        self.printer = printer
        self.is_fast = is_fast
        """Whether jobs end after seconds instead of when the walkthroughs' do."""
        self.record = Record()
        self.monitor = SingleRunMonitor()
        self.clients: dict[str, Client] = {}
        self._told: set[str] = set()

    async def __aenter__(self) -> Self:
        names = (HUB, *self.fleet.workers)
        dial = self.fleet.dial or (lambda name: connect(load(self.fleet.kubeconfig, name)))
        self.clients = {name: dial(name) for name in names}
        self._commands = self.fleet.commands(self.clients) if self.fleet.commands else Typed(self.fleet.kubeconfig)
        self.seen = Observed(self.clients)
        for kind in ON_HUB:
            self.seen.follow(HUB, kind)
        self.seen.follow(HUB, core_v1.Secret, namespace=KUEUE_NAMESPACE)
        self.seen.follow(HUB, StoryEvent, namespace="default")  # where Events about cluster-wide objects are
        for name in self.fleet.workers:
            for kind in ON_WORKERS:
                self.seen.follow(name, kind)
        self.seen.watch(self._see)
        await self.seen.synced()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.seen.__aexit__(kind, error, trace)
        for client in self.clients.values():
            await client.close()

    # What is

    @property
    def hub(self) -> Cluster:
        return self.seen[HUB]

    def worker(self, name: str) -> Cluster:
        return self.seen[name]

    def condition(self, kind: type[Object], name: str, condition: str = "Active") -> conditions.Condition | None:
        """Return a condition of a cluster-wide object of the hub."""
        obj: Any = self.hub.get(kind, name)
        return conditions.find(obj.status.conditions, condition) if obj is not None else None

    def says(self, kind: type[Object], name: str, status: str, reason: str, message: str = "") -> bool:
        """Tell whether an object's Active condition says exactly this, of its present generation."""
        condition, live = self.condition(kind, name), self.hub.get(kind, name)
        if condition is None or live is None or (condition.status, condition.reason) != (status, reason):
            return False
        is_current = condition.observed_generation in (0, live.metadata.generation)  # not everybody says of which it is
        return is_current and message in ("", condition.message)

    # What is done

    async def do(self, text: str, *, stdin: str = "") -> str:
        """Show a command, run it, show what it printed; example files are named without their folder."""
        await self.printer.command(f"{text} <<EOF\n{stdin.rstrip()}\nEOF" if stdin else text)
        program, *arguments = shlex.split(text)
        arguments = [str(folder() / word) if (folder() / word).is_file() else word for word in arguments]
        if program == "kubectl":
            printed = await self._commands.kubectl(*arguments, stdin=stdin)
        else:
            printed = await self._commands.fleetqueue(*arguments)
        self.printer.output(printed)
        return printed

    async def create_job(self, name: str, *, seconds: int = 0) -> Job:
        """Create a job from an example; return it. With `seconds`, and only if fast, it ends so soon."""
        stdin = ""
        command = f"kubectl create -f {name} --context kind-hub"
        if self.is_fast and seconds:
            manifest = objects(name)[0]
            manifest["spec"]["template"].setdefault("metadata", {})["annotations"] = {RUN_FOR: f"{seconds}s"}
            stdin, command = yaml.safe_dump(manifest, sort_keys=False), "kubectl create -f - --context kind-hub"
            self.printer.say(f"(fast: {name} with the annotation {RUN_FOR}: {seconds}s)")
        printed = await self.do(command, stdin=stdin)
        created = printed.split()[0].removeprefix("job.batch/")
        return await self.seen.until(
            lambda: self.hub.get(Job, created, "default"), limit=LIMIT, what=f"job {created} on the hub"
        )

    # What must be

    async def expect(
        self,
        expectation: str,
        holds: Callable[[], Any],
        *,
        part: str = "",
        why_not: Callable[[], str] = lambda: "",
        limit: float = LIMIT,
    ) -> Any:
        """Wait until an expectation, or a part of it, holds; return what `holds` gave. Raises ExpectationFailed."""
        began = clock.monotonic()
        self.printer.waiting(f"{expectation}: {part or CHECKLIST[expectation]}")
        try:
            value = await self.seen.until(holds, limit=limit, what="it did not happen", why_not=why_not)
        except NotInTime as late:
            self._conclude(ExpectationOutcome(expectation, False, clock.monotonic() - began, str(late), part))
        else:
            self._conclude(ExpectationOutcome(expectation, True, clock.monotonic() - began, "", part))
            return value

    def judge(self, expectation: str, held: bool, why_not: str = "", *, part: str = "") -> None:
        """Write down an expectation that was looked at just now. Raises ExpectationFailed."""
        self._conclude(ExpectationOutcome(expectation, held, 0.0, "" if held else why_not, part))

    def _conclude(self, outcome: ExpectationOutcome) -> None:
        self.record.add(outcome)
        self.printer.outcome(outcome)
        if not outcome.held:
            raise ExpectationFailed(outcome)

    # Why it was so

    async def tell_why(self, *about: str, reason: str) -> None:
        """Tell what our controller said about objects and was not told yet, as soon as it has given this reason."""
        try:
            await self.seen.until(
                lambda: any(event.reason == reason for event in self._untold(about)), limit=EVENT_LIMIT, what=reason
            )
        except NotInTime:
            return  # an Event is help for people, not a promise
        for event in sorted(self._untold(about), key=lambda event: event.event_time):
            self._told.add(event.uid)
            self.printer.reason(event.sentence)

    def _untold(self, about: Collection[str]) -> list[StoryEvent]:
        events = self.hub.list(StoryEvent)
        return [
            event for event in events if event.is_ours and event.uid not in self._told and event.regarding.name in about
        ]

    def _see(self, name: str, old: Object | None, new: Object | None) -> None:
        if name != HUB:
            self.monitor.see(name, old, new)


@dataclass(slots=True)
class SingleRunMonitor:
    """Told of every change on the workers; remembers where copies were, and every job that ran twice at a time."""

    copies: dict[str, set[str]] = field(default_factory=dict)
    """From each Workload to the workers on which a copy was ever seen."""
    running: dict[str, set[str]] = field(default_factory=dict)
    """From each job to the workers on which it runs now."""
    doubles: list[str] = field(default_factory=list)

    def see(self, cluster: str, old: Object | None, new: Object | None) -> None:
        """Take note of a change on a worker."""
        if isinstance(new, kueue.Workload):
            self.copies.setdefault(new.key, set()).add(cluster)
        changed = new or old
        if isinstance(changed, Job):
            self._see_job(cluster, changed, is_running=isinstance(new, Job) and is_running(new))

    def _see_job(self, cluster: str, job: Job, *, is_running: bool) -> None:
        where = self.running.setdefault(job.key, set())
        where.discard(cluster)
        if is_running:
            where.add(cluster)
            if len(where) > 1:
                self.doubles.append(f"{job.key} on {', '.join(sorted(where))}")


def is_running(job: Job) -> bool:
    """Tell whether a job may have pods: not suspended, and not ended."""
    return not job.spec.suspend and not job.has_ended
