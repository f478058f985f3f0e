"""Every example of the pages of commands is typed, in the world that the page speaks of, or it is said why not."""

import socket

import pytest

from .page import Page, is_typed, type_page
from .shell import ROOT, lines_of

FOLDER = "docs/en/reference/commands"
SHORT = """
apiVersion: batch/v1
kind: Job
metadata: {name: short, namespace: default}
spec:
  template:
    metadata: {annotations: {fleetqueue.dev/run-for: 1s}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox, resources: {requests: {cpu: "1"}}}]
"""
TRAINING = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: default, labels: {kueue.x-k8s.io/queue-name: user-queue-demo2}}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec: {containers: [{name: pytorch, image: busybox, resources: {requests: {cpu: "1"}}}]}
"""
QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: user-queue, namespace: default}
spec: {clusterQueue: cluster-queue-demo2}
"""
ALL = "for context in hub cluster1 cluster2 cluster3; do kubectl --context $context"
PLACED = "$(fleetqueue get jobs train -n team-a -o json | jq -r '.[0].clusters[0]')"
"""Where the job is."""
CREATE = "fleetqueue kubeconfig create --kubeconfig admin.kubeconfig > worker1.kubeconfig"
STORIES = r"All \d+ expectations held"
ALONE = "kubectl scale deployment -n fleetqueue-system fleetqueue-controller --replicas 0"
"""The hub's own controller goes, so that another one is alone."""
ANY_PORT = "--set probes.port=0"
"""Others on this machine may listen where health is served."""


def of(command: str, **more: dict[str, str]) -> Page:
    return Page(f"{FOLDER}/{command}.md", **more)


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


OWN_FLEET = [
    (of("up", shows={"create job": "job.batch/hello created"}), of("down", shows={"--delete": "is gone"})),
    (of("demo", shows={"demo": STORIES}),),
    (Page("docs/en/reference/cli.md", shows={"demo": STORIES, "get jobs": "no jobs"}),),
]
"""Pages that start their fleet themselves, and what ends it."""
READING = [
    of("list", shows={"list": r'lab +embedded +up|"state": "up"'}),
    of("status", shows={"status": "cluster3"}),
    of(
        "get",
        shows={
            "get clusters": "cluster3",
            "--tree": "<spoke>",
            "placements": "gpu",
            "get jobs": r"Job/train +gpu +Admitted",
            "scores": "cluster3",
        },
    ),
    of(
        "explain",
        between={"fleetqueue explain job pytorchjob/train -o json": f"kubectl apply -f - <<'EOF'{TRAINING}EOF"},
        instead={"job-train-1a2b3": "$(kubectl get workloads -n team-a -o jsonpath='{.items[0].metadata.name}')"},
        shows={
            "job train": "Job/train of namespace team-a: Admitted",
            "job.batch/train": "Job/train of namespace team-a: Admitted",
            "pytorchjob/train": '"about": "PyTorchJob/train of',
            "-f job.yaml": "Job/train",
            "-f -": "Job/demo1-job, not submitted: Open",
            "workload": "Job/train|job-train",
            "queue gpu": "team-a/gpu: Open",
            "placement gpu": "Placement kueue-system/gpu: Decided",
            "cluster cluster1": "ManagedCluster cluster1: NotChosen",
        },
    ),
    of("doctor", shows={"fleetqueue doctor": r"nothing wrong was found|\A[^\t]*\Z"}),
    of(
        "dashboard",
        instead={"8000": free_port()},
        shows={"dashboard": r"http://127\.0\.0\.1:\d+/#"},
    ),
    of(
        "logs",
        instead={"--worker-context cluster1": f"--worker-context {PLACED}"},
        shows={"logs train": "started busybox", "logs Job/train": "started busybox", "--part": "kueue: "},
    ),
    of(
        "kubeconfig",
        between={CREATE: "cp cluster1-admin.kubeconfig admin.kubeconfig"},
        shows={"kubeconfig cluster1": "current-context: cluster1", "secret": "worker1-secret created"},
    ),
    of("examples", between={"fleetqueue examples -o examples": "rm examples"}, shows={"job-demo2": "created"}),
]
"""Pages that leave the fleet as it is."""
CHANGING = [
    of(
        "submit",
        between={
            "fleetqueue submit -f job.yaml --queue user-queue --follow": (
                f"{ALL} apply -f - <<'EOF'{QUEUE}EOF\ndone\ncat > job.yaml <<'EOF'{SHORT}EOF"
            )
        },
        shows={"--follow": r"succeeded on cluster[23]", "--dry-run": "would be submitted"},
    ),
    of("cut", shows={"cut": "cluster1 is cut off", "get jobs": "Job/train", "heal": "cluster1 is reachable"}),
    of("heal", shows={"heal": "cluster1 is reachable"}),
    of("drain", shows={"fleetqueue drain": "cluster1 is drained", "undrain": "cluster1 may serve again"}),
    of("undrain", shows={"undrain": "cluster1 may serve again"}),
    of("score-agent", instead={"score-agent": f"score-agent {ANY_PORT}"}, shows={"score-agent": "manager: working"}),
    of(
        "unjoin",
        between={"fleetqueue unjoin cluster1": "fleetqueue examples multikueue-setup-demo1 | kubectl delete -f -"},
        shows={"unjoin": "cluster1 has left"},
    ),
    of("join", shows={"join": "Kueue can reach it"}),
    of("clusterset", shows={"unbind": "spoke"}),
    of(
        "manifests",
        between={"fleetqueue manifests -o deploy": "rm deploy"},
        shows={"token-reader": "role.* configured"},
    ),
    of("install", shows={"install": "the hub has Kueue and OCM"}),
    of(
        "controller",
        between={
            "fleetqueue controller --kubeconfig hub.kubeconfig --no-leader-election": ALONE,
            "fleetqueue controller --config settings.yaml --set placement_admission.drain_timeout=3600": (
                "echo 'logs: {level: info}' > settings.yaml"
            ),
        },
        instead={"fleetqueue controller": f"fleetqueue controller {ANY_PORT}"},
        shows={"controller": "manager: working"},
    ),
    of("uninstall", shows={"uninstall": "fleetqueue is removed from the path of jobs"}),
]
"""Pages that change it, in an order in which each finds what it speaks of."""

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("pages", OWN_FLEET, ids=["up and down", "demo", "help"])
def test_examples_that_start_a_fleet_work_as_they_are_printed(empty, pages):
    for page in pages:
        type_page(empty, page)


@pytest.mark.parametrize("pages", [READING, CHANGING], ids=["reading", "changing"])
def test_examples_on_a_fleet_work_as_they_are_printed(fleet, pages):
    for page in pages:
        fleet.type("kubectl config use-context hub")
        type_page(fleet, page)


def test_no_page_of_a_command_is_left_out():
    typed = {page.path for pages in (*OWN_FLEET, READING, CHANGING) for page in pages if page.path.startswith(FOLDER)}
    with_lines = {
        str(path.relative_to(ROOT)) for path in (ROOT / FOLDER).glob("*.md") if any(map(is_typed, lines_of(path)))
    }

    assert with_lines == typed
