"""What a training job needs next, and what it says of itself. No I/O.

Mirrors: training-operator pkg/controller.v1/common/job.go and the UpdateJobStatus of each kind

Left out: gang scheduling, and autoscalers of elastic PyTorch jobs.
"""

from collections.abc import Sequence
from typing import Any, Final

from fleetqueue.api.conditions import timestamp
from fleetqueue.api.events_v1 import NORMAL, WARNING
from fleetqueue.api.fields import value_at
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.kubeflow_conditions import (
    CREATED,
    FAILED,
    RESTARTING,
    RUNNING,
    SUCCEEDED,
    SUSPENDED,
    has,
    has_ended,
    tell,
)
from fleetqueue.embedded.operators.plan import OperatorPlan, Seen, is_deleting, label, phase, seconds_since
from fleetqueue.embedded.operators.training_kinds import (
    EXIT_CODE,
    NEVER,
    REPLICA_INDEX,
    REPLICA_TYPE,
    WORKER,
    TrainingKind,
)
from fleetqueue.embedded.operators.training_pods import pod_of, policy_of, replica_labels, service_of

RETRYABLE: Final = 128
"""The first exit code with which a pod is made anew where its role restarts by exit code: a signal ended it."""
LIVING: Final = ("Pending", "Running")


def plan(kind: TrainingKind, seen: Seen) -> OperatorPlan:
    """Return what is to be done about a job."""
    return _Training(kind, seen).decided()


class _Training:
    """One job while it is decided about."""

    def __init__(self, kind: TrainingKind, seen: Seen) -> None:
        self.kind = kind
        self.seen = seen
        self.job = seen.job
        self.policy: Manifest = seen.job["spec"].get("runPolicy") or {}
        by_role = value_at(seen.job, kind.job_kind.replicas) or {}
        self.roles: dict[str, Manifest] = {role: by_role[role] for role in kind.job_kind.roles if by_role.get(role)}
        self.pods = seen.children["Pod"]
        self.plan = OperatorPlan({"conditions": [], "replicaStatuses": {}, **seen.status})
        self._tell(CREATED, CREATED, f"{kind.name} {seen.name} is created.")

    def decided(self) -> OperatorPlan:
        if has_ended(self.plan.status):
            self._clean_up()
        elif self.kind.job_kind.is_suspended(self.job):
            self._stop()
        else:
            self._run()
        return self.plan

    # What is done

    def _clean_up(self) -> None:
        """Take away what a job that has ended need not have, and the job itself when its time to live is over."""
        choice = self.policy.get("cleanPodPolicy") or "None"
        if choice != "None":
            self._remove([pod for pod in self.pods if choice == "All" or phase(pod) in LIVING])
        if has(self.plan.status, SUCCEEDED):
            self.plan.status["replicaStatuses"] = {
                role: _counted(count, active=0, succeeded=count.get("succeeded", 0) + count.get("active", 0))
                for role, count in self.plan.status["replicaStatuses"].items()
            }
        keep, completed = self.policy.get("ttlSecondsAfterFinished"), self.plan.status.get("completionTime")
        if keep is not None and completed:
            left = keep - seconds_since(completed, self.seen.now)
            self.plan.deletes_itself = left <= 0
            self.plan.wait(left)

    def _stop(self) -> None:
        self._remove(self.pods)
        counts = self.plan.status["replicaStatuses"]
        self.plan.status["replicaStatuses"] = {role: _counted(count, active=0) for role, count in counts.items()}
        message = f"{self.kind.name} {self.seen.name} is suspended."
        if has(self.plan.status, RUNNING):
            self._tell(RUNNING, SUSPENDED, message, value="False")
        if not has(self.plan.status, SUSPENDED):
            self._tell(SUSPENDED, SUSPENDED, message, event=NORMAL)

    def _run(self) -> None:
        if has(self.plan.status, SUSPENDED):
            message = f"{self.kind.name} {self.seen.name} is resumed."
            self._tell(SUSPENDED, "Resumed", message, value="False", event=NORMAL)
            self.plan.status["startTime"] = timestamp(self.seen.now)
        why = self._why_over()
        if why:
            self._remove(self.pods)
            self._end(FAILED, f"Job {self.seen.name} has failed because {why}")
            return
        self.plan.status["replicaStatuses"] = {role: self._keep(role, spec) for role, spec in self.roles.items()}
        self.plan.status.setdefault("startTime", timestamp(self.seen.now))
        if (limit := self.policy.get("activeDeadlineSeconds")) is not None:
            self.plan.wait(limit - seconds_since(self.plan.status["startTime"], self.seen.now))
        for role, spec in self.roles.items():
            self._judge(role, spec, self.plan.status["replicaStatuses"][role])

    def _why_over(self) -> str:
        limit, deadline = self.policy.get("backoffLimit"), self.policy.get("activeDeadlineSeconds")
        if limit is not None and (self._failed_for_good(limit) or self._restarts() >= max(limit, 1)):
            return "it has reached the specified backoff limit"
        started = self.plan.status.get("startTime")
        if deadline is not None and started and seconds_since(started, self.seen.now) >= deadline:
            return "it was active longer than specified deadline"
        return ""

    def _failed_for_good(self, limit: int) -> bool:
        """Tell whether a pod has failed that was not counted yet, of a job that may not try again."""
        counted = sum(count.get("failed", 0) for count in self.plan.status["replicaStatuses"].values())
        return limit == 0 and sum(phase(pod) == "Failed" for pod in self.pods) > counted

    def _restarts(self) -> int:
        """Count the restarts of containers that are restarted where they are."""
        restarting = [role for role, spec in self.roles.items() if policy_of(self.kind, spec) != NEVER]
        running = [pod for role in restarting for pod in self._pods_of(role) if phase(pod) == "Running"]
        lists = [pod["status"].get(name) or () for pod in running for name in _CONTAINER_STATUSES]
        return sum(status.get("restartCount", 0) for statuses in lists for status in statuses)

    def _keep(self, role: str, spec: Manifest) -> Manifest:
        """Make the pods and Services that a role lacks, take away those that are too many; return how many do what."""
        wanted, pods = range(spec.get("replicas", 1)), self._pods_of(role)
        there = {label(pod, REPLICA_INDEX) for pod in pods}
        for index in wanted:
            if str(index) not in there:
                self.plan.create.append(pod_of(self.kind, self.job, self.roles, role, index, spec))
                name = self.plan.create[-1]["metadata"]["name"]
                self.plan.say("SuccessfulCreatePod", f"Created pod: {name}")
        services = {label(one, REPLICA_INDEX): one for one in self._of_role(self.seen.children["Service"], role)}
        self.plan.create += [
            service_of(self.kind, self.job, role, index, spec) for index in wanted if str(index) not in services
        ]
        for service in services.values():
            if int(label(service, REPLICA_INDEX)) not in wanted:
                self.plan.remove(service)
        for pod in pods:
            if int(label(pod, REPLICA_INDEX)) not in wanted:
                self._remove_pod(pod)
            elif phase(pod) == "Failed":
                self._failed(role, spec, pod)
        return self._count(role, pods)

    def _failed(self, role: str, spec: Manifest, pod: Manifest) -> None:
        """Make a pod anew that has failed, or say that the job has, where its exit code says so."""
        policy = policy_of(self.kind, spec)
        if policy == NEVER:
            return
        if policy == EXIT_CODE and _exit_code(self.kind, pod) < RETRYABLE:
            message = f'job "{self.seen.name}" is failing because "{role}" replica(s) failed.'
            self._tell(FAILED, FAILED, message, event=WARNING)
            return
        self._remove_pod(pod)
        message = f"job {self.seen.name} is restarting because {role} replica(s) failed."
        self._tell(RESTARTING, RESTARTING, message, event=WARNING)

    # What is said

    def _judge(self, role: str, spec: Manifest, count: Manifest) -> None:
        """Say what the pods of a role mean for the job."""
        if has_ended(self.plan.status):
            return
        leaders = [leader for leader in self.kind.leaders if leader in self.roles]
        if role in (leaders or (WORKER,)):
            workers = self._pods_of(role)
            is_early = not leaders and self.kind.has_ended_early(self.job, workers)
            if count.get("succeeded", 0) == spec.get("replicas", 1) or is_early:
                self._end(SUCCEEDED, self._success(is_led=bool(leaders)))
                return
            if count.get("active"):
                self._tell(RUNNING, RUNNING, f"{self.kind.name} {self._who(is_led=bool(leaders))} is running.")
        living = count.get("succeeded", 0) + count.get("active", 0)
        if count.get("failed") and spec.get("replicas", 1) > living:
            self._judge_failed(role, spec, count["failed"])

    def _judge_failed(self, role: str, spec: Manifest, failed: int) -> None:
        if role == WORKER and self.job["spec"].get("enableDynamicWorker"):
            return
        because = f"because {failed} {role} replica(s) failed."
        if policy_of(self.kind, spec) in self.kind.restarts:
            message = f"{self.kind.name} {self.seen.name} is restarting {because}"
            self._tell(RESTARTING, RESTARTING, message, event=WARNING)
        else:
            how = "has failed" if self.kind.names_namespace else "is failed"
            self._end(FAILED, f"{self.kind.name} {self._who(is_led=True)} {how} {because}")

    def _success(self, *, is_led: bool) -> str:
        completed = "successfully completed."
        if is_led and not self.kind.names_namespace:
            completed = f"is {completed}"
        return f"{self.kind.name} {self._who(is_led=is_led)} {completed}"

    def _who(self, *, is_led: bool) -> str:
        """Name the job as the messages about it do: by its name alone where a role leads it."""
        return self.seen.name if is_led and not self.kind.names_namespace else self.seen.key

    def _end(self, kind: str, message: str) -> None:
        self.plan.status.setdefault("completionTime", timestamp(self.seen.now))
        self._tell(kind, kind, message, event=NORMAL)

    def _tell(self, kind: str, reason: str, message: str, *, value: str = "True", event: str = "") -> None:
        if has(self.plan.status, FAILED):
            return
        reason = f"{self.kind.name}{reason}"
        tell(self.plan, self.seen.now, kind, reason, message, value=value, event=event)

    def _count(self, role: str, pods: Sequence[Manifest]) -> Manifest:
        running = [pod for pod in pods if phase(pod) == "Running"]
        lost = sum(map(is_deleting, running))
        ended = [phase(pod) for pod in pods]
        count = _counted(
            {}, active=len(running) - lost, succeeded=ended.count("Succeeded"), failed=ended.count("Failed") + lost
        )
        if self.kind.has_selectors:
            labels = replica_labels(self.kind, self.job, role)
            count["selector"] = ",".join(f"{name}={labels[name]}" for name in sorted(labels))
        return count

    # Pods

    def _pods_of(self, role: str) -> list[Manifest]:
        return self._of_role(self.pods, role)

    def _of_role(self, children: Sequence[Manifest], role: str) -> list[Manifest]:
        return [child for child in children if label(child, REPLICA_TYPE) == role.lower()]

    def _remove(self, pods: Sequence[Manifest]) -> None:
        """Take pods away, and the Services by which others find them."""
        for pod in pods:
            self._remove_pod(pod)
            service = self.seen.child("Service", pod["metadata"]["name"])
            if service is not None:
                self.plan.remove(service)

    def _remove_pod(self, pod: Manifest) -> None:
        if self.plan.remove(pod):
            self.plan.say("SuccessfulDeletePod", f"Deleted pod: {pod['metadata']['name']}")


_CONTAINER_STATUSES: Final = ("initContainerStatuses", "containerStatuses")


def _counted(count: Manifest, **numbers: int) -> dict[str, Any]:
    """Write numbers into a count; none is written as none."""
    return {name: number for name, number in {**count, **numbers}.items() if number}


def _exit_code(kind: TrainingKind, pod: Manifest) -> int:
    statuses = pod["status"].get("containerStatuses") or ()
    ends = {status["name"]: (status.get("state") or {}).get("terminated") for status in statuses}
    end = ends.get(kind.container)
    return int(end["exitCode"]) if end else RETRYABLE
