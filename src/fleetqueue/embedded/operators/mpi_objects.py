"""What an MPIJob is made of: a Job that launches, the pods that it reaches, and the Service that names them.

Mirrors: mpi-operator pkg/controller/mpi_job_controller.go (newLauncherJob, newWorker, newService)

Left out: what only a process would read, which is the host file, the keys with which one logs in to another, and the
environment.
"""

from typing import Final

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.job_kinds import MPIJob
from fleetqueue.api.meta import replacement
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.children import Service, owned
from fleetqueue.embedded.operators.plan import Patch
from fleetqueue.embedded.operators.training_kinds import (
    EXIT_CODE,
    JOB_NAME,
    NEVER,
    ON_FAILURE,
    OPERATOR,
    REPLICA_INDEX,
    ROLE,
)

APP: Final = "app"
"""The label with which an MPIJob's Job and Service name it; its pods have that of other training jobs."""
LAUNCHER, WORKER = "Launcher", "Worker"
DEFAULT_POLICY: Final = {LAUNCHER: ON_FAILURE, WORKER: NEVER}
DIRECTIVES: Final = ("nodeSelector", "tolerations", "schedulingGates")
"""What Kubernetes lets somebody change in the pods of a Job that is suspended."""


def launcher_name(job: Manifest) -> str:
    return f"{job['metadata']['name']}-launcher"


def worker_name(job: Manifest, index: int) -> str:
    return f"{job['metadata']['name']}-worker-{index}"


def launcher_of(job: Manifest, *, is_suspended: bool) -> Manifest:
    policy = job["spec"].get("runPolicy") or {}
    limits = ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")
    spec = {
        **{name: policy[name] for name in limits if policy.get(name) is not None},
        "template": launcher_template(job),
        "podReplacementPolicy": "Failed",
        **({"suspend": True} if is_suspended else {}),
    }
    return owned(
        job, MPIJob, Job.manifest(launcher_name(job), job["metadata"]["namespace"], labels=_app(job), spec=spec)
    )


def launcher_template(job: Manifest) -> Manifest:
    more = {REPLICA_INDEX: "0"} if job["spec"].get("runLauncherAsWorker") else {}
    return _template(job, LAUNCHER, launcher_name(job), more)


def worker_of(job: Manifest, index: int) -> Manifest:
    number = index + 1 if job["spec"].get("runLauncherAsWorker") else index
    template = _template(job, WORKER, worker_name(job, index), {REPLICA_INDEX: str(number)})
    metadata = template["metadata"]
    made = Pod.manifest(
        worker_name(job, index),
        job["metadata"]["namespace"],
        labels=metadata["labels"],
        annotations=metadata.get("annotations"),
        spec=template["spec"],
    )
    return owned(job, MPIJob, made)


def service_of(job: Manifest) -> Manifest:
    """Make the Service under which a launcher and its workers know each other."""
    metadata = job["metadata"]
    spec = {
        "clusterIP": "None",
        "selector": {OPERATOR: "mpi-operator", JOB_NAME: metadata["name"]},
        "publishNotReadyAddresses": bool(job["spec"].get("runLauncherAsWorker")),
    }
    return owned(job, MPIJob, Service.manifest(metadata["name"], metadata["namespace"], labels=_app(job), spec=spec))


def resumed(job: Manifest, launcher: Manifest) -> list[Patch]:
    """Let a launcher run with what its MPIJob says of its pods now. A Job that was started is changed only after that
    was forgotten."""
    live, wanted = launcher["spec"]["template"], launcher_template(job)
    metadata = {
        field: wanted["metadata"][field] for field in ("labels", "annotations") if wanted["metadata"].get(field)
    }
    given = {field: live["spec"][field] for field in DIRECTIVES if live["spec"].get(field)}
    directives = {field: wanted["spec"][field] for field in DIRECTIVES if wanted["spec"].get(field)}
    template = {"metadata": metadata, "spec": replacement(given, directives)}
    patches = [Patch({"spec": {"suspend": False, "template": template}})]
    if (launcher.get("status") or {}).get("startTime"):
        return [Patch({"status": {"startTime": None}}, "status"), *patches]
    return patches


def _template(job: Manifest, role: str, host: str, more: dict[str, str]) -> Manifest:
    replica = job["spec"]["mpiReplicaSpecs"][role]
    template, policy = replica["template"], replica.get("restartPolicy") or DEFAULT_POLICY[role]
    given = template.get("metadata") or {}
    own = {OPERATOR: "mpi-operator", JOB_NAME: job["metadata"]["name"], ROLE: role.lower(), **more}
    return {
        "metadata": {
            "labels": {**(given.get("labels") or {}), **own},
            **({"annotations": given["annotations"]} if given.get("annotations") else {}),
        },
        "spec": {
            **(template.get("spec") or {}),
            "hostname": host,
            "subdomain": job["metadata"]["name"],
            "restartPolicy": NEVER if policy == EXIT_CODE else policy,
        },
    }


def _app(job: Manifest) -> dict[str, str]:
    return {APP: job["metadata"]["name"]}
