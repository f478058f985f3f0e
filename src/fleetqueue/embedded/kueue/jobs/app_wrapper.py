"""AppWrappers: any objects together, whose pods are found by paths.

Mirrors: Kueue pkg/controller/jobs/appwrapper, appwrapper pkg/utils (GetPodTemplateSpec)
"""

from collections.abc import Sequence
from typing import Any, Final

from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.fields import value_at, with_value, without_field
from fleetqueue.api.job_kinds import APP_WRAPPER
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import pod_set
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo, as_fields
from fleetqueue.embedded.kueue.jobs.suspendable_jobs import SuspendableJobs
from fleetqueue.rules.app_wrappers import POD_INDEX, SUB_GROUP_INDEX, SUB_GROUPS, field_of, pod_sets_of
from fleetqueue.rules.job_endings import Ending, app_wrapper_ending

OF_PODS: Final = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "preemptionPolicy": "PreemptLowerPriority",
}
OF_CONTAINERS: Final = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
"""What an API server fills in: nobody has done so in what is wrapped."""
READ: Final = (
    "nodeSelector",
    "nodeName",
    "affinity",
    "tolerations",
    "priorityClassName",
    "overhead",
    "topologySpreadConstraints",
)
READ_OF_CONTAINERS: Final = ("name", "image", "command", "args", "resources", "securityContext", "imagePullPolicy")
"""What counts of a pod and of a container, beside what is filled in."""


class AppWrapperIntegration(SuspendableJobs):
    def __init__(self) -> None:
        super().__init__(APP_WRAPPER)

    def pod_sets(self, job: Manifest) -> list[Manifest]:
        wrapped = [
            (listed, template)
            for component in job["spec"].get("components") or ()
            for listed in pod_sets_of(component)
            if (template := _template(component, listed["path"])) is not None
        ]
        return [
            pod_set(f"{job['metadata']['name']}-{number}", template, listed.get("replicas", 1), **_topology(listed))
            for number, (listed, template) in enumerate(wrapped)
        ]

    def started(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        components = job["spec"].get("components") or []
        expected = sum(len(pod_sets_of(component)) for component in components)
        if len(infos) != expected:
            raise CannotStart(f"invalid podset infos: expecting {expected} podsets, got {len(infos)}")
        given = iter(infos)
        told = [
            {**component, "podSetInfos": [as_fields(next(given)) for _ in pod_sets_of(component)]}
            for component in components
        ]
        return self.job_kind.with_suspension(with_value(job, ("spec", "components"), told), suspend=False)

    def restored(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        for number in range(len(job["spec"].get("components") or ())):
            job = without_field(job, ("spec", "components", number, "podSetInfos"))
        return job

    def is_active(self, job: Manifest) -> bool:
        return is_true(job, "QuotaReserved")

    def ending(self, job: Manifest) -> Ending | None:
        return app_wrapper_ending(job)

    def pods_ready(self, job: Manifest) -> bool:
        return is_true(job, "PodsReady")


def _template(component: Manifest, path: str) -> Manifest | None:
    """Return what counts of the pods at a path; None where there are none."""
    field = field_of(path)
    found = value_at(component["template"], field) if field is not None else None
    if not isinstance(found, dict) or not isinstance(found.get("spec"), dict):
        return None
    spec, metadata = found["spec"], found.get("metadata") or {}
    kept = {name: metadata[name] for name in ("labels", "annotations") if metadata.get(name)}
    containers = {
        name: [_container(one) for one in spec[name]] for name in ("initContainers", "containers") if spec.get(name)
    }
    read = {name: spec[name] for name in (*READ, *OF_PODS) if spec.get(name) is not None}
    return {**({"metadata": kept} if kept else {}), "spec": {**OF_PODS, **read, **containers}}


def _container(container: Manifest) -> Manifest:
    read = {name: container[name] for name in (*READ_OF_CONTAINERS, *OF_CONTAINERS) if container.get(name) is not None}
    return {**OF_CONTAINERS, "imagePullPolicy": _pull_policy(container.get("image", "")), **read}


def _pull_policy(image: str) -> str:
    """Return when an image is pulled: always where it is the latest one, whatever that is then."""
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if "@" not in image and tag in ("", "latest") else "IfNotPresent"


def _topology(listed: Manifest) -> dict[str, Any]:
    notes = listed.get("annotations") or {}
    groups: dict[str, Any] = {
        field: notes[name]
        for field, name in (("podIndexLabel", POD_INDEX), ("subGroupIndexLabel", SUB_GROUP_INDEX))
        if name in notes
    }
    count = notes.get(SUB_GROUPS, "")
    return {**groups, "subGroupCount": int(count)} if count.isdecimal() else groups
