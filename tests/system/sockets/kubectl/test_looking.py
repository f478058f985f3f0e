"""kubectl looks around: get in all its forms, describe, explain, events, who am I."""

import json

import pytest
import yaml

from .manifests import DEPLOYMENT, EVENT, MANY

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


def lines(output):
    """Return a table as words, without ages, which nobody can foretell."""
    found = [line.split() for line in output.splitlines()]
    return [[word for word in line if not word.removesuffix("s").isdigit() or word.isdigit()] for line in found]


def test_version_and_discovery(kubectl, tmp_path):
    fresh = f"--cache-dir={tmp_path}"

    assert "Server Version: v1.36.3" in kubectl("version", fresh)
    resources = [line.split() for line in kubectl("api-resources", fresh).splitlines()]
    assert resources[0] == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    assert ["pods", "po", "v1", "true", "Pod"] in resources
    assert ["jobs", "batch/v1", "true", "Job"] in resources
    assert "batch/v1" in kubectl("api-versions", fresh).splitlines()
    watched = kubectl("api-resources", "--verbs=watch", "--api-group=coordination.k8s.io", "-o", "name")
    assert "leases.coordination.k8s.io\n" in watched


@pytest.mark.parametrize(
    ("kind", "columns", "row"),
    [
        ("pods", "NAME READY STATUS RESTARTS AGE", ["one", "0/2", "Pending", "0"]),
        ("deployments", "NAME READY UP-TO-DATE AVAILABLE AGE", ["one", "0/0", "0", "0"]),
        ("jobs", "NAME STATUS COMPLETIONS DURATION AGE", ["one", "Suspended", "0/1"]),
        ("secrets", "NAME TYPE DATA AGE", ["one", "Opaque", "1"]),
        (
            "services",
            "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE",
            ["one", "ClusterIP", "None", "<none>", "80/TCP"],
        ),
        ("serviceaccounts", "NAME AGE", ["one"]),
        ("leases", "NAME HOLDER AGE", ["one", "me"]),
        ("pvc", "NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE", None),
        ("roles", "NAME CREATED AT", None),
        ("rolebindings", "NAME ROLE AGE", ["one", "Role/one"]),
    ],
)
def test_get_shows_the_columns_of_a_kind(kubectl, kind, columns, row):
    kubectl("create", "-f", "-", content=MANY)

    header, found = lines(kubectl("get", kind, "--field-selector=metadata.name=one"))

    assert header == columns.split()
    assert found == row or row is None


def test_get_shows_more_columns_if_asked(kubectl):
    kubectl("create", "-f", "-", content=MANY)

    assert kubectl("get", "pods", "-o", "wide").splitlines()[0].split()[5:7] == ["IP", "NODE"]
    wide = lines(kubectl("get", "deploy", "-o", "wide"))[1]
    assert wide[-3:] == ["c", "i", "a=b"]
    assert "app=web" not in kubectl("get", "pods", "--show-labels")
    everywhere = kubectl("get", "cm", "-A").splitlines()
    assert everywhere[0].split() == ["NAMESPACE", "NAME", "DATA", "AGE"]
    assert "No resources found" in kubectl("get", "limitranges")
    assert kubectl("get", "deploy,jobs", "-o", "name").split() == ["deployment.apps/one", "job.batch/one"]


def test_get_in_other_forms(kubectl):
    kubectl("create", "configmap", "one", "--from-literal=a=1")

    assert kubectl("get", "cm", "one", "-o", "jsonpath={.data.a}") == "1"
    assert kubectl("get", "cm", "one", "-o", "go-template={{.data.a}}") == "1"
    assert yaml.safe_load(kubectl("get", "cm", "one", "-o", "yaml"))["data"] == {"a": "1"}
    assert json.loads(kubectl("get", "cm", "one", "-o", "json"))["data"] == {"a": "1"}
    assert json.loads(kubectl("get", "cm", "-o", "json"))["kind"] == "List"
    assert "configmap/one" in kubectl("get", "cm", "-o", "name").split()
    columns = ("-o", "custom-columns=N:.metadata.name,D:.data.a", "--no-headers")
    assert kubectl("get", "cm", "one", *columns).split() == ["one", "1"]
    assert "one" in kubectl("get", "cm", "--field-selector=metadata.name=one")
    assert "No resources found" in kubectl("get", "cm", "-l", "a=b")
    assert "managedFields" not in kubectl("get", "cm", "one", "-o", "yaml")
    assert "kubectl-create" in kubectl("get", "cm", "one", "-o", "yaml", "--show-managed-fields")


def test_get_in_pages_and_in_order(kubectl):
    for number in range(5):
        kubectl("create", "configmap", f"c{number}")

    selector = "--field-selector=metadata.name!=kube-root-ca.crt"
    paged = kubectl("get", "cm", "--chunk-size=2", selector, "-o", "name", "--sort-by=.metadata.name").split()
    assert paged == [f"configmap/c{number}" for number in range(5)]
    assert len(kubectl("get", "cm", "--chunk-size=2", selector, "--no-headers").splitlines()) == 5


def test_get_goes_on_watching(kubectl):
    selector = "--field-selector=metadata.name!=kube-root-ca.crt"
    with kubectl.start("get", "cm", "-w", selector, "--output-watch-events") as watching:
        kubectl("create", "configmap", "one")
        header, added = (watching.stdout.readline().split() for _ in range(2))
        kubectl("delete", "configmap", "one")
        deleted = watching.stdout.readline().split()
        watching.terminate()

    assert header == ["EVENT", "NAME", "DATA", "AGE"]
    assert (added[:3], deleted[:3]) == (["ADDED", "one", "0"], ["DELETED", "one", "0"])


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("pod/one", ["Containers:", "Image:", "Events:"]),
        ("deploy/one", ["Replicas:", "StrategyType:", "Pod Template:"]),
        ("job/one", ["Parallelism:", "Completion Mode:"]),
        ("secret/one", ["Type:", "Opaque", "a:  1 bytes"]),
        ("service/one", ["Selector:", "a=b", "Endpoints:"]),
        ("quota/one", ["Resource", "Used", "Hard"]),
        ("role/one", ["PolicyRule:"]),
        ("lease/one", ["Holder Identity:", "me"]),
        ("pvc/one", ["StorageClass:", "Access Modes:"]),
        ("namespace/default", ["No resource quota."]),
        ("clusterrole/view", ["configmaps"]),
    ],
)
def test_describe(kubectl, what, told):
    kubectl("create", "-f", "-", content=MANY)

    described = kubectl("describe", what)

    assert [word for word in told if word not in described] == []


def test_explain(kubectl):
    explained = kubectl("explain", "job.spec.template.spec.containers.ports")

    assert "FIELD: ports <[]ContainerPort>" in explained
    assert "containerPort\t<integer> -required-" in explained
    assert "parallelism" in kubectl("explain", "jobs", "--recursive")
    assert "does not exist" in kubectl("explain", "job.spec.nothing", code=1)


def test_who_am_i_and_what_may_i(kubectl):
    assert "system:masters" in kubectl("auth", "whoami")
    assert "kubernetes-admin" in kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert "no" in kubectl("auth", "can-i", "create", "pods", "--as=bob", code=1)
    assert "selfsubjectreviews" in kubectl("auth", "can-i", "--list", "--as=bob")
    assert 'User "bob" cannot list resource "pods"' in kubectl("get", "pods", "--as=bob", code=1)
    kubectl("create", "rolebinding", "b", "--clusterrole=view", "--user=bob")
    assert kubectl("auth", "can-i", "get", "pods", "--as=bob") == "yes\n"
    assert "no" in kubectl("auth", "can-i", "get", "secrets", "--as=bob", code=1)
    assert "deployments.apps" in kubectl("auth", "can-i", "--list", "--as=bob")


def test_events(kubectl):
    kubectl("create", "-f", "-", content=EVENT % kubectl.space)

    assert "it runs" in kubectl("events")
    assert "it runs" in kubectl("events", "--for", "pod/web")
    assert "it runs" not in kubectl("events", "--for", "pod/other")
    assert "it runs" in kubectl("events", "--types=Normal")
    assert kubectl("get", "events").splitlines()[0].split() == "LAST SEEN TYPE REASON OBJECT MESSAGE".split()


def test_what_is_applied_last_can_be_seen(kubectl):
    kubectl("apply", "-f", "-", content=DEPLOYMENT % 0)

    assert yaml.safe_load(kubectl("apply", "view-last-applied", "deploy/web"))["spec"]["replicas"] == 0
