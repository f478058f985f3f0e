"""The test kit as its users see it: names, kinds by their names, manifests in every form, waiting."""

import inspect
import subprocess
import sys

import pytest

from fleetqueue import testing
from fleetqueue.api import errors
from fleetqueue.testing import Fleet, FleetCluster, LiveCluster, LiveFleet, is_true

OF_CLUSTERS = {"add", "apply_as", "change", "get", "list", "namespace", "raw", "remove", "revision"}
FAULTS_OF_CLUSTERS = {"compact", "end_watches", "fail_on", "heal", "seconds_per_request"}
OF_FLEETS = {"add", "cut", "get", "heal", "hub", "list", "open", "remove", "until", "workers"}
ALONE = pytest.mark.fleet(workers=1, scenario="api")
TWO = """
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: team-a}}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {team: a}}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.dev}
spec:
  group: example.dev
  scope: Namespaced
  names: {kind: Boat, plural: boats, singular: boat, listKind: BoatList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: example.dev/v1
kind: Boat
metadata: {name: little}
spec: {sails: 2}
"""


def public(kind):
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def test_the_kit_is_these_names_and_no_others():
    assert testing.__all__ == ["Fleet", "FleetCluster", "LiveCluster", "LiveFleet", "is_true", "running"]
    assert public(Fleet) == OF_FLEETS | {"advance", "dial", "settle"}
    assert public(LiveFleet) == OF_FLEETS | {"contexts", "environment"}
    assert public(LiveCluster) == OF_CLUSTERS | FAULTS_OF_CLUSTERS
    assert public(FleetCluster) - OF_CLUSTERS - FAULTS_OF_CLUSTERS == {
        *("client", "close", "cut", "open_watches", "request", "stream"),
    }


def test_what_does_not_exist_cannot_be_imported_from_it():
    with pytest.raises(ImportError):
        from fleetqueue.testing import Ship  # noqa: F401


def test_the_package_and_its_plugin_import_nothing_of_a_fleet():
    program = "import sys, fleetqueue.testing.plugin; print([m for m in sys.modules if m.startswith('fleetqueue')])"

    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert told.strip() == str(["fleetqueue", "fleetqueue.testing", "fleetqueue.testing.plugin"])


@ALONE
async def test_manifests_come_as_text_files_and_dictionaries(fleet, tmp_path):
    file = tmp_path / "boat.yaml"
    file.write_text(DEFINITION)

    fleet.add(TWO, file, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "three"}, "data": {"k": "v"}})

    assert [found["metadata"]["name"] for found in fleet.list("ConfigMap")] == ["one", "three", "two"]
    assert fleet.get("ConfigMap", "two", "team-a")["kind"] == "ConfigMap"
    assert fleet.get("Namespace", "team-a")["metadata"]["labels"]["team"] == "a"
    assert fleet.get("Boat", "little")["spec"] == {"sails": 2}


@ALONE
@pytest.mark.parametrize("text", ["queue.yaml", "- a\n- b", "kind: Job"])
async def test_what_is_no_manifest_is_refused_with_a_hint(fleet, text):
    with pytest.raises(ValueError, match="is no manifest: it needs an apiVersion and a kind"):
        fleet.add(text)


@ALONE
@pytest.mark.parametrize("name", ["Workload", "workload", "workloads", "Workload.kueue.x-k8s.io", "Placement"])
async def test_a_kind_is_named_as_kubectl_names_it(fleet, name):
    assert fleet.list(name) == []


@ALONE
async def test_a_kind_that_is_not_served_is_said(fleet):
    with pytest.raises(LookupError, match='no kind "Boat" is served here'):
        fleet.list("Boat")


@ALONE
async def test_what_is_read_is_the_tests_own(fleet):
    fleet.add(TWO)

    fleet.get("ConfigMap", "one")["data"] = {"k": "v"}

    assert "data" not in fleet.get("ConfigMap", "one")


@ALONE
async def test_objects_are_changed_and_removed(fleet):
    fleet.add(TWO)

    fleet.hub.change("ConfigMap", "one", data={"k": "v"})
    changed = fleet.get("ConfigMap", "one")
    fleet.remove("ConfigMap", "one")

    assert changed["data"] == {"k": "v"}
    assert fleet.get("ConfigMap", "one") is None
    with pytest.raises(errors.NotFound):
        fleet.remove("ConfigMap", "one")


async def test_until_lets_time_pass_and_returns_what_it_waited_for(fleet):
    fleet["cluster1"].add({**job("train"), "spec": {"template": pods("40m")}})

    ended = await fleet.until(lambda: is_true(fleet["cluster1"].get("Job", "train"), "Complete"), within="1h")
    pod = await fleet.until(lambda: fleet["cluster1"].list("Pod")[0]["status"])

    assert ended is True
    assert pod["phase"] == "Succeeded"


@ALONE
@pytest.mark.parametrize(
    ("check", "said"),
    [
        pytest.param(lambda fleet: [], r"the last answer was \[\]", id="an empty list"),
        pytest.param(lambda fleet: fleet.get("Job", "train")["status"], "not subscriptable", id="no object"),
        pytest.param(lambda fleet: next(iter(fleet.list("Job"))), "StopIteration", id="no first one"),
        pytest.param(lambda fleet: fleet.list("Namespace")[0]["stauts"], "KeyError: 'stauts'", id="a typing error"),
    ],
)
async def test_what_never_holds_fails_the_test_with_the_last_answer(fleet, check, said):
    with pytest.raises(AssertionError, match=rf"it does not hold within 90s; .*{said}"):
        await fleet.until(lambda: check(fleet), within="90s")


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (None, False),
        ({}, False),
        ({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, False),
        ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, True),
    ],
)
def test_a_condition_is_true_or_it_is_not(obj, expected):
    assert is_true(obj, "Ready") is expected


def job(name):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}}


def pods(run_for):
    container = {"name": "main", "image": "busybox"}
    metadata = {"annotations": {"fleetqueue.dev/run-for": run_for}}
    return {"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": [container]}}
