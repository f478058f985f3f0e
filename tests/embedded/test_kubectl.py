"""kubectl itself against an embedded cluster: the commands that people type."""

import asyncio

import pytest

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: %s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: "nginx:1", ports: [{containerPort: 80}]}
      - {name: d, image: "nginx:1"}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.t.io}
spec:
  group: t.io
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, minimum: 1}
              parts: {type: array, items: {type: string}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Admitted, type: string, jsonPath: ".status.conditions[?(@.type=='Admitted')].status"}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
"""
WIDGET = """
apiVersion: t.io/v1
kind: Widget
metadata: {name: w}
spec: {size: %s, parts: [a, b]}
"""


def lines(output):
    """Return a table as words, without ages, which nobody can foretell."""
    found = [line.split() for line in output.splitlines()]
    return [[word for word in line if not word.removesuffix("s").isdigit() or word.isdigit()] for line in found]


# Looking around


async def test_version_and_discovery(kubectl):
    assert "Server Version: v1.36.3+fleetqueue" in await kubectl("version")
    resources = await kubectl("api-resources")
    assert "po" in resources
    assert "batch/v1" in resources
    assert "batch/v1" in await kubectl("api-versions")


async def test_get_shows_the_columns_of_a_kind(kubectl):
    await kubectl("create", "configmap", "one", "--from-literal=a=1")

    assert lines(await kubectl("get", "configmaps")) == [["NAME", "DATA", "AGE"], ["one", "1"]]
    assert lines(await kubectl("get", "cm", "-A")) == [["NAMESPACE", "NAME", "DATA", "AGE"], ["default", "one", "1"]]
    assert (await kubectl("get", "ns")).splitlines()[0].split() == ["NAME", "STATUS", "AGE"]
    assert "No resources found" in await kubectl("get", "pods")


async def test_get_in_other_forms(kubectl):
    await kubectl("create", "configmap", "one", "--from-literal=a=1")

    assert await kubectl("get", "cm", "one", "-o", "jsonpath={.data.a}") == "1"
    assert 'a: "1"' in await kubectl("get", "cm", "one", "-o", "yaml")
    assert await kubectl("get", "cm", "-o", "name") == "configmap/one\n"
    assert await kubectl("get", "cm", "-o", "custom-columns=N:.metadata.name", "--no-headers") == "one\n"
    assert "one" in await kubectl("get", "cm", "--field-selector=metadata.name=one")
    assert "No resources found" in await kubectl("get", "cm", "-l", "a=b")


async def test_get_in_pages(kubectl):
    for number in range(5):
        await kubectl("create", "configmap", f"c{number}")

    assert len((await kubectl("get", "cm", "--chunk-size=2", "--no-headers")).splitlines()) == 5


async def test_get_goes_on_watching(kubectl):
    process = await asyncio.create_subprocess_exec(
        str(kubectl.program), "get", "cm", "-w", env=kubectl.environ, stdout=asyncio.subprocess.PIPE
    )
    try:
        await kubectl("create", "configmap", "one")
        header = await asyncio.wait_for(process.stdout.readline(), 10)
        row = await asyncio.wait_for(process.stdout.readline(), 10)
    finally:
        process.terminate()
        await process.wait()

    assert header.split() == [b"NAME", b"DATA", b"AGE"]
    assert row.split()[:2] == [b"one", b"0"]


async def test_describe(kubectl):
    await kubectl("run", "web", "--image=nginx", "--labels=a=b")

    described = await kubectl("describe", "pod", "web")

    assert "Image:" in described
    assert "a=b" in described
    assert "Events:" in described


async def test_explain(kubectl):
    explained = await kubectl("explain", "job.spec.template.spec.containers.ports")

    assert "FIELD: ports <[]ContainerPort>" in explained
    assert "containerPort\t<integer> -required-" in explained
    assert "parallelism" in await kubectl("explain", "jobs", "--recursive")
    assert "does not exist" in await kubectl("explain", "job.spec.nothing", code=1)


async def test_who_am_i_and_what_may_i(kubectl):
    assert "system:masters" in await kubectl("auth", "whoami")
    assert await kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert "no" in await kubectl("auth", "can-i", "create", "pods", "--as=bob", code=1)
    assert 'User "bob" cannot list resource "pods"' in await kubectl("get", "pods", "--as=bob", code=1)


async def test_events(kubectl):
    event = """
apiVersion: v1
kind: Event
metadata: {name: e}
involvedObject: {apiVersion: v1, kind: Pod, name: web, namespace: default}
reason: Started
type: Normal
message: it runs
lastTimestamp: "2026-01-01T00:00:00Z"
"""
    await kubectl("create", "-f", "-", content=event)

    assert "it runs" in await kubectl("events")
    assert "it runs" in await kubectl("events", "--for", "pod/web")
    assert (await kubectl("get", "events")).splitlines()[0].split() == "LAST SEEN TYPE REASON OBJECT MESSAGE".split()


# Making and changing


async def test_create_makes_objects_of_many_kinds(kubectl):
    await kubectl("create", "namespace", "team")
    for arguments in (
        ("job", "j", "--image=x"),
        ("cronjob", "c", "--image=x", "--schedule=@daily"),
        ("deployment", "d", "--image=x"),
        ("secret", "generic", "s", "--from-literal=a=1"),
        ("serviceaccount", "a"),
        ("role", "r", "--verb=get", "--resource=pods"),
        ("rolebinding", "b", "--role=r", "--user=bob"),
        ("quota", "q", "--hard=pods=1"),
    ):
        assert "created" in await kubectl("create", *arguments, "-n", "team")

    assert await kubectl("auth", "can-i", "get", "pods", "--as=bob", "-n", "team") == "yes\n"


async def test_create_refuses_what_is_there(kubectl):
    await kubectl("create", "configmap", "one")

    assert 'configmaps "one" already exists' in await kubectl("create", "configmap", "one", code=1)


async def test_apply_makes_changes_and_does_nothing(kubectl):
    assert "created" in await kubectl("apply", "-f", "-", content=DEPLOYMENT % 1)
    assert "configured" in await kubectl("apply", "-f", "-", content=DEPLOYMENT % 2)
    assert "unchanged" in await kubectl("apply", "-f", "-", content=DEPLOYMENT % 2)
    without = DEPLOYMENT.replace('      - {name: d, image: "nginx:1"}\n', "") % 2
    assert "configured" in await kubectl("apply", "-f", "-", content=without)
    assert await kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[*].name}") == "c"


async def test_apply_on_the_server(kubectl):
    assert "serverside-applied" in await kubectl("apply", "--server-side", "-f", "-", content=DEPLOYMENT % 1)
    await kubectl("patch", "deploy", "web", "-p", '{"spec":{"replicas":7}}')
    refused = await kubectl("apply", "--server-side", "-f", "-", content=DEPLOYMENT % 1, code=1)
    assert 'conflict with "kubectl-patch"' in refused
    forced = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    assert "serverside-applied" in await kubectl(*forced, content=DEPLOYMENT % 1)


async def test_apply_on_the_server_takes_over_from_apply_on_the_client(kubectl):
    await kubectl("apply", "-f", "-", content=DEPLOYMENT % 1)

    assert "serverside-applied" in await kubectl("apply", "--server-side", "-f", "-", content=DEPLOYMENT % 3)
    assert await kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "3"


async def test_diff_tells_and_changes_nothing(kubectl):
    await kubectl("apply", "-f", "-", content=DEPLOYMENT % 1)

    told = await kubectl("diff", "-f", "-", content=DEPLOYMENT % 2, code=1)

    assert "-  replicas: 1" in told
    assert "+  replicas: 2" in told
    assert await kubectl("diff", "-f", "-", content=DEPLOYMENT % 1) == ""


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", '{"spec":{"replicas":7}}'),
        ("merge", '{"spec":{"replicas":7}}'),
        ("json", '[{"op":"replace","path":"/spec/replicas","value":7}]'),
    ],
)
async def test_patch(kubectl, kind, patch):
    await kubectl("apply", "-f", "-", content=DEPLOYMENT % 1)

    assert "patched" in await kubectl("patch", "deploy", "web", f"--type={kind}", "-p", patch)
    assert "no change" in await kubectl("patch", "deploy", "web", f"--type={kind}", "-p", patch)
    assert await kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "7"


async def test_patch_of_the_status(kubectl):
    await kubectl("apply", "-f", "-", content=DEPLOYMENT % 1)

    await kubectl("patch", "deploy", "web", "--subresource=status", "-p", '{"status":{"readyReplicas":1,"replicas":1}}')

    assert (await kubectl("get", "deploy", "web", "--no-headers")).split()[1] == "1/1"


async def test_edit(kubectl, tmp_path):
    await kubectl("create", "configmap", "one", "--from-literal=a=before")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/before/after/ "$1"\n')
    editor.chmod(0o755)
    kubectl.environ["KUBE_EDITOR"] = str(editor)

    assert "edited" in await kubectl("edit", "cm", "one")
    assert await kubectl("get", "cm", "one", "-o", "jsonpath={.data.a}") == "after"


async def test_label_and_annotate(kubectl):
    await kubectl("create", "configmap", "one")

    assert "labeled" in await kubectl("label", "cm", "one", "a=b")
    assert "annotated" in await kubectl("annotate", "cm", "one", "x=y")
    assert "one" in await kubectl("get", "cm", "-l", "a in (b,c)")
    assert "unlabeled" in await kubectl("label", "cm", "one", "a-")


async def test_scale_and_restart(kubectl):
    await kubectl("apply", "-f", "-", content=DEPLOYMENT % 1)

    assert "scaled" in await kubectl("scale", "deploy", "web", "--replicas=3")
    assert await kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "3"
    assert "restarted" in await kubectl("rollout", "restart", "deploy/web")


async def test_a_node_is_closed_and_opened(kubectl):
    await kubectl("create", "-f", "-", content="{apiVersion: v1, kind: Node, metadata: {name: n1}}")

    assert "cordoned" in await kubectl("cordon", "n1")
    assert "SchedulingDisabled" in await kubectl("get", "node", "n1")
    assert "tainted" in await kubectl("taint", "node", "n1", "a=b:NoSchedule")
    assert "uncordoned" in await kubectl("uncordon", "n1")


async def test_a_token_of_a_service_account_says_who_one_is(kubectl):
    await kubectl("create", "serviceaccount", "robot")
    token = (await kubectl("create", "token", "robot")).strip()
    kubectl.environ["KUBECONFIG"] = kubectl.without_certificate()

    assert "system:serviceaccount:default:robot" in await kubectl("auth", "whoami", f"--token={token}")
    assert "Unauthorized" in await kubectl("auth", "whoami", "--token=nonsense", code=1)


async def test_replace(kubectl):
    await kubectl("create", "-f", "-", content=DEPLOYMENT % 1)

    assert "replaced" in await kubectl("replace", "-f", "-", content=DEPLOYMENT % 4)


async def test_dry_run(kubectl):
    made = await kubectl("create", "configmap", "one", "--dry-run=server", "-o", "yaml")

    assert "uid:" in made
    assert "No resources found" in await kubectl("get", "cm")


async def test_a_field_that_nobody_knows_is_refused(kubectl):
    manifest = (DEPLOYMENT % 1).replace("replicas", "replicaz")

    assert 'unknown field "spec.replicaz"' in await kubectl("create", "-f", "-", content=manifest, code=1)


# Waiting and deleting


async def test_wait_for_a_value(kubectl):
    await kubectl("apply", "-f", "-", content=DEPLOYMENT % 1)
    waiting = asyncio.create_task(kubectl("wait", "deploy/web", "--for=jsonpath={.spec.replicas}=2", "--timeout=20s"))
    await asyncio.sleep(0.5)
    await kubectl("patch", "deploy", "web", "-p", '{"spec":{"replicas":2}}')

    assert "condition met" in await waiting


async def test_wait_for_the_end(kubectl):
    await kubectl("create", "configmap", "one")
    waiting = asyncio.create_task(kubectl("wait", "cm/one", "--for=delete", "--timeout=20s"))
    await asyncio.sleep(0.5)
    await kubectl("delete", "cm", "one")

    await waiting


async def test_delete_waits_for_finalizers(kubectl):
    await kubectl("create", "configmap", "one")
    await kubectl("patch", "cm", "one", "-p", '{"metadata":{"finalizers":["t.io/f"]}}')
    deleting = asyncio.create_task(kubectl("delete", "cm", "one", "--wait"))
    await asyncio.sleep(0.5)
    assert not deleting.done()
    await kubectl("patch", "cm", "one", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')

    assert "deleted" in await deleting


@pytest.mark.parametrize(("cascade", "finalizer"), [("foreground", "foregroundDeletion"), ("orphan", "orphan")])
async def test_delete_leaves_it_to_the_collector_what_becomes_of_dependents(kubectl, cascade, finalizer):
    await kubectl("apply", "-f", "-", content=DEPLOYMENT % 1)

    await kubectl("delete", "deploy", "web", f"--cascade={cascade}", "--wait=false")

    assert finalizer in await kubectl("get", "deploy", "web", "-o", "jsonpath={.metadata.finalizers}")


async def test_delete_many(kubectl):
    for name in ("one", "two"):
        await kubectl("create", "configmap", name)

    assert "deleted" in await kubectl("delete", "cm", "--all")
    assert 'configmaps "one" not found' in await kubectl("get", "cm", "one", code=1)
    assert await kubectl("delete", "cm", "one", "--ignore-not-found") == ""


# Custom kinds


async def test_a_custom_kind(kubectl):
    await kubectl("apply", "-f", "-", content=DEFINITION)
    await kubectl("wait", "crd/widgets.t.io", "--for=condition=Established", "--timeout=10s")
    assert "created" in await kubectl("apply", "-f", "-", content=WIDGET % 1)
    assert "configured" in await kubectl("apply", "-f", "-", content=WIDGET % 2)
    status = '{"status":{"conditions":[{"type":"Admitted","status":"True"}]}}'
    await kubectl("patch", "wd", "w", "--subresource=status", "--type=merge", "-p", status)

    assert lines(await kubectl("get", "widgets")) == [["NAME", "SIZE", "ADMITTED", "AGE"], ["w", "2", "True"]]
    assert "parts\t<[]string>" in await kubectl("explain", "widget.spec")
    assert "condition met" in await kubectl("wait", "wd/w", "--for=condition=Admitted", "--timeout=10s")
    assert "should be greater than or equal to 1" in await kubectl("apply", "-f", "-", content=WIDGET % 0, code=1)
    assert 'unknown field "spec.more"' in await kubectl("apply", "-f", "-", content=WIDGET % "1, more: 1", code=1)
    assert "deleted" in await kubectl("delete", "widget", "w")
