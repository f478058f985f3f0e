"""The operator, as it is: kopf and lightkube talk to a fleet over TLS, in real time."""

from pathlib import Path

import pytest
from kopf.testing import KopfRunner

FOLDER = Path(__file__).parents[1]
RUN = """
apiVersion: example.dev/v1
kind: TrainingRun
metadata: {name: NAME}
spec: {image: example.dev/train, queue: user-queue-demo1, runFor: 200ms}
"""


def operator():
    return KopfRunner(["run", "--all-namespaces", str(FOLDER / "training_runs.py")], timeout=20)


def phase(cluster, name):
    return cluster.get("TrainingRun", name)["status"]["phase"]


@pytest.mark.fleet(workers=1)
def test_it_makes_a_job_that_waits_in_its_queue(live_fleet):
    live_fleet.add(FOLDER / "crd.yaml", RUN.replace("NAME", "mnist"))

    with operator():
        job = live_fleet.until(lambda: live_fleet.get("Job", "mnist"))

    assert job["spec"]["suspend"]
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "user-queue-demo1"


@pytest.mark.fleet(workers=1)
def test_it_goes_on_when_its_cluster_was_away(live_fleet, monkeypatch):
    cluster = live_fleet["cluster1"]
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    cluster.add(FOLDER / "crd.yaml", RUN.replace("NAME", "before"))

    with operator():
        live_fleet.until(lambda: cluster.get("Job", "before"))
        live_fleet.cut("cluster1")
        live_fleet.heal("cluster1")
        cluster.add(RUN.replace("NAME", "after"))
        live_fleet.until(lambda: cluster.get("Job", "after"))


@pytest.mark.fleet(scenario="multikueue")
def test_it_tells_how_a_run_ended_on_a_worker(live_fleet):
    live_fleet.add(FOLDER / "crd.yaml", FOLDER / "queue.yaml", RUN.replace("NAME", "mnist"))

    with operator():
        live_fleet.until(lambda: phase(live_fleet, "mnist") == "Complete", within="60s")

    assert live_fleet.list("Pod", "default") == []
