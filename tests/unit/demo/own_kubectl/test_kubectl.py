"""The commands on a cluster: what they print, what they leave, and how they fail."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap, Namespace
from fleetqueue.manifests import example
from fleetqueue.real.kubectl import KubectlFailed
from fleetqueue.testing.virtual_time import settle

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: x}\n"


def check(name, **metadata):
    manifest = kueue.AdmissionCheck.manifest(name, spec={"controllerName": "example.com/nobody"})
    manifest["metadata"] |= metadata
    return manifest


async def test_get_lays_out_the_columns_of_a_kind(api, kubectl):
    api.add(check("one"), check("another"))

    printed = (await kubectl("get admissionchecks")).splitlines()

    assert [line.split()[0] for line in printed] == ["NAME", "another", "one"]


async def test_get_of_several_kinds_names_them(api, kubectl):
    api.add(check("one"), ConfigMap.manifest("one", "default"))

    printed = await kubectl("get admissionchecks,configmaps --no-headers --field-selector metadata.name=one")

    assert [line.split()[0] for line in printed.splitlines()] == ["admissioncheck.kueue.x-k8s.io/one", "configmap/one"]


async def test_get_everywhere_tells_the_namespaces(api, kubectl):
    api.add(ConfigMap.manifest("one", "team-a"))

    printed = await kubectl("get cm -A --field-selector metadata.name=one")

    assert [line.split()[:2] for line in printed.splitlines()] == [["NAMESPACE", "NAME"], ["team-a", "one"]]


async def test_an_api_whose_server_is_away_does_not_hide_the_other_kinds(api, kubectl):
    def is_away(request):
        raise errors.ServerError("service unavailable", code=503)

    api.answers["GET /apis/apps/v1"] = is_away
    api.add(check("one"))

    printed = await kubectl("get admissionchecks --no-headers")

    assert printed.split()[0] == "one"


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("get jobs", "No resources found in default namespace.\n"),
        ("get jobs -A", "No resources found\n"),
        ("get clusterqueues", "No resources found\n"),
        ("get jobs none --ignore-not-found", ""),
        ("delete job none --ignore-not-found", ""),
        ("delete jobs --all", "No resources found\n"),
    ],
)
async def test_nothing_is_said_in_kubectls_words(kubectl, line, printed):
    assert await kubectl(line) == printed


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("get nothings", """error: the server doesn't have a resource type "nothings\""""),
        ("get job none", 'Error from server (NotFound): jobs.batch "none" not found'),
        ("delete job none", 'Error from server (NotFound): jobs.batch "none" not found'),
        ("get jobs --context nowhere", 'error: context "nowhere" does not exist'),
        ("sing", 'error: unknown command "sing" for "kubectl"'),
        ("delete jobs", "error: resource(s) were provided, but no name was specified"),
        ("apply -f nowhere.yaml", 'error: the path "nowhere.yaml" does not exist'),
        ("wait cm/none --for=sun", 'error: unrecognized condition: "sun"'),
    ],
)
async def test_refusals_are_kubectls(kubectl, line, told):
    with pytest.raises(KubectlFailed) as failed:
        await kubectl(line)

    assert str(failed.value) == f"kubectl {line}: {told}"


async def test_apply_tells_what_it_did_and_takes_away_what_is_left_out(api, kubectl):
    said = [await kubectl("apply -f -", text) for text in (MAP, MAP, MAP.replace("a: x", "b: z"))]

    assert said == [f"configmap/one {how}\n" for how in ("created", "unchanged", "configured")]
    assert api.raw(ConfigMap, "one", "default")["data"] == {"b": "z"}


async def test_what_apply_cannot_do_does_not_stop_the_rest(api, kubectl):
    lost = MAP.replace("name: one", "name: lost, namespace: nowhere")

    with pytest.raises(KubectlFailed, match='namespaces "nowhere" not found'):
        await kubectl("apply -f -", f"{lost}---\n{MAP}")

    assert api.get(ConfigMap, "one", "default") is not None


async def test_apply_leaves_the_note_that_kubectl_looks_for(api, kubectl):
    await kubectl("apply -f -", MAP)

    (note,) = api.raw(ConfigMap, "one", "default")["metadata"]["annotations"].values()
    assert note == (
        '{"apiVersion":"v1","data":{"a":"x"},"kind":"ConfigMap",'
        '"metadata":{"annotations":{},"name":"one","namespace":"default"}}\n'
    )


async def test_create_tells_the_name_that_was_made(kubectl):
    printed = await kubectl(["create", "-f", str(example("job-demo1.yaml"))])

    assert printed.startswith("job.batch/demo1-job")
    assert printed.endswith(" created\n")


async def test_an_example_is_applied_and_deleted(api, kubectl):
    path = str(example("multikueue-setup-demo1.yaml"))

    applied = await kubectl(["apply", "-f", path])
    deleted = await kubectl(["delete", "-f", path, "--timeout=60s"])

    assert "admissioncheck.kueue.x-k8s.io/multikueue-demo1 created" in applied.splitlines()
    assert 'localqueue.kueue.x-k8s.io "user-queue-demo1" deleted from default namespace' in deleted.splitlines()
    assert api.list(kueue.AdmissionCheck) == []


async def test_delete_waits_until_the_last_finalizer_has_gone(api, kubectl):
    api.add(check("held", finalizers=["example.com/hold"]))

    deleting = asyncio.create_task(kubectl("delete admissioncheck held --timeout=60s"))
    await settle()
    waited = not deleting.done()
    api.change(kueue.AdmissionCheck, "held", metadata={"finalizers": []})

    assert waited
    assert await deleting == 'admissioncheck.kueue.x-k8s.io "held" deleted\n'


@pytest.mark.embedded_only("on a real server a minute does not pass while it is waited for")
async def test_delete_gives_up(api, kubectl):
    api.add(check("held", finalizers=["example.com/hold"]))

    with pytest.raises(KubectlFailed, match="timed out waiting for the condition on admissionchecks/held"):
        await kubectl("delete admissioncheck held --timeout=60s")


async def test_delete_need_not_wait(api, kubectl):
    api.add(check("held", finalizers=["example.com/hold"]))

    await kubectl("delete admissioncheck held --wait=false")

    assert api.get(kueue.AdmissionCheck, "held").is_deleting
    api.change(kueue.AdmissionCheck, "held", metadata={"finalizers": []})


@pytest.mark.parametrize(
    ("changes", "printed", "labels"),
    [
        ("c=d", "configmap/one labeled\n", {"a": "b", "c": "d"}),
        ("a-", "configmap/one unlabeled\n", {}),
        ("a=c --overwrite", "configmap/one labeled\n", {"a": "c"}),
        ("a=b", "configmap/one not labeled\n", {"a": "b"}),
        ("a- c=d", "configmap/one modified\n", {"c": "d"}),
        ("c-", 'label "c" not found.\nconfigmap/one not labeled\n', {"a": "b"}),
    ],
)
async def test_label(api, kubectl, changes, printed, labels):
    api.add(ConfigMap.manifest("one", "default", labels={"a": "b"}))

    assert await kubectl(f"label cm one {changes}") == printed
    assert api.get(ConfigMap, "one", "default").metadata.labels == labels


async def test_label_overwrites_only_if_told(api, kubectl):
    api.add(ConfigMap.manifest("one", "default", labels={"a": "b"}))

    with pytest.raises(KubectlFailed, match=r"'a' already has a value \(b\), and --overwrite is false"):
        await kubectl("label cm one a=c")


async def test_patch_tells_whether_anything_changed(api, kubectl):
    api.add(ConfigMap.manifest("one", "default"))

    said = [await kubectl(["patch", "cm", "one", "--type=merge", "-p", '{"data":{"a":"b"}}']) for _ in range(2)]

    assert said == ["configmap/one patched\n", "configmap/one patched (no change)\n"]


async def test_wait_ends_with_the_change_that_it_waits_for(api, kubectl):
    api.add(ConfigMap.manifest("one", "default"))

    waiting = asyncio.create_task(kubectl("wait cm/one --for=jsonpath={.data.a}=b --timeout=60s"))
    await settle()
    api.change(ConfigMap, "one", "default", data={"a": "b"})

    assert await waiting == "configmap/one condition met\n"


async def test_namespaces_and_names_of_kinds(api, kubectl):
    assert await kubectl("create namespace more") == "namespace/more created\n"
    assert api.get(Namespace, "more") is not None
    assert "admissionchecks.kueue.x-k8s.io" in (await kubectl("api-resources --verbs=list -o name")).split()
