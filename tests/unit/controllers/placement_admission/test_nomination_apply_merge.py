"""A nomination, applied: the API server merges it, and nothing changes but the nomination."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.controllers.placement_admission.nomination_apply import nomination
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.builders import condition, pod_template
from fleetqueue.testing.embedded_server import EmbeddedServer

SINCE = "2026-01-01T00:00:01Z"
names = st.lists(st.text("abz", min_size=1, max_size=3), min_size=1, max_size=4, unique=True)


@pytest.fixture(scope="module")
def server() -> Iterator[ArrangedApi]:
    server = EmbeddedServer(["team-a"])
    yield ArrangedApi(server)
    server.end()


def of_pod_set(name):
    usage = {"nvidia.com/gpu": "1", "cpu": "1", "ephemeral-storage": "1Gi"}
    return {"name": name, "count": 1, "flavors": dict.fromkeys(usage, "default"), "resourceUsage": usage}


def check_entry(name, state="Pending", message=""):
    return {"name": name, "state": state, "message": message, "lastTransitionTime": SINCE}


def of_pod_sets(names):
    return [{"name": name, "count": 1, "template": pod_template()} for name in names]


def status_of(pod_sets, checks, conditions, nodes=()):
    status = {
        "admission": {"clusterQueue": "queue", "podSetAssignments": [of_pod_set(name) for name in pod_sets]},
        "admissionChecks": [check_entry(name) for name in checks],
        "conditions": [condition(kind, "True", message=kind, since=SINCE) for kind in conditions],
    }
    return status | ({"unhealthyNodes": [{"name": node} for node in nodes]} if nodes else {})


def without_nomination(raw):
    return {field: value for field, value in raw["status"].items() if field != "nominatedClusterNames"}


@settings(max_examples=60)
@given(pod_sets=names, checks=names, conditions=names, foreign=names, nodes=names, data=st.data())
def test_applying_a_nomination_changes_nothing_else(server, pod_sets, checks, conditions, foreign, nodes, data):
    server.add(kueue.Workload.manifest("job", "team-a", spec={"podSets": of_pod_sets(pod_sets)}))
    workload = (kueue.Workload, "job", "team-a")
    try:
        others = [kind for kind in foreign if kind not in conditions]
        server.change(*workload, status={"conditions": status_of((), (), others)["conditions"]})
        server.apply_as("kueue-admission", *workload, status=status_of(pod_sets, checks, conditions, nodes))
        for name in data.draw(st.lists(st.sampled_from(checks), unique=True)):
            ready = {"admissionChecks": [check_entry(name, "Ready", "two clusters")]}
            server.apply_as(f"fleetqueue-check-{name}", *workload, status=ready)
        before = server.raw(*workload)

        for members in (["z", "a"], ["z", "a", "m"]):
            written = nomination(server.raw(*workload), members)
            server.apply_as("kueue-admission", *workload, status=written["status"])

            after = server.raw(*workload)
            assert without_nomination(after) == without_nomination(before)
            assert after["status"]["nominatedClusterNames"] == members
    finally:
        server.remove(*workload)


async def test_the_pod_sets_of_a_job_stay_in_their_order(api):
    pod_sets = ["workers", "driver", "launcher"]
    workload = (kueue.Workload, "job", "team-a")
    api.add(kueue.Workload.manifest("job", "team-a", spec={"podSets": of_pod_sets(pod_sets)}))
    status = status_of(pod_sets, ["mk", "ac"], ["QuotaReserved", "Evicted"])
    api.apply_as("kueue-admission", *workload, status=status)
    api.apply_as("fleetqueue-check-ac", *workload, status={"admissionChecks": [check_entry("ac", "Ready", "two")]})
    before = api.raw(*workload)

    api.apply_as("kueue-admission", *workload, status=nomination(before, ["gpu-c1"])["status"])

    after = api.raw(*workload)
    assert [part["name"] for part in after["status"]["admission"]["podSetAssignments"]] == pod_sets
    assert without_nomination(after) == without_nomination(before)
