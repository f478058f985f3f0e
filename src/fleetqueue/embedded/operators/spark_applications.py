"""Run SparkApplications: a driver, and executors once it runs; when the driver ends, the application has.

Reads:   SparkApplication, Pod with the label of one
Writes:  Pod (create, delete), SparkApplication status
Mirrors: spark-operator internal/controller/sparkapplication
Left out: restarts, its webhooks, services and web interfaces, and schedules.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.fields import value_at
from fleetqueue.api.job_kinds import SPARK_APPLICATION, SparkApplication
from fleetqueue.api.meta import controller_reference, key_of, precondition_of, replacement
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.spark_pods import DRIVER, EXECUTOR, pods_of, spark_template
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

APP: Final = "sparkoperator.k8s.io/app-name"
ROLE: Final = "spark-role"
BY_APP: Final = "spark application"
SUBMITTED, RUNNING, COMPLETED, FAILED = "SUBMITTED", "RUNNING", "COMPLETED", "FAILED"
SUSPENDING, SUSPENDED = "SUSPENDING", "SUSPENDED"
ENDED: Final = (COMPLETED, FAILED, "SUBMISSION_FAILED")
OF_PHASES: Final = {"Pending": "PENDING", "Running": RUNNING, "Succeeded": COMPLETED, "Failed": FAILED}

log = Log("spark")


@dataclass(slots=True)
class SparkPlan:
    status: Manifest
    create: list[Manifest] = field(default_factory=list)
    delete: list[Pod] = field(default_factory=list)

    def go(self, state: str, message: str = "") -> None:
        self.status["applicationState"] = {"state": state, **({"errorMessage": message} if message else {})}


class SparkApplicationController(Controller):
    name = "spark applications"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.pods = hub.informer(Pod, labels=APP).store
        self.pods.add_index(BY_APP, _app_of)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(SparkApplication, by_key)
        yield Watch(Pod, _app_of, labels=APP, facts=lambda pod: (pod.status.phase, pod.is_deleting))

    async def reconcile(self, key: str) -> None:
        app = self.hub.informer(SparkApplication).store.raw(key)
        if app is None or "deletionTimestamp" in app["metadata"]:
            return  # its pods go with it
        uid = app["metadata"]["uid"]
        pods = {
            pod.name: pod for pod in self.pods.by_index(BY_APP, key) if pod.controller and pod.controller.uid == uid
        }
        result = plan(app, pods)
        for pod in result.delete:
            if not pod.is_deleting:
                await self.hub.client.delete(Pod.resource, pod.name, pod.namespace, uid=pod.uid)
        for manifest in result.create:
            await self.hub.client.create(Pod.resource, manifest)
            log.info("pod made", application=key, pod=manifest["metadata"]["name"])
        await self._write(app, result.status)

    async def _write(self, app: Manifest, status: Manifest) -> None:
        metadata, live = app["metadata"], app.get("status") or {}
        if status == live:
            return
        patch = {"metadata": precondition_of(metadata), "status": replacement(live, status)}
        where = metadata["name"], metadata["namespace"]
        await self.hub.client.merge(SparkApplication.resource, *where, patch, subresource="status")


def plan(app: Manifest, pods: Mapping[str, Pod]) -> SparkPlan:
    """Return what an application needs next, after its pods by their names."""
    result = SparkPlan({"driverInfo": {}, **(app.get("status") or {})})
    state = value_at(app, ("status", "applicationState", "state")) or ""
    if state in ENDED:
        result.delete = [pod for pod in pods.values() if _role(pod) == EXECUTOR and not pod.has_ended]
    elif SPARK_APPLICATION.is_suspended(app):
        _suspend(result, pods)
    elif state not in (SUBMITTED, RUNNING):
        if not pods:  # those of an earlier life have gone
            result.create = [_pod(app, DRIVER, driver_name(app))]
            result.status["driverInfo"] = {"podName": driver_name(app)}
            result.go(SUBMITTED)
    else:
        _follow(app, state, pods, result)
    return result


def driver_name(app: Manifest) -> str:
    return str(value_at(app, ("spec", DRIVER, "podName")) or f"{app['metadata']['name']}-driver")


def _suspend(result: SparkPlan, pods: Mapping[str, Pod]) -> None:
    result.delete = list(pods.values())
    if pods:
        result.go(SUSPENDING)
    else:
        result.status = {"driverInfo": {}}
        result.go(SUSPENDED)


def _follow(app: Manifest, state: str, pods: Mapping[str, Pod], result: SparkPlan) -> None:
    """Follow the driver; executors come when it runs."""
    driver = pods.get(driver_name(app))
    executors = {
        name: OF_PHASES.get(pod.status.phase, "UNKNOWN") for name, pod in pods.items() if _role(pod) == EXECUTOR
    }
    if executors:
        result.status["executorState"] = {**(result.status.get("executorState") or {}), **executors}
    if driver is None and state == SUBMITTED:
        result.create = [_pod(app, DRIVER, driver_name(app))]
    elif driver is None:
        result.go(FAILED, "driver pod not found")
    elif driver.status.phase == "Succeeded":
        result.go(COMPLETED)
    elif driver.status.phase == "Failed":
        result.go(FAILED, _why(driver))
    elif driver.status.phase == "Running":
        result.go(RUNNING)
        names = [f"{app['metadata']['name']}-exec-{number}" for number in range(1, pods_of(app, EXECUTOR) + 1)]
        result.create = [_pod(app, EXECUTOR, name) for name in names if name not in pods]


def _why(driver: Pod) -> str:
    ended = [status.state.terminated for status in driver.status.container_statuses if status.state.terminated]
    if not ended:
        return "driver container status missing"
    return f"driver container failed with ExitCode: {ended[0].exit_code}, Reason: {ended[0].reason}"


def _pod(app: Manifest, role: str, name: str) -> Manifest:
    metadata, template = app["metadata"], spark_template(app, role)
    image = value_at(app, ("spec", role, "image")) or value_at(app, ("spec", "image")) or "spark"
    first, *others = template["spec"]["containers"]
    containers = [{**first, "image": image}, *others]
    given = template.get("metadata") or {}
    made = Pod.manifest(
        name,
        metadata["namespace"],
        labels={**(given.get("labels") or {}), APP: metadata["name"], ROLE: role},
        annotations=given.get("annotations"),
        spec={**template["spec"], "containers": containers, "restartPolicy": "Never"},
    )
    made["metadata"]["ownerReferences"] = [
        controller_reference(SparkApplication.resource, metadata["name"], metadata["uid"])
    ]
    return made


def _role(pod: Pod) -> str:
    return pod.metadata.labels.get(ROLE, "")


def _app_of(pod: Pod) -> Iterable[str]:
    if name := pod.metadata.labels.get(APP):
        yield key_of(pod.namespace, name)
