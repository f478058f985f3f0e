"""Say how far an add-on on a cluster is with its configurations, and which of them it has.

Reads:   ManagedClusterAddOn, ClusterManagementAddOn, ManifestWork
Writes:  ManagedClusterAddOn status: the condition Progressing, lastAppliedConfig
Mirrors: OCM pkg/addon/controllers/addonprogressing
"""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from fleetqueue import clock
from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import FALSE, TRUE, Condition, find
from fleetqueue.api.meta import split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.work_v1 import APPLIED, AVAILABLE, CONFIG_SPEC_HASH, ManifestWork
from fleetqueue.embedded.ocm.addons import agent_works, indexes
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.statuses import live_status, write_status

COMPLETED = "Completed"


class ProgressController(Controller):
    """A key is an add-on on a cluster."""

    name = "add-on-progress"
    concurrency = 2

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(addon.ManagedClusterAddOn, by_key),
            Watch(addon.ClusterManagementAddOn, lambda add_on: self._named(add_on.name)),
            Watch(ManifestWork, indexes.add_on_of),
        )

    def subscribe(self) -> None:
        indexes.add_indexes(self.hub)
        super().subscribe()

    def _named(self, name: str) -> list[str]:
        return [add_on.key for add_on in indexes.installed(self.hub, name)]

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        this = self.hub.get(addon.ManagedClusterAddOn, name, namespace)
        of = self.hub.get(addon.ClusterManagementAddOn, name)
        if this is None or of is None or not of.is_ours:
            return
        live = live_status(self.hub, this)
        condition = progressing(this, live.get("supportedConfigs") or [], indexes.works_of(self.hub, this))
        wanted = {**live, "conditions": with_conditions(live.get("conditions") or [], [condition], clock.now())}
        if condition.reason == COMPLETED and live.get("configReferences"):
            wanted["configReferences"] = [
                {**reference, "lastAppliedConfig": reference["desiredConfig"]} for reference in live["configReferences"]
            ]
        await write_status(self.hub, this, live, wanted)


def progressing(
    this: addon.ManagedClusterAddOn, supported: Sequence[Manifest], works: Sequence[ManifestWork]
) -> Condition:
    """Say what an add-on waits for, or that it has all."""
    kinds = {(supported_config["group"], supported_config["resource"]) for supported_config in supported}
    for config in this.spec.configs:
        if (config.group, config.resource) not in kinds:
            what = f"{config.group}/{config.resource}"
            message = f"Configuration with gvr {what} is not supported for this addon"
            return _said(FALSE, "ConfigurationUnsupported", message)
    if find(this.status.conditions, addon.MANIFEST_APPLIED) is None:
        message = "Waiting for ManagedClusterAddOn ManifestApplied condition"
        return _said(FALSE, "WaitingForManifestApplied", message)
    waits_for = _waits_for(this, works)
    if waits_for:
        return _said(TRUE, "Progressing", f"progressing... {waits_for}")
    return _said(FALSE, COMPLETED, "completed with no errors.")


def _waits_for(this: addon.ManagedClusterAddOn, works: Sequence[ManifestWork]) -> str:
    if not works:
        return "no addon works"
    for work in works:
        if work.name.startswith(agent_works.hook_name(this)):
            continue
        if not _is_made_of(work, this):
            return "mca and work configs mismatch"
        if not _is_ready(work):
            return "work is not ready"
    return ""


def _is_made_of(work: ManifestWork, this: addon.ManagedClusterAddOn) -> bool:
    """Tell whether a work was made of the configurations that are meant now."""
    written = work.metadata.annotations.get(CONFIG_SPEC_HASH)
    if written is None:
        return not this.status.config_references
    try:
        hashes = orjson.loads(written)
    except orjson.JSONDecodeError:
        return False
    wanted = agent_works.config_hashes(this)
    return hashes == wanted and all(wanted.values())


def _is_ready(work: ManifestWork) -> bool:
    conditions = [find(work.status.conditions, kind) for kind in (AVAILABLE, APPLIED)]
    return all(
        condition is not None and condition.is_true and condition.observed_generation == work.metadata.generation
        for condition in conditions
    )


def _said(status: str, reason: str, message: str) -> Condition:
    return Condition(type=addon.PROGRESSING, status=status, reason=reason, message=message)
