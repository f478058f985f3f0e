"""OCM's works: objects that the hub wants on a worker, what the worker did about them, and works for many workers.

The kinds of one API group stand in one file although their versions differ: v1alpha1 for replica sets, v1 for the rest.
"""

from datetime import datetime
from typing import Any, ClassVar

import msgspec

from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View
from fleetqueue.api.rollouts import RolloutStrategy
from fleetqueue.api.scheme import Manifest, Resource

GROUP = "work.open-cluster-management.io"
WORK_FINALIZER = "cluster.open-cluster-management.io/manifest-work-cleanup"
APPLIED_WORK_FINALIZER = "cluster.open-cluster-management.io/applied-manifest-work-cleanup"
REPLICA_SET_FINALIZER = f"{GROUP}/manifest-work-cleanup"
REPLICA_SET_LABEL = f"{GROUP}/manifestworkreplicaset"
"""On a ManifestWork: `namespace.name` of the replica set that made it."""
PLACEMENT_NAME_LABEL = f"{GROUP}/placementname"
CONFIG_SPEC_HASH = "open-cluster-management.io/config-spec-hash"
"""An annotation: of which configuration a work was made, or of which document an applied object."""
APPLIED, AVAILABLE, COMPLETE = "Applied", "Available", "Complete"
PROGRESSING, DEGRADED, DELETING = "Progressing", "Degraded", "Deleting"
UPDATE, CREATE_ONLY, SERVER_SIDE_APPLY, READ_ONLY = "Update", "CreateOnly", "ServerSideApply", "ReadOnly"
FOREGROUND, ORPHAN, SELECTIVELY_ORPHAN = "Foreground", "Orphan", "SelectivelyOrphan"


class ResourceIdentifier(View):
    """Names an object; in a configuration, name and namespace may hold `*`."""

    group: str = ""
    resource: str = ""
    name: str = ""
    namespace: str = ""


class IgnoreField(View):
    condition: str = ""
    json_paths: tuple[str, ...] = ()


class ServerSideApply(View):
    force: bool = False
    field_manager: str = ""
    ignore_fields: tuple[IgnoreField, ...] = ()


class UpdateStrategy(View):
    type: str = UPDATE
    server_side_apply: ServerSideApply = ServerSideApply()


class JsonPath(View):
    name: str = ""
    path: str = ""
    version: str = ""
    """Only of objects in this version; empty means any."""


class FeedbackRule(View):
    type: str = ""
    """`WellKnownStatus` or `JSONPaths`."""
    json_paths: tuple[JsonPath, ...] = ()


class ConditionRule(View):
    condition: str = ""
    type: str = ""
    """`CEL` or `WellKnownConditions`."""
    cel_expressions: tuple[str, ...] = ()
    message: str = ""
    message_expression: str = ""


class ManifestConfig(View):
    resource_identifier: ResourceIdentifier = ResourceIdentifier()
    feedback_rules: tuple[FeedbackRule, ...] = ()
    update_strategy: UpdateStrategy | None = None
    condition_rules: tuple[ConditionRule, ...] = ()
    feedback_scrape_type: str = ""
    """`Poll` or `Watch`; empty means Poll."""


class SelectivelyOrphans(View):
    orphaning_rules: tuple[ResourceIdentifier, ...] = ()


class DeleteOption(View):
    propagation_policy: str = FOREGROUND
    selectively_orphans: SelectivelyOrphans | None = None
    ttl_seconds_after_finished: int | None = None


class AccountReference(View):
    namespace: str = ""
    name: str = ""


class ExecutorSubject(View):
    type: str = ""
    service_account: AccountReference | None = None


class Executor(View):
    """As whom the objects of a work are applied."""

    subject: ExecutorSubject = ExecutorSubject()


class ManifestsTemplate(View):
    manifests: tuple[dict[str, Any], ...] = ()


class ManifestWorkSpec(View):
    workload: ManifestsTemplate = ManifestsTemplate()
    delete_option: DeleteOption | None = None
    manifest_configs: tuple[ManifestConfig, ...] = ()
    executor: Executor | None = None


class ResourceMeta(View):
    """Which object a manifest is, and where it stands in the work."""

    ordinal: int = 0
    group: str = ""
    version: str = ""
    kind: str = ""
    resource: str = ""
    """Empty where the worker does not serve the kind."""
    name: str = ""
    namespace: str = ""

    def written(self) -> Manifest:
        """Return it as it is written: every field, also the empty ones."""
        return {
            "ordinal": self.ordinal,
            "group": self.group,
            "version": self.version,
            "kind": self.kind,
            "resource": self.resource,
            "name": self.name,
            "namespace": self.namespace,
        }


class FieldValue(View):
    type: str = ""
    integer: int | None = None
    string: str | None = None
    boolean: bool | None = None
    json_raw: str | None = None


class FeedbackValue(View):
    name: str = ""
    field_value: FieldValue = FieldValue()


class StatusFeedback(View):
    values: tuple[FeedbackValue, ...] = ()


class ManifestCondition(View):
    """How one object of a work is."""

    resource_meta: ResourceMeta = ResourceMeta()
    status_feedback: StatusFeedback = StatusFeedback()
    conditions: tuple[Condition, ...] = ()


class ResourceStatus(View):
    manifests: tuple[ManifestCondition, ...] = ()


class ManifestWorkStatus(View):
    conditions: tuple[Condition, ...] = ()
    resource_status: ResourceStatus = ResourceStatus()


class ManifestWork(Object):
    """Objects that a worker shall hold, in the worker's namespace on the hub."""

    resource: ClassVar = Resource(GROUP, "v1", "ManifestWork", "manifestworks")

    spec: ManifestWorkSpec = ManifestWorkSpec()
    status: ManifestWorkStatus = ManifestWorkStatus()


class AppliedResource(View):
    group: str = ""
    version: str = ""
    resource: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Which object is meant, in whatever version it was applied."""
        return self.group, self.resource, self.namespace, self.name

    def written(self) -> Manifest:
        fields = {
            "group": self.group,
            "resource": self.resource,
            "name": self.name,
            "namespace": self.namespace,
            "version": self.version,
        }
        return {**fields, "uid": self.uid} if self.uid else fields


class AppliedManifestWorkSpec(View):
    hub_hash: str = ""
    agent_id: str = msgspec.field(name="agentID", default="")
    manifest_work_name: str = ""


class AppliedManifestWorkStatus(View):
    applied_resources: tuple[AppliedResource, ...] = ()
    eviction_start_time: datetime | None = None


class AppliedManifestWork(Object):
    """What an agent did for a work, on the worker; it owns the objects and answers for their deletion."""

    resource: ClassVar = Resource(GROUP, "v1", "AppliedManifestWork", "appliedmanifestworks", namespaced=False)

    spec: AppliedManifestWorkSpec = AppliedManifestWorkSpec()
    status: AppliedManifestWorkStatus = AppliedManifestWorkStatus()


class PlacementRef(View):
    name: str = ""
    rollout_strategy: RolloutStrategy = RolloutStrategy()


class ManifestWorkReplicaSetSpec(View):
    manifest_work_template: dict[str, Any] = {}
    """The spec of a ManifestWork, as it is written."""
    placement_refs: tuple[PlacementRef, ...] = ()
    cascade_deletion_policy: str = "Background"


class ManifestWorkReplicaSetStatus(View):
    conditions: tuple[Condition, ...] = ()


class ManifestWorkReplicaSet(Object):
    """One ManifestWork for each cluster that Placements choose."""

    resource: ClassVar = Resource(GROUP, "v1alpha1", "ManifestWorkReplicaSet", "manifestworkreplicasets")

    spec: ManifestWorkReplicaSetSpec = ManifestWorkReplicaSetSpec()
    status: ManifestWorkReplicaSetStatus = ManifestWorkReplicaSetStatus()
