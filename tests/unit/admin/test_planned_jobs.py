"""What is said of a job that was not submitted yet, by what it asks for itself."""

import pytest

from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.placement_verdicts import FleetObjects
from fleetqueue.admin.planned_jobs import why_it_would_wait
from fleetqueue.admin.planned_pods import planned_pods
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import Deployment
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, KUEUE_NAMESPACE
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS
from fleetqueue.testing.builders import pod_template


def viewed(kind, *args, **fields):
    return kind.view(kind.manifest(*args, **fields))


def check(name, controller, group, kind):
    parameters = {"apiGroup": group, "kind": kind, "name": "gpu"}
    return viewed(kueue.AdmissionCheck, name, spec={"controllerName": controller, "parameters": parameters})


def queue(quota="4", **more):
    flavors = [{"name": "default", "resources": [{"name": "cpu", "nominalQuota": quota}]}]
    strategy = {"admissionChecks": [{"name": "gpu"}, {"name": "mk"}]}
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    spec = {"resourceGroups": groups, "admissionChecksStrategy": strategy, **more}
    return viewed(kueue.ClusterQueue, "cq", spec=spec)


def hub():
    decisions = {"decisions": [{"clusterName": "c1", "reason": ""}]}
    return HubState(
        checks={
            "gpu": check("gpu", CHECK_CONTROLLER, cluster.GROUP, "Placement"),
            "mk": check("mk", kueue.MULTIKUEUE_CONTROLLER, kueue.GROUP, "MultiKueueConfig"),
        },
        fleet=FleetObjects(
            clusters=[viewed(cluster.ManagedCluster, name) for name in ("c1", "c2")],
            placements=[viewed(cluster.Placement, "gpu", KUEUE_NAMESPACE)],
            decisions=[
                viewed(
                    cluster.PlacementDecision,
                    "gpu-1",
                    KUEUE_NAMESPACE,
                    labels={cluster.PLACEMENT_LABEL: "gpu"},
                    status=decisions,
                )
            ],
        ),
    )


def job(cpu="1", pods=1, **annotations):
    template = pod_template(annotations=annotations, requests={"cpu": cpu} if cpu else {})
    return Job.manifest("train", "default", spec={"parallelism": pods, "template": template})


def job_set(cpu, replicas):
    template = {"spec": job(cpu)["spec"]}
    return JobSet.manifest(
        "set", "default", spec={"replicatedJobs": [{"name": "w", "replicas": replicas, "template": template}]}
    )


DEPLOYMENT = Deployment.manifest(
    "web", "default", spec={"replicas": 9, "template": pod_template(requests={"cpu": "3"})}
)
TOO_LARGE = "it asks for 6 cpu, and ClusterQueue cq can never give more than 4"


@pytest.mark.parametrize(
    ("planned", "target", "code", "sentence"),
    [
        pytest.param(job("4"), queue(), None, "", id="it fits"),
        pytest.param(job("2", pods=3), queue(), "ExceedsQuota", TOO_LARGE, id="all pods together are too large"),
        pytest.param(job_set("2", 3), queue(), "ExceedsQuota", TOO_LARGE, id="so are the jobs of a JobSet"),
        pytest.param(job("6"), queue(cohortName="all"), None, "", id="it may borrow"),
        pytest.param(job(""), queue(), "NotChecked", "it asks for nothing that ClusterQueue cq has", id="no requests"),
        pytest.param(job(""), queue(admissionChecksStrategy={}), None, "", id="no requests, and no MultiKueue"),
        pytest.param(
            job(**{ALLOWED_CLUSTERS: "c9"}),
            queue(),
            "PinnedToNobody",
            "no cluster can take it: fleetqueue.dev/clusters names c9, and there is no such cluster",
            id="pinned to a cluster that there is not",
        ),
        pytest.param(
            job(**{ALLOWED_CLUSTERS: "c2"}),
            queue(),
            "PinnedToNobody",
            "no cluster can take it: fleetqueue.dev/clusters names c2, which placement gpu does not offer",
            id="pinned to a cluster that is not chosen",
        ),
        pytest.param(job(**{ALLOWED_CLUSTERS: "c2, c1"}), queue(), None, "", id="one of several is chosen"),
        pytest.param(
            DEPLOYMENT, queue("2"), "ExceedsQuota", "each of its pods asks for 3 cpu", id="each pod for itself"
        ),
        pytest.param({"apiVersion": "a.dev/v1", "kind": "Other"}, queue(), None, "", id="a kind that is not judged"),
    ],
)
def test_what_a_job_asks_for_is_judged_before_it_is_submitted(planned, target, code, sentence):
    cause = why_it_would_wait(planned_pods(planned), target, hub())

    assert (cause.code if cause else None) == code
    assert cause is None or (cause.sentence.startswith(sentence) and cause.step)


def test_who_may_not_see_clusters_is_told_nothing_of_them():
    blind = HubState(checks=hub().checks)

    assert why_it_would_wait(planned_pods(job(**{ALLOWED_CLUSTERS: "c9"})), queue(), blind) is None
