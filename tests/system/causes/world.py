"""A fleet in which one thing after the other is broken and mended: what does `explain` say of a job meanwhile?"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from fleetqueue import clock
from fleetqueue.admin import cluster_sets
from fleetqueue.admin.causes import Cause
from fleetqueue.admin.hub_state import look
from fleetqueue.admin.inventory import listed
from fleetqueue.admin.job_causes import cause_of
from fleetqueue.admin.job_names import job_name
from fleetqueue.admin.step_commands import CONTEXT, commands_of
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import Deployment
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, KUEUE_NAMESPACE
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.embedded_environment import set_up
from fleetqueue.fleets.real_environment import CLUSTER_SET
from fleetqueue.fleets.systems.parts import create_all
from fleetqueue.testing import virtual_time
from fleetqueue.testing.builders import pod_template
from fleetqueue.testing.virtual_time import advance
from tests.invariants.reasons import check_answers, says_nothing
from tests.system.printed_commands import Terminal

from .agreement import Moment, moment

NO_WORKLOAD = Cause("NoWorkload", "it is not there", "wait")
STEP = 5.0
"""Seconds between two questions."""
RUNS = "fleetqueue.dev/run-for"
RARE_SCORES = ("--set=scores.publish_interval=60", "--set=scores.refresh=120", "--set=scores.validity=900")
"""No case is about scores, and hours pass."""


WORKERS = ("cluster1", "cluster2", "cluster3")
LAST = WORKERS[-1]
"""The worker that is tainted, cut and changed; it alone has the label of its name."""
ONLY_LAST = {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"name": LAST}}}}]}


@dataclass(frozen=True)
class Answer(Cause):
    """What was said of a job, and what our controllers told of it then."""

    moment: Moment | None = field(default=None, repr=False)

    @property
    def told_by(self) -> set[str]:
        return self.moment.tellers if self.moment is not None else set()


@dataclass
class Place:
    """One case's own namespace, queues, checks and Placement, on a fleet that all cases share."""

    fleet: EmbeddedFleet
    name: str
    seen: list[Cause] = field(default_factory=list)
    """What was said of the job when it was as expected."""
    annotations: dict[str, str] = field(default_factory=dict)
    """Those of the next job."""

    @property
    def hub(self) -> Client:
        return self.fleet.hub.client()

    @property
    def terminal(self) -> Terminal:
        return Terminal({name: cluster.client() for name, cluster in self.fleet.clusters.items()})

    @property
    def workers(self) -> list[Client]:
        return [worker.client() for worker in self.fleet.workers]

    async def arrange(self) -> None:
        """Make all that a job of this case needs, with nothing wrong."""
        await create_all(self.hub, [*self.queues(is_hub=True), *self.checks()])
        for worker in self.workers:
            await create_all(worker, self.queues(is_hub=False))

    def queues(self, *, is_hub: bool) -> list[Manifest]:
        quota = {"name": "cpu", "nominalQuota": "4"}
        groups = [{"coveredResources": ["cpu"], "flavors": [{"name": self.name, "resources": [quota]}]}]
        strategy = {"admissionChecks": [{"name": self.name}, {"name": f"{self.name}-mk"}]}
        spec: dict[str, Any] = {"namespaceSelector": {}, "resourceGroups": groups}
        return [
            Namespace.manifest(self.name),
            kueue.ResourceFlavor.manifest(self.name, spec={}),
            kueue.ClusterQueue.manifest(
                self.name, spec={**spec, **({"admissionChecksStrategy": strategy} if is_hub else {})}
            ),
            kueue.LocalQueue.manifest("q", self.name, spec={"clusterQueue": self.name}),
        ]

    def checks(self) -> list[Manifest]:
        kinds = {
            self.name: (CHECK_CONTROLLER, cluster.GROUP, "Placement"),
            f"{self.name}-mk": (kueue.MULTIKUEUE_CONTROLLER, kueue.GROUP, "MultiKueueConfig"),
        }
        made = [
            kueue.AdmissionCheck.manifest(
                check, spec={"controllerName": who, "parameters": {"apiGroup": group, "kind": kind, "name": self.name}}
            )
            for check, (who, group, kind) in kinds.items()
        ]
        return [cluster.Placement.manifest(self.name, KUEUE_NAMESPACE, spec={"clusterSets": [CLUSTER_SET]}), *made]

    async def submit(
        self, name: str = "job", *, cpu: str = "1", run_for: str = "1h", gate: str = "", **more: Any
    ) -> None:
        """Create a Job on the hub; `more` is of its pod template's annotations."""
        annotations = {RUNS: run_for, **more.pop("annotations", {})}
        template = pod_template(annotations=annotations, requests={"cpu": cpu} if cpu else {})
        template["spec"] |= more.pop("pod", {})
        spec = {"template": template, "backoffLimit": 0, **more}
        own = {kueue.ADMISSION_GATED_BY: gate} if gate else {}
        manifest = Job.manifest(name, self.name, labels={kueue.QUEUE_LABEL: "q"}, annotations=own, spec=spec)
        await self.hub.create(Job.resource, manifest)

    async def submit_again(self, **more: Any) -> None:
        """Delete the job, and create it anew."""
        await self.delete_job()
        await self.submit(**more)

    async def delete_job(self) -> None:
        await self.hub.delete(Job.resource, "job", self.name)
        await advance(5)

    async def expect(self, code: str, *, within: float = 60.0) -> None:
        """Ask why the job is where it is until the code is this one, which must last; note what was said.

        It is what our controllers tell of the job as well.
        """
        cause = await self.until_it_is(code, within=within)
        await advance(STEP)
        last = await self.answer()
        self.seen.append(last)
        assert [one.code for one in (cause, last)] == [code, code], (cause, last)
        assert not says_nothing(cause.sentence)
        assert last.moment is None or not last.moment.unsaid(), (last, last.moment.unsaid())

    async def until_it_is(self, code: str, *, within: float = 60.0) -> Cause:
        """Ask why the job is where it is until the code is this one, or the time is over; return what is said then."""
        cause = await self.cause()
        until = clock.monotonic() + within
        while cause.code != code and clock.monotonic() < until:
            await advance(STEP)
            cause = await self.cause()
        return cause

    async def do_as_told(self) -> None:
        """Type the command that the last step names first, with the context of each worker that it names."""
        step = self.seen[-1].step
        command, *_ = commands_of(step)
        _, _, contexts = step.partition("with your context of ")
        for name in contexts.partition(";")[0].split(" or "):
            await self.terminal.enter(command.replace(CONTEXT, name))

    async def cause(self) -> Cause:
        found = await self.job_workloads()
        return cause_of(found[-1], await look(self.hub, self.name)) if found else NO_WORKLOAD

    async def answer(self) -> Answer:
        found = await self.job_workloads()
        now = await moment(self.hub, found[-1]) if found else None
        cause = cause_of(now.workload, now.hub) if now is not None else NO_WORKLOAD
        return Answer(cause.code, cause.sentence, cause.step, now)

    async def job_workloads(self) -> list[kueue.Workload]:
        workloads = await listed(self.hub, kueue.Workload, self.name)
        return [one for one in workloads if job_name(one) == "Job/job"]

    async def patch(self, kind: type[Object], name: str, patch: Manifest, namespace: str = "") -> None:
        await self.hub.merge(kind.resource, name, namespace, patch)

    async def patch_queue(self, spec: Manifest, *clients: Client) -> None:
        """Change the case's ClusterQueue, on the hub unless other clusters are given."""
        for client in clients or (self.hub,):
            await client.merge(kueue.ClusterQueue.resource, self.name, "", {"spec": spec})

    async def patch_placement(self, spec: Manifest) -> None:
        await self.patch(cluster.Placement, self.name, {"spec": spec}, KUEUE_NAMESPACE)

    async def scale(self, deployment: tuple[str, str], replicas: int) -> None:
        """Change how many pods a Deployment of the last worker has."""
        name, namespace = deployment
        await self.workers[-1].merge(Deployment.resource, name, namespace, {"spec": {"replicas": replicas}})

    async def workload(self) -> kueue.Workload:
        (found,) = await listed(self.hub, kueue.Workload, self.name)
        return found

    def quota(self, amount: str) -> Manifest:
        quota = {"name": "cpu", "nominalQuota": amount}
        flavors = [{"name": self.name, "resources": [quota]}]
        return {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}]}


Case = Callable[[Place], Awaitable[None]]


def tell(cases: dict[str, Case]) -> dict[str, list[Cause] | Exception]:
    """Play cases one after the other on one fleet in virtual time; return what was seen in each."""

    async def work() -> dict[str, list[Cause] | Exception]:
        async with EmbeddedFleet.open(3) as fleet:
            await set_up(fleet.hub, fleet.workers, lambda line: None, agent_settings=RARE_SCORES)
            await cluster_sets.bind(fleet.hub.client(), CLUSTER_SET, KUEUE_NAMESPACE)
            return {name: await _play(Place(fleet, name.replace("_", "-")), case) for name, case in cases.items()}

    return virtual_time.run(work())


async def mended(case: Case, place: Place) -> None:
    """Play a case, see that the job is admitted in the end, and take all away."""
    await place.patch(cluster.ManagedCluster, LAST, {"metadata": {"labels": {"name": LAST}}})
    await case(place)
    await place.expect("Admitted", within=600)
    await place.hub.delete(Namespace.resource, place.name)


async def _play(place: Place, case: Case) -> list[Cause] | Exception:
    try:
        await place.arrange()
        await case(place)
        await check_answers(place.hub)
    except Exception as error:
        return error
    return place.seen
