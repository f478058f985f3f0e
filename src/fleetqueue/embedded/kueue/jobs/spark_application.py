"""SparkApplications: a driver and its executors. MultiKueue does not send them.

Mirrors: Kueue pkg/controller/jobs/sparkapplication
Left out: gates of pods. Executors that Spark itself adds (`dynamicAllocation`) are refused: it cannot be elastic.
"""

from collections.abc import Callable, Sequence
from typing import Final

from fleetqueue.api.fields import value_at, with_value, without_field
from fleetqueue.api.job_kinds import SPARK_APPLICATION
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import pod_set
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo, merged, restored
from fleetqueue.embedded.kueue.jobs.suspendable_jobs import SuspendableJobs
from fleetqueue.rules.job_endings import Ending, spark_application_ending
from fleetqueue.rules.spark_pods import CONTAINERS, DRIVER, EXECUTOR, pods_of, spark_template

ROLES: Final = (DRIVER, EXECUTOR)
FOR_ALL: Final = ("spec", "nodeSelector")
"""A selector for both roles; there cannot be one of a role beside it."""
OF_METADATA, OF_SPEC = ("labels", "annotations"), ("nodeSelector", "tolerations")
"""What a role says of where its pods run, and how they are marked."""
STATE: Final = ("status", "applicationState", "state")


class SparkApplicationIntegration(SuspendableJobs):
    def __init__(self) -> None:
        super().__init__(SPARK_APPLICATION)

    def given_to_multikueue(self, job: Manifest) -> Manifest:
        return job

    def pod_sets(self, job: Manifest) -> list[Manifest]:
        return [pod_set(role, spark_template(job, role), pods_of(job, role)) for role in ROLES]

    def started(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        if len(infos) != len(ROLES):
            raise CannotStart(f"invalid podset infos: expecting {len(ROLES)} podset, got {len(infos)}")
        return self.job_kind.with_suspension(_changed(job, infos, merged), suspend=False)

    def restored(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        if len(infos) != len(ROLES):
            return job
        before = _changed(job, infos, restored)
        return with_value(before, ("spec", EXECUTOR, "instances"), infos[1].count)

    def is_active(self, job: Manifest) -> bool:
        return bool(value_at(job, STATE) == "RUNNING")

    def ending(self, job: Manifest) -> Ending | None:
        return spark_application_ending(job)

    def pods_ready(self, job: Manifest) -> bool:
        """Tell whether the driver and all executors run: a driver runs also where nobody has room for executors."""
        states = (value_at(job, ("status", "executorState")) or {}).values()
        ready = [state for state in states if state in ("RUNNING", "COMPLETED")]
        return self.is_active(job) and len(ready) >= pods_of(job, EXECUTOR)


def _changed(
    job: Manifest, infos: Sequence[PodSetInfo], change: Callable[[Manifest, PodSetInfo], Manifest]
) -> Manifest:
    """Return an application whose roles have what is given to their pods; what was for both is each one's then.

    A role without a template of its own has one then: gates of pods stand there.
    """
    for_all = value_at(job, FOR_ALL)
    for role, info in zip(ROLES, infos, strict=True):
        section = value_at(job, ("spec", role)) or {}
        selector = section.get("nodeSelector") if for_all is None else for_all
        written = {
            "metadata": {field: section.get(field) for field in OF_METADATA},
            "spec": {"nodeSelector": selector, "tolerations": section.get("tolerations")},
        }
        given = change(written, info)
        rest = {name: value for name, value in section.items() if name not in (*OF_METADATA, *OF_SPEC)}
        rest.setdefault("template", {"spec": {"containers": [{"name": CONTAINERS[role]}]}})
        fields = {**(given.get("metadata") or {}), **(given.get("spec") or {})}
        told = {name: fields[name] for name in (*OF_METADATA, *OF_SPEC) if name in fields}
        job = with_value(job, ("spec", role), {**rest, **told})
    return without_field(job, FOR_ALL)
