"""An embedded Kueue asked by the programs that people ask with: who waits, by kubectl and kueuectl, and its numbers."""

import json
import os
import subprocess

import pytest
import yaml

from fleetqueue.fleets.systems.kueue import CONFIG, KUEUE, before
from fleetqueue.fleets.systems.parts import create_all, install, install_kinds
from fleetqueue.real.fleet import HUB
from tests.deploy import built_tools

from .clusters import EmbeddedCluster
from .eventually import eventually

GROUP = "/apis/visibility.kueue.x-k8s.io"
LIMIT_SECONDS = 60
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{name: default, resources: [{name: cpu, nominalQuota: "1"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: one, namespace: default}
spec: {clusterQueue: q}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: two, namespace: default}
spec: {clusterQueue: q}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 20
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: soon}
value: 10
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A cluster with Kueue in a pod."""
    cluster = EmbeddedCluster(tmp_path_factory.mktemp("hub"))
    cluster.start()
    cluster.background.run(install_kueue(cluster.lab.endpoints[HUB].client()))
    yield cluster
    cluster.close()


async def install_kueue(client):
    await install_kinds(client, "kueue")
    await create_all(client, before(CONFIG))
    await install(client, KUEUE)


@pytest.fixture(scope="module")
def run(hub, tmp_path_factory):
    """`run(program, "get", "pods")` returns what a program printed."""
    environ = {**os.environ, "KUBECONFIG": str(hub.kubeconfig), "HOME": str(tmp_path_factory.mktemp("home"))}

    def run(program, *arguments, stdin="", code=0):
        done = subprocess.run(
            [program, *arguments],
            input=stdin,
            capture_output=True,
            env=environ,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stderr if code else done.stdout

    return run


@pytest.fixture(scope="module")
def kubectl(run):
    """kubectl on a cluster where one job runs and three wait."""
    program = built_tools.kubectl()

    def kubectl(*arguments, **how):
        return run(program, *arguments, **how)

    kubectl("wait", "deployment/kueue-controller-manager", "-n", KUEUE.namespace, "--for=condition=Available")
    kubectl("apply", "-f", "-", stdin=QUEUES)
    kubectl("apply", "-f", "-", stdin=job("runs", "one"))
    kubectl("wait", "job/runs", "--for=jsonpath={.spec.suspend}=false", f"--timeout={LIMIT_SECONDS}s")
    for name, queue, priority in (("later", "one", ""), ("next", "two", "urgent"), ("then", "one", "soon")):
        kubectl("apply", "-f", "-", stdin=job(name, queue, priority))
    eventually(lambda: len(summary(kubectl, "v1beta2/clusterqueues/q/pendingworkloads")["items"]) == 3)
    return kubectl


def job(name, queue, priority=""):
    labels = {"kueue.x-k8s.io/queue-name": queue} | ({"kueue.x-k8s.io/priority-class": priority} if priority else {})
    resources = {"requests": {"cpu": "1"}}
    container = {"name": "c", "image": "example.com/sleep", "args": ["600s"], "resources": resources}
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}},
    }
    return yaml.safe_dump(manifest)


def summary(kubectl, path):
    return json.loads(kubectl("get", "--raw", f"{GROUP}/{path}"))


def owners(found):
    return [item["metadata"]["ownerReferences"][0]["name"] for item in found["items"]]


def test_kubectl_reads_the_places_in_a_cluster_queue(kubectl):
    found = summary(kubectl, "v1beta2/clusterqueues/q/pendingworkloads")

    assert (found["kind"], found["apiVersion"]) == ("PendingWorkloadsSummary", "visibility.kueue.x-k8s.io/v1beta2")
    assert owners(found) == ["next", "then", "later"]
    assert [item["priority"] for item in found["items"]] == [20, 10, 0]
    assert [item["positionInClusterQueue"] for item in found["items"]] == [0, 1, 2]
    assert [item["positionInLocalQueue"] for item in found["items"]] == [0, 0, 1]


def test_kubectl_reads_a_part_of_a_local_queue_in_the_older_version(kubectl):
    found = summary(kubectl, "v1beta1/namespaces/default/localqueues/one/pendingworkloads?limit=1&offset=1")

    assert owners(found) == ["later"]
    assert found["items"][0]["positionInClusterQueue"] == 2


def test_kubectl_says_that_a_queue_is_not_there(kubectl):
    said = kubectl("get", "--raw", f"{GROUP}/v1beta2/clusterqueues/none/pendingworkloads", code=1)

    assert said == 'Error from server (NotFound): clusterqueue.visibility.kueue.x-k8s.io "none" not found\n'


def test_kubectl_finds_the_group_and_the_queues_of_kueue_under_their_names(kubectl):
    versions, queues = kubectl("api-versions").splitlines(), kubectl("get", "localqueues", "-o", "name").splitlines()

    assert {"visibility.kueue.x-k8s.io/v1beta1", "visibility.kueue.x-k8s.io/v1beta2"} <= {*versions}
    assert queues == ["localqueue.kueue.x-k8s.io/one", "localqueue.kueue.x-k8s.io/two"]


def test_kueuectl_shows_the_place_of_every_workload_that_waits(kubectl, run):
    printed = run(built_tools.kueuectl(), "list", "workload")

    head, *lines = printed.splitlines()
    place = head.index("POSITION IN QUEUE")
    places = {line.split()[2]: line[place : place + len("POSITION IN QUEUE")].strip() for line in lines}
    assert places == {"runs": "", "next": "0", "then": "0", "later": "1"}


def test_kubectl_reads_the_numbers_of_kueue(kubectl):
    pod = kubectl("get", "pods", "-n", KUEUE.namespace, "-o", "name").strip().removeprefix("pod/")

    told = kubectl("get", "--raw", f"/api/v1/namespaces/{KUEUE.namespace}/pods/https:{pod}:8443/proxy/metrics")

    labels = 'replica_role="leader",status="inadmissible"'
    assert f'kueue_pending_workloads{{cluster_queue="q",{labels}}} 3.0\n' in told
    assert f'kueue_local_queue_pending_workloads{{name="one",namespace="default",{labels}}} 2.0\n' in told
    assert 'kueue_admitted_workloads_total{cluster_queue="q",priority_class="",replica_role="leader"} 1.0\n' in told


def test_while_kueue_is_away_it_cannot_be_asked(kubectl):
    kubectl("scale", "deployment/kueue-controller-manager", "-n", KUEUE.namespace, "--replicas=0")
    name = "apiservice/v1beta2.visibility.kueue.x-k8s.io"
    kubectl("wait", name, "--for=condition=Available=false", f"--timeout={LIMIT_SECONDS}s")
    said = kubectl("get", "--raw", f"{GROUP}/v1beta2/clusterqueues/q/pendingworkloads", code=1)
    shown = kubectl("get", name, "--no-headers")
    kubectl("scale", "deployment/kueue-controller-manager", "-n", KUEUE.namespace, "--replicas=1")
    kubectl("wait", name, "--for=condition=Available", f"--timeout={LIMIT_SECONDS}s")
    again = summary(kubectl, "v1beta2/clusterqueues/q/pendingworkloads")

    unavailable = "the server is currently unable to handle the request"
    assert said == f"Error from server (ServiceUnavailable): {unavailable}\n"
    assert shown.split()[1:4] == ["kueue-system/kueue-visibility-server", "False", "(MissingEndpoints)"]
    assert owners(again) == ["next", "then", "later"]
