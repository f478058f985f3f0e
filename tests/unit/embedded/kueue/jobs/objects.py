"""Jobs, and the Workloads that are made of them."""

from fleetqueue.embedded.kueue.jobs.batch_job import BatchJobIntegration
from fleetqueue.embedded.kueue.jobs.job_workloads import Priority, workload_of
from tests.unit.embedded.kueue.job_objects import job_manifest

JOBS = BatchJobIntegration()


FLAVOR = {"spec": {"nodeLabels": {"zone": "a"}, "tolerations": [{"key": "t", "operator": "Exists"}]}}


def job(**said):
    made = job_manifest(**said)
    made["metadata"]["uid"] = "uid-of-j"
    return made


def workload(raw, *, admitted=False, count=None, checks=()):
    made = workload_of(JOBS, raw, Priority(0, None))
    if admitted:
        size = made["spec"]["podSets"][0]["count"] if count is None else count
        part = {"name": "main", "flavors": {"cpu": "f"}, "count": size}
        told = [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")]
        admission = {"clusterQueue": "q", "podSetAssignments": [part]}
        made["status"] = {"admission": admission, "conditions": told, "admissionChecks": [*checks]}
    return made


def flavor(name):
    return FLAVOR
