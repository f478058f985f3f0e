"""What people see of objects."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.scheme import Resource
from fleetqueue.embedded.apiserver.http.tables import BUILT_IN, check_included, printer_of, table
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.schema import ANY
from fleetqueue.embedded.apiserver.registry.builtin import built_in
from fleetqueue.embedded.apiserver.registry.served import Served


def served(plural, group=None):
    return next(one for one in built_in() if one.resource.plural == plural and group in (None, one.resource.group))


def row(kind, body, *, group=None, wide=False):
    """Return the cells of an object by the names of their columns."""
    obj = {"metadata": {"name": "x", **body.pop("metadata", {})}, **body}
    made = table(served(kind, group), [obj], {}) if isinstance(kind, str) else table(kind, [obj], {})
    shown = zip(made["columnDefinitions"], made["rows"][0]["cells"], strict=True)
    return {column["name"]: cell for column, cell in shown if wide or not column["priority"]}


def test_every_kind_with_columns_is_one_that_is_served():
    paths = {(kind.group, kind.plural) for kind in facts.kinds()}

    assert set(BUILT_IN) <= paths


@pytest.mark.parametrize("kind", built_in(), ids=lambda kind: str(kind.resource))
def test_every_kind_has_a_row_even_of_an_object_that_says_nothing(kind):
    made = table(kind, [{"metadata": {"name": "x"}}], {"resourceVersion": "1"})

    assert len(made["rows"][0]["cells"]) == len(made["columnDefinitions"])


@pytest.mark.parametrize("kind", built_in(), ids=lambda kind: str(kind.resource))
def test_every_kind_has_a_row_of_an_object_with_strange_things_in_it(kind):
    strange = {"spec": {}, "status": {"conditions": []}, "metadata": {"name": "x", "creationTimestamp": "?"}}

    assert len(table(kind, [strange], {})["rows"]) == 1


# Pods


def pod(*states, phase="Running", **more):
    names = [f"c{number}" for number in range(len(states))]
    statuses = [{"name": name, **state} for name, state in zip(names, states, strict=True)]
    status = {"phase": phase, "containerStatuses": statuses, **more.pop("status", {})}
    return {
        "spec": {"containers": [{"name": name} for name in names], **more.pop("spec", {})},
        "status": status,
        **more,
    }


RUNS = {"ready": True, "state": {"running": {}}}
DONE = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
WAITS = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 4}
FAILED = {"state": {"terminated": {"exitCode": 3}}}
KILLED = {"state": {"terminated": {"exitCode": 137, "signal": 9}}}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
DELETED = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
INIT = {"spec": {"initContainers": [{"name": "i"}, {"name": "j"}]}}


def init(*states):
    return {"initContainerStatuses": [{"name": name, **state} for name, state in zip("ij", states, strict=False)]}


@pytest.mark.parametrize(
    ("body", "ready", "status", "restarts"),
    [
        pytest.param(pod(phase="Pending"), "0/0", "Pending", "0", id="nothing has happened yet"),
        pytest.param(pod(RUNS, RUNS), "2/2", "Running", "0", id="all run"),
        pytest.param(pod(RUNS, WAITS), "1/2", "CrashLoopBackOff", "4", id="one comes and goes"),
        pytest.param(pod(DONE, phase="Succeeded"), "0/1", "Completed", "0", id="done"),
        pytest.param(pod(FAILED, phase="Failed"), "0/1", "ExitCode:3", "0", id="failed with a number"),
        pytest.param(pod(KILLED, phase="Failed"), "0/1", "Signal:9", "0", id="killed"),
        pytest.param(pod(DONE, RUNS, status=READY), "1/2", "Running", "0", id="one is done, the other serves"),
        pytest.param(pod(DONE, RUNS), "1/2", "NotReady", "0", id="one is done, the other not ready"),
        pytest.param(pod(DONE, FAILED), "0/2", "ExitCode:3", "0", id="one is done, the other failed"),
        pytest.param(pod(RUNS, **DELETED), "1/1", "Terminating", "0", id="deleted"),
        pytest.param(pod(DONE, phase="Succeeded", **DELETED), "0/1", "Completed", "0", id="deleted after its end"),
        pytest.param(pod(status={"reason": "NodeLost"}, **DELETED), "0/0", "Unknown", "0", id="on a lost node"),
        pytest.param(
            pod(phase="Failed", status={"reason": "Evicted"}), "0/0", "Evicted", "0", id="a reason of its own"
        ),
        pytest.param(
            pod(phase="Pending", status={"conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}),
            "0/0",
            "SchedulingGated",
            "0",
            id="gated",
        ),
        pytest.param(pod(status=init({}), **INIT), "0/0", "Init:0/2", "0", id="the first of two begins"),
        pytest.param(pod(status=init(DONE, {}), **INIT), "0/0", "Init:1/2", "0", id="the second of two begins"),
        pytest.param(pod(status=init(WAITS), **INIT), "0/0", "Init:CrashLoopBackOff", "4", id="the first cannot"),
        pytest.param(pod(status=init(FAILED), **INIT), "0/0", "Init:ExitCode:3", "0", id="the first failed"),
        pytest.param(
            pod(
                RUNS,
                spec={"initContainers": [{"name": "i", "restartPolicy": "Always"}]},
                status=init({"started": True, "ready": True, "restartCount": 1}),
            ),
            "2/2",
            "Running",
            "1",
            id="with a sidecar",
        ),
    ],
)
def test_a_pod(body, ready, status, restarts):
    cells = row("pods", body)

    assert (cells["Ready"], cells["Status"], cells["Restarts"]) == (ready, status, restarts)


def test_the_last_restart_of_a_pod_is_told():
    before = {"lastState": {"terminated": {"finishedAt": "2020-01-01T00:00:00Z"}}, "restartCount": 2, **RUNS}

    assert row("pods", pod(before))["Restarts"].startswith("2 (")


def test_a_pod_that_is_over_says_so_to_kubectl():
    made = table(served("pods"), [{"metadata": {"name": "x"}, "status": {"phase": "Failed"}}], {})

    assert made["rows"][0]["conditions"][0]["type"] == "Completed"


def test_where_a_pod_is_stands_in_wide_output():
    body = {"spec": {"nodeName": "n1"}, "status": {"podIPs": [{"ip": "10.0.0.1"}]}}

    cells = row("pods", body, wide=True)

    assert (cells["IP"], cells["Node"], cells["Nominated Node"]) == ("10.0.0.1", "n1", "<none>")


# Others


@pytest.mark.parametrize(
    ("kind", "body", "cells"),
    [
        pytest.param(
            "jobs",
            {"spec": {"completions": 3}, "status": {"succeeded": 1}},
            {"Status": "Running", "Completions": "1/3", "Duration": ""},
            id="a job that runs",
        ),
        pytest.param(
            "jobs",
            {
                "spec": {"parallelism": 4},
                "status": {
                    "conditions": [{"type": "Complete", "status": "True"}],
                    "startTime": "2026-01-01T00:00:00Z",
                    "completionTime": "2026-01-01T00:02:05Z",
                },
            },
            {"Status": "Complete", "Completions": "0/1 of 4", "Duration": "2m5s"},
            id="a job that is done",
        ),
        pytest.param(
            "jobs",
            {"status": {"conditions": [{"type": "Suspended", "status": "True"}]}},
            {"Status": "Suspended", "Completions": "0/1"},
            id="a job that waits",
        ),
        pytest.param(
            "deployments",
            {"spec": {"replicas": 2}, "status": {"readyReplicas": 1, "updatedReplicas": 2}},
            {"Ready": "1/2", "Up-to-date": 2, "Available": 0},
            id="a deployment",
        ),
        pytest.param(
            "replicasets", {"spec": {"replicas": 2}}, {"Desired": 2, "Current": 0, "Ready": 0}, id="a replica set"
        ),
        pytest.param("configmaps", {"data": {"a": "1"}, "binaryData": {"b": ""}}, {"Data": 2}, id="a config map"),
        pytest.param(
            "secrets", {"type": "Opaque", "data": {"a": "MQ=="}}, {"Type": "Opaque", "Data": 1}, id="a secret"
        ),
        pytest.param(
            "nodes",
            {
                "metadata": {"labels": {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}},
                "spec": {"unschedulable": True},
                "status": {"conditions": [{"type": "Ready", "status": "False"}], "nodeInfo": {"kubeletVersion": "v1"}},
            },
            {"Status": "NotReady,SchedulingDisabled", "Roles": "a,b", "Version": "v1"},
            id="a node",
        ),
        pytest.param("nodes", {}, {"Status": "Unknown", "Roles": "<none>"}, id="a node that nobody heard of"),
        pytest.param(
            "services",
            {
                "spec": {
                    "type": "NodePort",
                    "clusterIPs": ["10.0.0.9"],
                    "ports": [{"port": 80, "nodePort": 3000, "protocol": "TCP"}],
                }
            },
            {"Type": "NodePort", "Cluster-IP": "10.0.0.9", "External-IP": "<none>", "Port(s)": "80:3000/TCP"},
            id="a service",
        ),
        pytest.param(
            "endpoints",
            {"subsets": [{"addresses": [{"ip": f"10.0.0.{n}"} for n in range(5)], "ports": [{"port": 80}]}]},
            {"Endpoints": "10.0.0.0:80,10.0.0.1:80,10.0.0.2:80 + 2 more..."},
            id="more endpoints than fit",
        ),
        pytest.param(
            "persistentvolumeclaims",
            {
                "spec": {"volumeName": "v", "storageClassName": "fast"},
                "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
            },
            {"Status": "Bound", "Volume": "v", "Capacity": "1Gi", "Access Modes": "RWO", "StorageClass": "fast"},
            id="a claim",
        ),
        pytest.param(
            "certificatesigningrequests",
            {
                "spec": {"signerName": "s", "username": "u", "expirationSeconds": 3600},
                "status": {"conditions": [{"type": "Approved"}], "certificate": "x"},
            },
            {"SignerName": "s", "Requestor": "u", "RequestedDuration": "60m", "Condition": "Approved,Issued"},
            id="a signing request",
        ),
        pytest.param("leases", {"spec": {"holderIdentity": "me"}}, {"Holder": "me"}, id="a lease"),
        pytest.param(
            "priorityclasses",
            {"value": 7, "globalDefault": True},
            {"Value": 7, "Global-Default": True},
            id="a priority",
        ),
        pytest.param(
            "cronjobs",
            {"spec": {"schedule": "@daily", "suspend": False}},
            {"Schedule": "@daily", "Suspend": "False"},
            id="a cron job",
        ),
        pytest.param(
            "clusterrolebindings",
            {"roleRef": {"kind": "ClusterRole", "name": "r"}},
            {"Role": "ClusterRole/r"},
            id="a binding",
        ),
    ],
)
def test_cells(kind, body, cells):
    assert cells.items() <= row(kind, body).items()


@pytest.mark.parametrize(
    ("group", "body"),
    [
        (
            "",
            {
                "involvedObject": {"kind": "Pod", "name": "p"},
                "message": " m ",
                "reason": "R",
                "count": 3,
                "source": {"component": "c", "host": "h"},
            },
        ),
        (
            "events.k8s.io",
            {
                "regarding": {"kind": "Pod", "name": "p"},
                "note": " m ",
                "reason": "R",
                "deprecatedCount": 3,
                "reportingController": "c",
                "reportingInstance": "h",
            },
        ),
    ],
)
def test_an_event_looks_the_same_in_both_groups(group, body):
    cells = row("events", body, group=group, wide=True)

    assert (cells["Object"], cells["Message"], cells["Count"], cells["Source"]) == ("pod/p", "m", 3, "c, h")


def test_a_kind_without_columns_shows_when_it_was_created():
    cells = row("clusterroles", {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}})

    assert cells == {"Name": "x", "Created At": "2026-01-01T00:00:00Z"}


# Custom kinds


def custom(*columns):
    return Served(Resource("t.io", "v1", "Widget", "widgets"), ANY, is_custom=True, columns=columns)


WIDGET = {"spec": {"size": 3, "m": {"b": "2", "a": "1"}, "ok": True, "ratio": 0.5}}


@pytest.mark.parametrize(
    ("kind", "path", "cell"),
    [
        ("integer", ".spec.size", 3),
        ("number", ".spec.size", 3),
        ("string", ".spec.size", "3"),
        ("string", ".spec.m", '{"a":"1","b":"2"}'),
        ("string", ".spec.ok", "true"),
        ("boolean", ".spec.ok", True),
        ("boolean", ".spec.size", None),
        ("integer", ".spec.m", None),
        ("string", ".spec.nowhere", None),
        ("date", ".spec.m.a", "<invalid>"),
        ("string", ".spec[", None),
    ],
)
def test_a_column_of_a_custom_kind(kind, path, cell):
    assert row(custom({"name": "C", "type": kind, "jsonPath": path}), dict(WIDGET))["C"] == cell


def test_a_custom_kind_that_names_no_columns_shows_its_age():
    assert list(row(custom(), {})) == ["Name", "Age"]


def test_a_column_may_be_for_wide_output_only():
    column = {"name": "C", "type": "string", "jsonPath": ".spec.size", "priority": 1}

    assert [one.priority for one in printer_of(custom(column)).columns] == [0, 1]


# What stands beside the cells


@pytest.mark.parametrize(
    ("included", "beside"),
    [
        ("", {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "x"}}),
        ("None", None),
        ("Object", {"metadata": {"name": "x"}, "data": {}}),
    ],
)
def test_included(included, beside):
    made = table(served("configmaps"), [{"metadata": {"name": "x"}, "data": {}}], {}, included=included)

    assert made["rows"][0]["object"] == beside


def test_nothing_else_can_be_included():
    with pytest.raises(errors.BadRequest, match="must be 'Metadata', 'Object', 'None', or empty"):
        check_included({"includeObject": "All"})
