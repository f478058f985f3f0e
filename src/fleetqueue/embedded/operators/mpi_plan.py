"""What an MPIJob needs next, and what it says of itself: its launcher's end is its end. No I/O.

Mirrors: mpi-operator pkg/controller/mpi_job_controller.go
"""

from collections.abc import Sequence

from fleetqueue.api.batch_v1 import COMPLETE
from fleetqueue.api.batch_v1 import FAILED as JOB_FAILED
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.events_v1 import NORMAL, WARNING
from fleetqueue.api.job_kinds import MPI_JOB
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.kubeflow_conditions import (
    CREATED,
    FAILED,
    RUNNING,
    SUCCEEDED,
    SUSPENDED,
    has_ended,
    tell,
)
from fleetqueue.embedded.operators.mpi_objects import (
    LAUNCHER,
    WORKER,
    launcher_name,
    launcher_of,
    resumed,
    service_of,
    worker_name,
    worker_of,
)
from fleetqueue.embedded.operators.plan import OperatorPlan, Patch, Seen, label, phase
from fleetqueue.embedded.operators.training_kinds import ROLE
from fleetqueue.rules.job_endings import job_ending


def plan(seen: Seen) -> OperatorPlan:
    """Return what is to be done about an MPIJob."""
    return _Mpi(seen).decided()


class _Mpi:
    """One MPIJob while it is decided about."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.job = seen.job
        self.policy: Manifest = seen.job["spec"].get("runPolicy") or {}
        self.is_suspended = MPI_JOB.is_suspended(seen.job)
        self.launcher = seen.child("Job", launcher_name(seen.job))
        self.workers = [pod for pod in seen.children["Pod"] if label(pod, ROLE) == "worker"]
        self.plan = OperatorPlan({"conditions": [], "replicaStatuses": {}, **seen.status})
        if not seen.status.get("conditions"):
            self._tell(CREATED, "Created", f"MPIJob {seen.key} is created.", event=NORMAL)

    def decided(self) -> OperatorPlan:
        status = self.plan.status
        if has_ended(status) and status.get("completionTime"):
            if (self.policy.get("cleanPodPolicy") or "None") != "None":
                self._remove_workers()
                status["replicaStatuses"] = {**status["replicaStatuses"], WORKER: {}}
            return self.plan
        if not self.is_suspended:
            status.setdefault("startTime", timestamp(self.seen.now))
        running = self._keep() if self.launcher is None or job_ending(self.launcher) is None else []
        self._align()
        if self.is_suspended:
            self._remove_workers()
        self._say_suspension()
        self._count(running)
        self._judge(running)
        return self.plan

    # What is done

    def _keep(self) -> Sequence[Manifest]:
        """Make what is missing; return the workers that are there, none of a job that is suspended."""
        if self.seen.child("Service", self.seen.name) is None:
            self.plan.create.append(service_of(self.job))
        there = [] if self.is_suspended else self._keep_workers()
        at_startup = self.job["spec"].get("launcherCreationPolicy", "AtStartup") == "AtStartup"
        if self.launcher is None and (at_startup or all(is_true(pod, "Ready") for pod in there)):
            self.plan.create.append(launcher_of(self.job, is_suspended=self.is_suspended))
        return there

    def _keep_workers(self) -> list[Manifest]:
        replica = self.job["spec"]["mpiReplicaSpecs"].get(WORKER) or {}
        wanted = {worker_name(self.job, index): index for index in range(replica.get("replicas", 0))}
        there = {pod["metadata"]["name"]: pod for pod in self.workers}
        made = [worker_of(self.job, index) for name, index in wanted.items() if name not in there]
        self.plan.create += made
        for name, pod in there.items():
            if name not in wanted:
                self.plan.remove(pod)
        return [*(pod for name, pod in there.items() if name in wanted), *made]

    def _align(self) -> None:
        """Suspend or resume the launcher as its job is."""
        if self.launcher is None:
            return
        is_suspended = bool(self.launcher["spec"].get("suspend"))
        if is_suspended and not self.is_suspended:
            self.plan.change.append((self.launcher, resumed(self.job, self.launcher)))
        elif self.is_suspended and not is_suspended:
            self.plan.change.append((self.launcher, [Patch({"spec": {"suspend": True}})]))

    def _remove_workers(self) -> None:
        keeps_ended = self.policy.get("cleanPodPolicy") == "Running"
        for pod in self.workers:
            if not keeps_ended or phase(pod) in ("Pending", "Running"):
                self.plan.remove(pod)

    # What is said

    def _say_suspension(self) -> None:
        told = any(condition["type"] == SUSPENDED for condition in self.plan.status["conditions"])
        if self.is_suspended:
            self._tell(SUSPENDED, "Suspended", "MPIJob suspended", event=NORMAL)
        elif told:
            before = self.plan.status["conditions"]
            self._tell(SUSPENDED, "Resumed", "MPIJob resumed", value="False", event=NORMAL)
            if self.plan.status["conditions"] != before:
                self.plan.status["startTime"] = timestamp(self.seen.now)

    def _count(self, workers: Sequence[Manifest]) -> None:
        phases = [phase(pod) for pod in workers]
        counts = {**self.plan.status["replicaStatuses"]}
        if self.launcher is not None:
            ending = job_ending(self.launcher)
            counts[LAUNCHER] = _count(
                active=self._launching() if ending is None else 0,
                succeeded=int(is_true(self.launcher, COMPLETE)),
                failed=(self.launcher.get("status") or {}).get("failed", 0),
            )
        counts[WORKER] = _count(
            active=phases.count("Running"), succeeded=phases.count("Succeeded"), failed=phases.count("Failed")
        )
        self.plan.status["replicaStatuses"] = counts

    def _judge(self, workers: Sequence[Manifest]) -> None:
        """Say what the launcher and its workers mean for the job."""
        if self.launcher is not None and is_true(self.launcher, COMPLETE):
            ended = self.launcher["status"].get("completionTime") or timestamp(self.seen.now)
            self.plan.status.setdefault("completionTime", ended)
            self._tell(SUCCEEDED, "Succeeded", f"MPIJob {self.seen.key} successfully completed.", event=NORMAL)
        elif self.launcher is not None and is_true(self.launcher, JOB_FAILED):
            self._fail(self.launcher)
        if self.is_suspended:
            self._tell(RUNNING, "Suspended", f"MPIJob {self.seen.key} is suspended.", value="False")
        elif has_ended(self.plan.status):
            self._say_never_ran()
        elif self._launching() and all(phase(pod) == "Running" for pod in workers):
            self._tell(RUNNING, "Running", f"MPIJob {self.seen.key} is running.", event=NORMAL)

    def _fail(self, launcher: Manifest) -> None:
        why = next(one for one in launcher["status"]["conditions"] if one["type"] == JOB_FAILED)
        reason = why.get("reason") or "MPIJobFailed"
        message = why.get("message") or f"MPIJob {self.seen.key} has failed"
        failed = [pod["status"] for pod in self._launchers() if phase(pod) == "Failed"]
        if reason == "BackoffLimitExceeded" and failed:
            reason = f"{reason}/{failed[-1].get('reason', '')}"
            message = f"{message}: {failed[-1].get('message', '')}"
        self.plan.status.setdefault("completionTime", timestamp(self.seen.now))
        tell(self.plan, self.seen.now, FAILED, reason, message, event=WARNING)

    def _say_never_ran(self) -> None:
        if not any(condition["type"] == RUNNING for condition in self.plan.status["conditions"]):
            message = f"MPIJob {self.seen.key} is finished but Running condition was never set."
            self._tell(RUNNING, "Running", message, value="False")

    def _tell(self, kind: str, reason: str, message: str, *, value: str = "True", event: str = "") -> None:
        tell(self.plan, self.seen.now, kind, f"MPIJob{reason}", message, value=value, event=event)

    def _launching(self) -> int:
        return sum(phase(pod) == "Running" for pod in self._launchers())

    def _launchers(self) -> list[Manifest]:
        pods = [pod for pod in self.seen.children["Pod"] if label(pod, ROLE) == "launcher"]
        return sorted(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")))


def _count(**numbers: int) -> dict[str, int]:
    return {name: number for name, number in numbers.items() if number}
