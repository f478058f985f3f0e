"""kubectl waits and deletes, with and without what belongs to an object; and custom kinds from birth to death."""

import pytest

from .manifests import DEFINITION, DEPLOYMENT, WIDGET

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


def has_begun(waiting):
    """Wait until a kubectl that tells its requests has opened a watch; return what it told."""
    told = ""
    while "watch=true" not in told:
        line = waiting.stdout.readline()
        assert line, told
        told += line
    return told


def test_wait_for_a_value(kubectl):
    kubectl("create", "configmap", "one", "--from-literal=a=1")

    with kubectl.start("wait", "cm/one", "--for=jsonpath={.data.a}=2", "--timeout=60s", "-v=6") as waiting:
        has_begun(waiting)
        kubectl("patch", "cm", "one", "-p", '{"data":{"a":"2"}}')

        assert "condition met" in waiting.stdout.read()


def test_wait_for_the_end(kubectl):
    kubectl("create", "configmap", "one")

    with kubectl.start("wait", "cm/one", "--for=delete", "--timeout=60s", "-v=6") as waiting:
        has_begun(waiting)
        kubectl("delete", "cm", "one")
        waiting.stdout.read()

    assert waiting.returncode == 0


def test_wait_gives_up(kubectl):
    kubectl("create", "configmap", "one")

    told = kubectl("wait", "cm/one", "--for=jsonpath={.data.a}=2", "--timeout=1s", code=1)

    assert "timed out waiting for the condition" in told


def test_delete_waits_for_finalizers(kubectl):
    kubectl("create", "configmap", "one")
    kubectl("patch", "cm", "one", "-p", '{"metadata":{"finalizers":["t.io/f"]}}')

    with kubectl.start("delete", "cm", "one", "--wait", "-v=6") as deleting:
        has_begun(deleting)
        is_waiting = deleting.poll() is None
        kubectl("patch", "cm", "one", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        deleting.stdout.read()

    assert is_waiting
    assert deleting.returncode == 0


def test_delete_without_waiting(kubectl):
    kubectl("create", "configmap", "one")
    kubectl("patch", "cm", "one", "-p", '{"metadata":{"finalizers":["t.io/f"]}}')

    assert "deleted" in kubectl("delete", "cm", "one", "--wait=false")
    assert kubectl("get", "cm", "one", "-o", "jsonpath={.metadata.deletionTimestamp}")
    kubectl("patch", "cm", "one", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


@pytest.mark.parametrize(("cascade", "left"), [("foreground", ""), ("background", ""), ("orphan", "1")])
def test_delete_decides_what_becomes_of_dependents(kubectl, cascade, left):
    kubectl("apply", "-f", "-", content=DEPLOYMENT % 0)
    sets = ("get", "rs", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.generation}")
    kubectl.eventually(*sets, prints="1")

    kubectl("delete", "deploy", "web", f"--cascade={cascade}", "--timeout=60s")

    kubectl.eventually(*sets, prints=left)
    assert "NotFound" in kubectl("get", "deploy", "web", code=1)


def test_delete_many(kubectl):
    for name in ("one", "two"):
        kubectl("create", "configmap", name)

    assert "deleted" in kubectl("delete", "cm", "--all")
    assert 'configmaps "one" not found' in kubectl("get", "cm", "one", code=1)
    assert kubectl("delete", "cm", "one", "--ignore-not-found") == ""
    kubectl("create", "configmap", "three")
    kubectl("label", "cm", "three", "a=b")
    assert "deleted" in kubectl("delete", "cm", "-l", "a=b", "--grace-period=0", "--force")


def test_delete_of_a_namespace_takes_all_with_it(kubectl):
    name = f"{kubectl.space}-more"
    kubectl("create", "namespace", name)
    kubectl("create", "configmap", "one", "-n", name)

    kubectl("delete", "namespace", name, "--timeout=60s")

    assert "No resources found" in kubectl("get", "cm", "-n", name)


def test_a_custom_kind(kubectl, editor):
    kubectl("apply", "-f", "-", content=DEFINITION)
    try:
        kubectl("wait", "crd/widgets.t.io", "--for=condition=Established", "--timeout=60s")
        assert "created" in kubectl("apply", "-f", "-", content=WIDGET % 1)
        assert "configured" in kubectl("apply", "-f", "-", content=WIDGET % 2)
        status = '{"status":{"conditions":[{"type":"Admitted","status":"False"}]}}'
        kubectl("patch", "wd", "w", "--subresource=status", "--type=merge", "-p", status)
        editor('s/status: "False"/status: "True"/')
        assert "edited" in kubectl("edit", "wd", "w", "--subresource=status")

        header, row = (line.split() for line in kubectl("get", "widgets").splitlines())
        assert (header, row[:3]) == (["NAME", "SIZE", "ADMITTED", "AGE"], ["w", "2", "True"])
        assert "parts\t<[]string>" in kubectl("explain", "widget.spec")
        assert "Admitted" in kubectl("describe", "wd", "w")
        assert "condition met" in kubectl("wait", "wd/w", "--for=condition=Admitted", "--timeout=60s")
        assert "should be greater than or equal to 1" in kubectl("apply", "-f", "-", content=WIDGET % 0, code=1)
        assert 'unknown field "spec.more"' in kubectl("apply", "-f", "-", content=WIDGET % "1, more: 1", code=1)
        assert "serverside-applied" in kubectl("apply", "--server-side", "-f", "-", content=WIDGET % 2)
        assert "deleted" in kubectl("delete", "widget", "w")
    finally:
        kubectl("delete", "crd", "widgets.t.io", "--timeout=60s")
