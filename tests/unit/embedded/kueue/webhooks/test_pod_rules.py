"""What Kueue gives to new pods, and what it refuses in pods."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.webhooks.job_defaults import JobContext
from fleetqueue.embedded.kueue.webhooks.pod_rules import PodDefaults, change_faults, faults
from tests.unit.embedded.kueue.job_objects import job_manifest
from tests.unit.embedded.kueue.pods.objects import COUNT, GROUP, member, pod_manifest
from tests.unit.embedded.kueue.scheduling.objects import NAMESPACE, local_queue_manifest

MANAGED = "kueue.x-k8s.io/managed"
GATES = ["kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"]
PARENT = "kueue.x-k8s.io/pod-suspending-parent"


def namespace(name):
    return {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}}


def completed(pod, *around, **settings):
    """Ask about a pod in a world of these objects."""
    there = {
        ("namespaces", "", NAMESPACE): namespace(NAMESPACE),
        ("namespaces", "", "kube-system"): namespace("kube-system"),
    }
    plurals = {"Job": "jobs", "LocalQueue": "localqueues"}
    for each in around:
        there[plurals[each["kind"]], each["metadata"]["namespace"], each["metadata"]["name"]] = each
    context = JobContext(
        KueueSettings(**settings), lambda group, plural, ns, name: there.get((plural, ns, name)), (Job,)
    )
    return PodDefaults(context).completed(pod)


def gates(pod):
    return [gate["name"] for gate in pod["spec"].get("schedulingGates", ())]


def below(job, pod):
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": job["metadata"]["uid"], "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    return pod


def test_a_pod_with_a_queue_is_gated_held_and_marked():
    made = completed(pod_manifest())

    assert gates(made) == GATES
    assert made["metadata"]["finalizers"] == [MANAGED]
    assert made["metadata"]["labels"][MANAGED] == "true"
    assert len(made["metadata"]["annotations"]["kueue.x-k8s.io/role-hash"]) == 8


def test_gates_and_finalizers_of_others_stay():
    given = pod_manifest(schedulingGates=[{"name": "example.com/g"}])
    given["metadata"]["finalizers"] = ["example.com/f"]

    made = completed(given)

    assert gates(made) == ["example.com/g", *GATES]
    assert made["metadata"]["finalizers"] == ["example.com/f", MANAGED]
    assert completed(made) == made


def test_a_pod_without_a_queue_is_left_alone():
    assert completed(pod_manifest(queue="")) == pod_manifest(queue="")


def test_a_pod_gets_the_default_queue():
    made = completed(pod_manifest(queue=""), local_queue_manifest("default"))

    assert made["metadata"]["labels"][kueue.QUEUE_LABEL] == "default"
    assert gates(made) == GATES


def test_pods_without_a_queue_are_gated_where_that_is_wished():
    made = completed(pod_manifest(queue=""), manages_jobs_without_queue=True)

    assert gates(made) == GATES
    assert kueue.QUEUE_LABEL not in made["metadata"]["labels"]


def test_a_pod_of_another_namespace_is_left_alone():
    given = pod_manifest()
    given["metadata"]["namespace"] = "kube-system"

    assert completed(given) == given


@pytest.mark.parametrize(("queue", "is_gated"), [("q", False), ("", True)])
def test_a_pod_below_a_job_is_gated_only_where_the_job_is_not_kueue_s(queue, is_gated):
    job = job_manifest(queue=queue)
    job["metadata"]["uid"] = "u"

    made = completed(below(job, pod_manifest()), job)

    assert bool(gates(made)) is is_gated


def test_a_pod_that_something_above_suspends_is_gated_but_not_held():
    made = completed(pod_manifest(queue="", annotations={PARENT: "statefulset"}))

    assert gates(made) == GATES
    assert "finalizers" not in made["metadata"]


def test_the_number_of_a_pod_is_taken_from_the_label_that_has_it():
    index = {"kueue.x-k8s.io/pod-group-pod-index-label": "example.com/index"}

    made = completed(pod_manifest(annotations=index, labels={"example.com/index": "3"}))

    assert made["metadata"]["labels"]["kueue.x-k8s.io/pod-group-pod-index"] == "3"


BOTH = f"both the '{COUNT}' annotation and the '{GROUP}' {{}} should be set"


@pytest.mark.parametrize(
    ("pod", "says"),
    [
        pytest.param(pod_manifest(), [], id="a pod"),
        pytest.param(member("p"), [], id="a pod of a group"),
        pytest.param(
            pod_manifest(labels={MANAGED: "no"}),
            [f"metadata.labels[{MANAGED}]: Forbidden: managed label value can only be 'true'"],
            id="the label says no",
        ),
        pytest.param(
            pod_manifest(labels={GROUP: "g"}),
            [f"metadata.annotations[{COUNT}]: Required value: {BOTH.format('label')}"],
            id="a group of unknown size",
        ),
        pytest.param(
            pod_manifest(annotations={GROUP: "g"}),
            [f"metadata.annotations[{COUNT}]: Required value: {BOTH.format('annotation')}"],
            id="a group by annotation, of unknown size",
        ),
        pytest.param(
            pod_manifest(annotations={COUNT: "2"}),
            [f"metadata.labels[{GROUP}]: Required value: {BOTH.format('label')}"],
            id="the size of no group",
        ),
        pytest.param(
            member("p", count="two"),
            [f'metadata.annotations[{COUNT}]: Invalid value: "two": strconv.Atoi: parsing "two": invalid syntax'],
            id="a size that is no number",
        ),
        pytest.param(
            member("p", count=0),
            [
                f'metadata.annotations[{COUNT}]: Invalid value: "0": incorrect annotation value '
                f"'{COUNT}=0': group total count should be greater than zero"
            ],
            id="a group of nobody",
        ),
        pytest.param(
            member("p", annotations={kueue.PREBUILT_WORKLOAD: "w"}),
            [
                f'metadata.annotations[{kueue.PREBUILT_WORKLOAD}]: Invalid value: "w": '
                "prebuilt workload and pod group should be equal"
            ],
            id="a Workload of another name than the group",
        ),
    ],
)
def test_what_is_refused_in_a_pod(pod, says):
    assert faults(pod) == says


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        pytest.param(member("p"), member("p"), [], id="nothing"),
        pytest.param(
            member("p"),
            member("p", of="h"),
            [f'metadata.labels[{GROUP}]: Invalid value: "h": field is immutable'],
            id="another group",
        ),
        pytest.param(
            member("p", annotations={"kueue.x-k8s.io/retriable-in-group": "false"}),
            member("p"),
            [
                "metadata.annotations[kueue.x-k8s.io/retriable-in-group]: Forbidden: "
                "unretriable pod group can't be converted to retriable"
            ],
            id="failed pods are to be replaced after all",
        ),
        pytest.param(
            pod_manifest(),
            pod_manifest(queue="other"),
            [f'metadata.labels[{kueue.QUEUE_LABEL}]: Invalid value: "other": field is immutable'],
            id="another queue while it runs",
        ),
        pytest.param(
            completed(pod_manifest()), completed(pod_manifest(queue="other")), [], id="another queue while it waits"
        ),
    ],
)
def test_what_is_refused_in_the_change_of_a_pod(old, new, says):
    assert change_faults(old, new, has_default_queue=False) == says
