"""Put the objects of works onto the worker, and take away those that a work no longer names.

Reads:   ManifestWork of one cluster on the hub; AppliedManifestWork and the objects themselves on the worker
Writes:  the objects; AppliedManifestWork; of the work's status: Applied, and Applied of each manifest
Mirrors: OCM work/spoke/controllers/manifestcontroller

The agent does not follow the objects: those that somebody else changes or deletes are put right after minutes.
"""

from dataclasses import dataclass

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import is_true
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.work import applied_resources, manifest_rules, manifest_status, merging
from fleetqueue.embedded.ocm.work.agent import AgentController
from fleetqueue.embedded.ocm.work.appliers import Appliers, FieldsOwned
from fleetqueue.embedded.ocm.work.executors import AGAIN_AFTER, Executors, NotAllowed
from fleetqueue.embedded.ocm.work.manifest_status import Result
from fleetqueue.embedded.ocm.work.settings import WorkAgentSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import live_status, write_status


class RestMapper:
    """Which resource a kind is on a worker, asked of the worker when it is first needed, and remembered then."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[tuple[str, str], Resource] = {}

    async def find(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource of a kind, None where the worker does not serve it."""
        if (api_version, kind) not in self._known:
            await self._learn(api_version)
        return self._known.get((api_version, kind))

    async def _learn(self, api_version: str) -> None:
        group, _, version = api_version.rpartition("/")
        for plural, entry in (await self._client.served(api_version)).items():
            if "/" not in plural:
                resource = Resource(group, version, entry["kind"], plural, bool(entry["namespaced"]))
                self._known[api_version, entry["kind"]] = resource


log = Log("work")


@dataclass(slots=True)
class ApplyResult:
    """What came of a work, besides what its status says."""

    problem: Exception | None = None
    """What may be well the next time."""
    again_after: float = float("inf")


class ManifestWorkController(AgentController):
    name = "manifest-work"
    concurrency = 10

    def __init__(
        self,
        hub: Cluster,
        worker: Cluster,
        metrics: Metrics,
        settings: WorkAgentSettings,
        *,
        kinds: RestMapper,
        appliers: Appliers,
        executors: Executors,
    ) -> None:
        super().__init__(hub, worker, metrics, settings)
        self.kinds = kinds
        self.appliers = appliers
        self.executors = executors

    def subscribe(self) -> None:
        """Be woken by what is asked for only: what is said about it, by us or others, changes nothing."""
        self.worker.informer(work.AppliedManifestWork)
        self.hub.informer(work.ManifestWork, namespace=self.settings.cluster).subscribe(self._changed)

    def _changed(self, old: work.ManifestWork | None, new: work.ManifestWork | None) -> None:
        if new is not None and (old is None or _asked(old) != _asked(new)):
            self.queue.forget(new.name)
            self.wake(new.name)

    async def reconcile(self, key: str) -> None:
        this = self.find(key)
        if this is None or this.is_deleting or work.WORK_FINALIZER not in this.metadata.finalizers:
            return
        if is_true(this.status.conditions, work.COMPLETE):
            return
        applied = await self._ensure_applied_work(this)
        outcome = ApplyResult()
        results = [
            await self._apply_one(this, ordinal, manifest, applied, outcome)
            for ordinal, manifest in enumerate(this.spec.workload.manifests)
        ]
        recorded = await self._recorded(applied, results, outcome)
        await self._write_status(this, results)
        await self._write_applied(applied, recorded)
        if outcome.problem is not None:
            raise outcome.problem
        resync = clock.between(self.settings.resync, 1.5 * self.settings.resync)
        raise errors.RetryLater(min(outcome.again_after, resync), "objects may have been changed on the worker")

    async def _ensure_applied_work(self, this: work.ManifestWork) -> work.AppliedManifestWork:
        applied_work = self.find_applied(this.name)
        spec = {
            "hubHash": self.settings.hub_hash,
            "agentID": self.settings.id,
            "manifestWorkName": this.name,
        }
        resource = work.AppliedManifestWork.resource
        if applied_work is None:
            manifest = work.AppliedManifestWork.manifest(
                self.applied_name(this.name), labels=dict(this.metadata.labels), spec=spec
            )
            manifest["metadata"]["finalizers"] = [work.APPLIED_WORK_FINALIZER]
            applied_work = work.AppliedManifestWork.view(await self.worker.client.create(resource, manifest))
        elif (applied_work.spec.hub_hash, applied_work.spec.agent_id) != (spec["hubHash"], spec["agentID"]):
            changed = await self.worker.client.merge(
                resource, applied_work.name, "", {"metadata": applied_work.precondition, "spec": spec}
            )
            applied_work = work.AppliedManifestWork.view(changed)
        return applied_work

    # Objects

    async def _apply_one(
        self,
        this: work.ManifestWork,
        ordinal: int,
        manifest: Manifest,
        applied: work.AppliedManifestWork,
        outcome: ApplyResult,
    ) -> Result:
        """Apply one manifest; what goes wrong with it does not keep the others."""
        meta = manifest_rules.resource_meta(ordinal, manifest, None)
        try:
            resource = await self.kinds.find(manifest["apiVersion"], manifest["kind"])
            if resource is None:
                raise errors.BadRequest(f'the server doesn\'t have a resource type "{manifest["kind"]}"')
            meta = manifest_rules.resource_meta(ordinal, manifest, resource)
            if manifest_status.is_complete(meta, this.status.resource_status.manifests):
                return Result(meta, manifest)
            is_owned = manifest_rules.is_owned(meta, this.spec.delete_option)
            await self.executors.check(this.spec.executor, resource, manifest, is_owned=is_owned)
            owner = applied_resources.owner_of(applied)
            strategy = manifest_rules.config_of(meta, this.spec.manifest_configs).update_strategy
            live = await self.appliers.apply(
                resource, manifest, owner if is_owned else merging.removing(owner), strategy or work.UpdateStrategy()
            )
        except NotAllowed as error:
            outcome.again_after = min(outcome.again_after, AGAIN_AFTER)
            return Result(meta, error=str(error))
        except FieldsOwned as error:
            return Result(meta, error=str(error))
        except ValueError as error:
            outcome.problem = outcome.problem or errors.TerminalError(f"{this} cannot be applied: {error}")
            return Result(meta, error=str(error))
        except (errors.ApiError, errors.Unreachable) as error:
            outcome.problem = outcome.problem or error
            return Result(meta, error=str(error))
        return Result(meta, live)

    # What is kept of it

    async def _recorded(
        self, applied: work.AppliedManifestWork, results: list[Result], outcome: ApplyResult
    ) -> list[work.AppliedResource] | None:
        """Delete what the work no longer names; return what is there now, None where that is not known."""
        if applied.is_deleting or not results:
            return None
        client = self.worker.client
        try:
            wanted = await applied_resources.record(client, results)
        except (errors.ApiError, errors.Unreachable) as error:
            outcome.problem = outcome.problem or error
            return None
        unwanted = applied_resources.no_longer_wanted(applied.status.applied_resources, wanted)
        left = await applied_resources.delete(client, self.appliers, unwanted, applied_resources.owner_of(applied))
        if left.error is not None:
            outcome.problem = outcome.problem or left.error
        elif left.resources:
            outcome.again_after = min(outcome.again_after, applied_resources.LOOK_AGAIN)
        return applied_resources.in_order([*wanted, *left.resources])

    async def _write_applied(
        self, applied: work.AppliedManifestWork, resources: list[work.AppliedResource] | None
    ) -> None:
        if resources is not None:
            live, wanted = map(applied_resources.status_of, (applied.status.applied_resources, resources))
            await write_status(self.worker, applied, live, wanted)

    async def _write_status(self, this: work.ManifestWork, results: list[Result]) -> None:
        live = live_status(self.hub, this)
        if not results and not live:
            return  # a work without manifests, of which nothing is said
        generation, now = this.metadata.generation, clock.now()
        known = (live.get("resourceStatus") or {}).get("manifests") or []
        condition = manifest_status.work_applied(results, generation)
        wanted = {
            **live,
            "conditions": with_conditions(live.get("conditions") or [], [condition] if condition else [], now),
            "resourceStatus": {"manifests": manifest_status.applied(results, known, generation, now)},
        }
        if await write_status(self.hub, this, live, wanted):
            failed = sum(bool(result.error) for result in results)
            log.info("work applied", work=this.key, objects=len(results), failed=failed)


def _asked(this: work.ManifestWork) -> tuple[int, dict[str, str], bool, bool]:
    """What a work asks for: another generation, other labels, or that it may be worked on at all."""
    is_ready = work.WORK_FINALIZER in this.metadata.finalizers
    return this.metadata.generation, this.metadata.labels, is_ready, this.is_deleting
