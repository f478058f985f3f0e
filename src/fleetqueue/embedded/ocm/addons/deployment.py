"""Bring the agents of add-ons onto their clusters through ManifestWorks, and say how they are.

Reads:   ManagedClusterAddOn, ManagedCluster, AddOnTemplate, AddOnDeploymentConfig, ManifestWork
Writes:  ManifestWorks `addon-<name>-deploy-<n>` and `addon-<name>-pre-delete`; ManagedClusterAddOn: its finalizer, and
         of its status ManifestApplied, HookManifestCompleted, healthCheck and Available
Mirrors: addon-framework controllers/agentdeploy, pkg/utils/probe_helper.go

How an agent is, is told by what its works say of the Deployments and DaemonSets in them.

An add-on is never deployed to a hosting cluster: upstream's add-ons of templates are not, either.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api.condition_lists import with_conditions, without_condition
from fleetqueue.api.conditions import FALSE, TRUE, UNKNOWN, Condition, find, is_true
from fleetqueue.api.meta import replacement, split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.work_v1 import APPLIED, AVAILABLE, ManifestCondition, ManifestWork
from fleetqueue.embedded.ocm.addons import agent_works, indexes, sources
from fleetqueue.embedded.ocm.addons.sources import NotReady
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import live_status, write_status

_WORKLOADS: Final = {("apps/v1", "Deployment"): "deployments", ("apps/v1", "DaemonSet"): "daemonsets"}
_READY: Final = ("ReadyReplicas", "NumberReady")
_DESIRED: Final = ("Replicas", "DesiredNumberScheduled")


def available(name: str, works: Sequence[ManifestWork], objects: Sequence[Manifest]) -> Condition:
    """Say whether an add-on is available, by its works and the objects that they shall hold."""
    if not works:
        return _said(UNKNOWN, "WorkNotFound", "Addon manifestWork is not found")
    for work in works:
        condition = find(work.status.conditions, AVAILABLE)
        if condition is None:
            return _said(UNKNOWN, "WorkNotApplied", "Addon manifestWork is not applied yet")
        if condition.status == FALSE:
            return _said(FALSE, "WorkNotApplied", condition.message)
    probed = [item for item in objects if _is_probed(item)]
    manifests = [
        item for work in works for item in work.status.resource_status.manifests if item.status_feedback.values
    ]
    results = [result for obj in probed for result in manifests if _is_of(result, obj)]
    if probed and not results:
        return _said(UNKNOWN, "NoProbeResult", "Probe results are not returned")
    problem = next((wrong for wrong in map(_problem, results) if wrong), "")
    if problem:
        return _said(FALSE, "ProbeUnavailable", f"Probe addon unavailable with err {problem}")
    return _said(TRUE, "ProbeAvailable", f"{name} add-on is available.")


def _is_probed(obj: Manifest) -> bool:
    kind = (obj["apiVersion"], obj["kind"])
    is_scaled_away = kind == ("apps/v1", "Deployment") and (obj.get("spec") or {}).get("replicas") == 0
    return kind in _WORKLOADS and not is_scaled_away


def _is_of(result: ManifestCondition, obj: Manifest) -> bool:
    meta, metadata = result.resource_meta, obj["metadata"]
    resource = _WORKLOADS[obj["apiVersion"], obj["kind"]]
    wanted = ("apps", resource, metadata.get("namespace", ""), metadata["name"])
    return (meta.group, meta.resource, meta.namespace, meta.name) == wanted


def _problem(result: ManifestCondition) -> str:
    """Say why something does not run as it shall; empty where it does."""
    meta = result.resource_meta
    values = {value.name: value.field_value.integer for value in result.status_feedback.values}
    ready = next((values[name] for name in _READY if values.get(name) is not None), None)
    desired = next((values[name] for name in _DESIRED if values.get(name) is not None), None)
    if ready is None:
        return "readyReplica is not probed"
    if desired is None:
        return "desiredNumberReplicas is not probed"
    is_well = (desired == 0 or ready >= 1) if meta.resource == "deployments" else ready == desired
    if is_well:
        return ""
    where = f"{meta.resource} {meta.namespace}/{meta.name}"
    return f"desiredNumberReplicas is {desired} but readyReplica is {ready} for {where}"


def _said(status: str, reason: str, message: str) -> Condition:
    return Condition(type=addon.AVAILABLE, status=status, reason=reason, message=message)


HOOK_DONE: Final = "HookManifestCompleted"
_MANIFESTS_APPLIED: Final = Condition.true(
    addon.MANIFEST_APPLIED, "AddonManifestApplied", "manifests of addon are applied successfully"
)
_NOTHING_TO_APPLY: Final = Condition.true(addon.MANIFEST_APPLIED, "AddonManifestApplied", "no manifest need to apply")
_MANIFESTS_FAILED: Final = Condition.false(
    addon.MANIFEST_APPLIED, "AddonManifestAppliedFailed", "failed to apply the manifests of addon"
)

log = Log("add-ons")


class AddOnDeployController(Controller):
    """A key is an add-on on a cluster."""

    name = "add-on-deployment"
    concurrency = 2

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(addon.ManagedClusterAddOn, by_key),
            Watch(ManifestWork, indexes.add_on_of),
            Watch(cluster.ManagedCluster, lambda managed_cluster: self._on(managed_cluster.name)),
        )

    def subscribe(self) -> None:
        indexes.add_indexes(self.hub)
        self.hub.informer(addon.AddOnTemplate)
        self.hub.informer(addon.AddOnDeploymentConfig)
        super().subscribe()

    def _on(self, name: str) -> list[str]:
        return [add_on.key for add_on in self.hub.list(addon.ManagedClusterAddOn, name)]

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        this = self.hub.get(addon.ManagedClusterAddOn, name, namespace)
        owner = self.hub.get(cluster.ManagedCluster, namespace)
        if this is None or owner is None or not this.is_from_template:
            return
        if find(this.status.conditions, addon.REGISTRATION_APPLIED) is None:
            return
        has_hook = addon.PRE_DELETE_HOOK in this.metadata.finalizers
        if not has_hook and (this.is_deleting or owner.is_deleting):
            return
        if not is_true(this.status.conditions, addon.CONFIGURED):
            return
        try:
            objects = sources.objects_of(self.hub, this, owner)
        except NotReady as error:
            condition = _not_applied(f"failed to get manifest from agent interface: {error}")
            await self._write(this, [condition])
            raise errors.TerminalError(f"{this} cannot be deployed: {error}") from error
        if await self._keep_hook(this, objects):
            await self._deploy(this, owner, objects)

    async def _deploy(
        self, this: addon.ManagedClusterAddOn, owner: cluster.ManagedCluster, objects: list[Manifest]
    ) -> None:
        """Bring the works to what they shall be; then say whether they are applied, and how the add-on is."""
        wanted = self._wanted(this, objects)
        live = {work.name: work for work in self._works(this)}
        names = {manifest["metadata"]["name"] for manifest in wanted}
        for name, work in live.items():
            if name not in names and not work.is_deleting:
                await self.hub.client.delete(work.resource, work.name, work.namespace, uid=work.uid)
        applied = [await self._ensure(manifest, live.get(manifest["metadata"]["name"])) for manifest in wanted]
        conditions = [_applied(applied)] if wanted else [_NOTHING_TO_APPLY]
        kept = find(this.status.conditions, addon.MANIFEST_APPLIED)
        is_known = conditions[0] is not None or (kept is not None and kept.is_true)
        reachable = find(owner.status.conditions, cluster.AVAILABLE)
        if is_known and (reachable is None or reachable.status != UNKNOWN):
            conditions.append(available(this.name, self._works(this), objects))
        await self._write(this, conditions)

    def _wanted(self, this: addon.ManagedClusterAddOn, objects: list[Manifest]) -> list[Manifest]:
        template = sources.template_of(self.hub, this)
        configs = template.spec.agent_spec.get("manifestConfigs") or []
        existing = [
            (work.name, [dict(manifest) for manifest in work.spec.workload.manifests]) for work in self._works(this)
        ]
        return agent_works.deploy_works(this, objects, configs, existing)

    def _works(self, this: addon.ManagedClusterAddOn) -> list[ManifestWork]:
        works = indexes.works_of(self.hub, this)
        return [work for work in works if work.name.startswith(agent_works.prefix(this))]

    async def _ensure(self, manifest: Manifest, live: ManifestWork | None) -> ManifestWork:
        metadata = manifest["metadata"]
        if live is None:
            made = await self.hub.client.create(ManifestWork.resource, manifest)
            log.info("work created", work=metadata["name"], cluster=metadata["namespace"])
            return ManifestWork.view(made)
        raw = self.hub.raw(live)
        kept = ("labels", "annotations", "ownerReferences")
        have = {name: raw["metadata"].get(name) or {} for name in kept}
        patch = replacement(
            {"metadata": have, "spec": raw.get("spec") or {}},
            {"metadata": {name: metadata.get(name) or {} for name in kept}, "spec": _defaulted(manifest["spec"])},
        )
        if not patch:
            return live
        patch["metadata"] = {**patch.get("metadata", {}), **live.precondition}
        changed = await self.hub.client.merge(live.resource, live.name, live.namespace, patch)
        log.info("work changed", work=live.name, cluster=live.namespace)
        return ManifestWork.view(changed)

    # What runs before an add-on goes

    async def _keep_hook(self, this: addon.ManagedClusterAddOn, objects: list[Manifest]) -> bool:
        """Hold the add-on until what it wants to run before it goes has ended; return whether it lives on."""
        hook = agent_works.hook_work(this, objects)
        if hook is None:
            await self.hub.remove_finalizer(this, addon.PRE_DELETE_HOOK)
            return not this.is_deleting
        if not this.is_deleting:
            return not await self.hub.add_finalizer(this, addon.PRE_DELETE_HOOK)
        work = await self._ensure(hook, self.hub.get(ManifestWork, agent_works.hook_name(this), this.namespace))
        if agent_works.is_hook_done(work):
            await self.hub.remove_finalizer(this, addon.PRE_DELETE_HOOK)
            return False
        message = f"hook manifestWork {work.name} is not completed."
        await self._write(this, [Condition.false(HOOK_DONE, "HookManifestIsNotCompleted", message)])
        return False

    async def _write(self, this: addon.ManagedClusterAddOn, updated_conditions: Iterable[Condition | None]) -> None:
        live = live_status(self.hub, this)
        given = [condition for condition in updated_conditions if condition is not None]
        conditions = live.get("conditions") or []
        kept = find(this.status.conditions, addon.MANIFEST_APPLIED)
        if (
            kept is not None
            and not kept.is_true
            and all(condition.type != addon.MANIFEST_APPLIED for condition in given)
        ):
            conditions = without_condition(conditions, addon.MANIFEST_APPLIED)  # what failed is tried again
        wanted = {
            **live,
            "healthCheck": {"mode": addon.CUSTOMIZED},
            "conditions": with_conditions(conditions, given, clock.now()),
        }
        await write_status(self.hub, this, live, wanted)


def _applied(works: list[ManifestWork]) -> Condition | None:
    """Say what the last work says; while it says nothing, nothing is said."""
    conditions = [find(work.status.conditions, APPLIED) for work in works]
    known = [condition for condition in conditions if condition is not None]
    if not known:
        return None
    return _MANIFESTS_APPLIED if known[-1].is_true else _MANIFESTS_FAILED


def _not_applied(message: str) -> Condition:
    return Condition.false(addon.MANIFEST_APPLIED, "ManifestWorkApplyFailed", message)


def _defaulted(spec: Manifest) -> Manifest:
    """Write out what the API server fills in, so that it is not taken away again."""
    configs = []
    for config in spec.get("manifestConfigs") or ():
        strategy = (
            {"updateStrategy": {"type": "Update", **config["updateStrategy"]}} if "updateStrategy" in config else {}
        )
        configs.append({"feedbackScrapeType": "Poll", **config, **strategy})
    return {**spec, "manifestConfigs": configs} if configs else spec
