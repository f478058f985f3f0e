"""kubectl makes and changes objects: create, apply, diff, patch, edit, label, scale, replace, create token."""

from pathlib import Path

import pytest
import yaml

from .manifests import DEPLOYMENT, LIST, SET

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


def test_create_makes_objects_of_many_kinds(kubectl):
    for arguments in (
        ("job", "j", "--image=x"),
        ("cronjob", "c", "--image=x", "--schedule=@yearly"),
        ("deployment", "d", "--image=x", "--replicas=0"),
        ("secret", "generic", "s", "--from-literal=a=1"),
        ("serviceaccount", "a"),
        ("role", "r", "--verb=get", "--resource=pods"),
        ("rolebinding", "b", "--role=r", "--user=bob"),
        ("quota", "q", "--hard=pods=1"),
        ("service", "clusterip", "v", "--clusterip=None"),
        ("ingress", "i", "--rule=host/path=v:80"),
        ("poddisruptionbudget", "p", "--selector=a=b", "--min-available=1"),
    ):
        assert "created" in kubectl("create", *arguments)

    assert kubectl("auth", "can-i", "get", "pods", "--as=bob") == "yes\n"


def test_a_list_of_objects_is_made(kubectl):
    assert kubectl("create", "-f", "-", content=LIST) == "configmap/one created\nsecret/two created\n"
    assert "configured" in kubectl("apply", "-f", "-", content=LIST)


def test_create_refuses_what_is_there(kubectl):
    kubectl("create", "configmap", "one")

    assert 'configmaps "one" already exists' in kubectl("create", "configmap", "one", code=1)


def test_apply_makes_changes_and_does_nothing(kubectl):
    assert "created" in kubectl("apply", "-f", "-", content=DEPLOYMENT % 0)
    assert "configured" in kubectl("apply", "-f", "-", content=DEPLOYMENT.replace("nginx:1", "nginx:2") % 0)
    assert "unchanged" in kubectl("apply", "-f", "-", content=DEPLOYMENT.replace("nginx:1", "nginx:2") % 0)
    without = DEPLOYMENT.replace('      - {name: d, image: "nginx:1"}\n', "") % 0
    assert "configured" in kubectl("apply", "-f", "-", content=without)
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[*].name}") == "c"


def test_apply_on_the_server(kubectl):
    assert "serverside-applied" in kubectl("apply", "--server-side", "-f", "-", content=DEPLOYMENT % 0)
    kubectl("patch", "deploy", "web", "-p", '{"spec":{"minReadySeconds":7,"replicas":1}}')
    refused = kubectl("apply", "--server-side", "-f", "-", content=DEPLOYMENT % 0, code=1)
    assert 'conflict with "kubectl-patch"' in refused
    forced = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    assert "serverside-applied" in kubectl(*forced, content=DEPLOYMENT % 0)
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas} {.spec.minReadySeconds}") == "0 7"


def test_apply_on_the_server_takes_over_from_apply_on_the_client(kubectl):
    kubectl("apply", "-f", "-", content=DEPLOYMENT % 0)

    changed = DEPLOYMENT.replace("nginx:1", "nginx:3") % 0
    assert "serverside-applied" in kubectl("apply", "--server-side", "-f", "-", content=changed)
    images = kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[*].image}")
    assert images == "nginx:3 nginx:3"


def test_apply_prunes_what_is_no_longer_there(kubectl):
    def maps(*names):
        metadata = [{"name": name, "namespace": kubectl.space, "labels": {"set": kubectl.space}} for name in names]
        return "---\n".join(
            yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": one}) for one in metadata
        )

    prune = ("apply", "--prune", "-l", f"set={kubectl.space}", "--prune-allowlist=core/v1/ConfigMap", "-f", "-")
    kubectl(*prune, content=maps("one", "two"))

    assert "configmap/two pruned" in kubectl(*prune, content=maps("one"))


def test_diff_tells_and_changes_nothing(kubectl):
    kubectl("apply", "-f", "-", content=DEPLOYMENT % 0)

    told = kubectl("diff", "-f", "-", content=DEPLOYMENT % 2, code=1)

    assert "-  replicas: 0" in told
    assert "+  replicas: 2" in told
    assert kubectl("diff", "-f", "-", content=DEPLOYMENT % 0) == ""
    assert "+  replicas: 2" in kubectl(
        "diff", "--server-side", "--force-conflicts", "-f", "-", content=DEPLOYMENT % 2, code=1
    )


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", '{"spec":{"minReadySeconds":7}}'),
        ("merge", '{"spec":{"minReadySeconds":7}}'),
        ("json", '[{"op":"add","path":"/spec/minReadySeconds","value":7}]'),
    ],
)
def test_patch(kubectl, kind, patch):
    kubectl("apply", "-f", "-", content=DEPLOYMENT % 0)

    assert "patched" in kubectl("patch", "deploy", "web", f"--type={kind}", "-p", patch)
    assert "no change" in kubectl("patch", "deploy", "web", f"--type={kind}", "-p", patch)
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.minReadySeconds}") == "7"


def test_a_strategic_patch_merges_lists_by_their_keys(kubectl):
    kubectl("apply", "-f", "-", content=DEPLOYMENT % 0)
    patch = (
        '{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"other"},{"$patch":"delete","name":"c"}]}}}}'
    )

    kubectl("patch", "deploy", "web", "-p", patch)

    images = "jsonpath={.spec.template.spec.containers[*].image}"
    assert kubectl("get", "deploy", "web", "-o", images) == "other"


def test_patch_and_edit_of_the_status(kubectl, editor):
    name = f"node-{kubectl.space}"
    kubectl("create", "-f", "-", content=f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n")
    try:
        capacity = '{"status":{"capacity":{"gpu.io/a":"4"}}}'
        assert "patched" in kubectl("patch", "node", name, "--subresource=status", "-p", capacity)
        editor('s#gpu.io/a: "4"#gpu.io/a: "8"#')
        assert "edited" in kubectl("edit", "node", name, "--subresource=status")
        assert kubectl("get", "node", name, "-o", r"jsonpath={.status.capacity.gpu\.io/a}") == "8"
        assert kubectl("get", "node", name, "--subresource=status", "-o", "name") == f"node/{name}\n"
    finally:
        kubectl("delete", "node", name)


def test_edit(kubectl, editor):
    kubectl("create", "configmap", "one", "--from-literal=a=before")
    editor("s/before/after/")

    assert "edited" in kubectl("edit", "cm", "one")
    assert kubectl("get", "cm", "one", "-o", "jsonpath={.data.a}") == "after"
    assert "no changes made" in kubectl("edit", "cm", "one")


def test_an_edit_that_is_refused_is_told(kubectl, editor):
    kubectl("create", "configmap", "one", "--from-literal=a=before")
    editor("s/a: before/not valid: before/")

    assert 'configmaps "one" is invalid' in kubectl("edit", "cm", "one", code=1)


def test_label_and_annotate(kubectl):
    kubectl("create", "configmap", "one")

    assert "labeled" in kubectl("label", "cm", "one", "a=b")
    assert "annotated" in kubectl("annotate", "cm", "one", "x=y")
    assert "one" in kubectl("get", "cm", "-l", "a in (b,c)")
    assert "--overwrite" in kubectl("label", "cm", "one", "a=c", code=1)
    assert "labeled" in kubectl("label", "cm", "one", "a=c", "--overwrite")
    assert "unlabeled" in kubectl("label", "cm", "one", "a-")
    assert "labeled" in kubectl("label", "cm", "--all", "every=one")


def test_scale_and_restart(kubectl):
    kubectl("apply", "-f", "-", content=DEPLOYMENT % 0)

    assert "scaled" in kubectl("scale", "deploy", "web", "--replicas=1")
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "1"
    assert "scaled" in kubectl("scale", "deploy", "web", "--replicas=0", "--current-replicas=1")
    assert "restarted" in kubectl("rollout", "restart", "deploy/web")
    assert "image updated" in kubectl("set", "image", "deploy/web", "c=nginx:9")


def test_a_node_is_closed_and_opened(kubectl):
    name = f"node-{kubectl.space}"
    kubectl("create", "-f", "-", content=f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n")
    try:
        assert "cordoned" in kubectl("cordon", name)
        assert "SchedulingDisabled" in kubectl("get", "node", name)
        assert "tainted" in kubectl("taint", "node", name, "a=b:NoSchedule")
        assert "uncordoned" in kubectl("uncordon", name)
    finally:
        kubectl("delete", "node", name)


def test_a_token_of_a_service_account_says_who_one_is(kubectl, tmp_path):
    kubectl("create", "serviceaccount", "robot")
    token = kubectl("create", "token", "robot", "--duration=10m").strip()
    config = yaml.safe_load(Path(kubectl.environ["KUBECONFIG"]).read_text())
    config["users"][0]["user"] = {}
    path = tmp_path / "nobody"
    path.write_text(yaml.safe_dump(config))
    me = f"system:serviceaccount:{kubectl.space}:robot"
    kubeconfig = f"--kubeconfig={path}"

    assert me in kubectl(kubeconfig, "auth", "whoami", f"--token={token}")
    assert "Unauthorized" in kubectl(kubeconfig, "auth", "whoami", "--token=nonsense", code=1)


def test_replace(kubectl):
    kubectl("create", "-f", "-", content=DEPLOYMENT % 0)

    assert "replaced" in kubectl("replace", "-f", "-", content=DEPLOYMENT.replace("nginx:1", "nginx:2") % 0)
    assert "replaced" in kubectl("replace", "--force", "-f", "-", content=DEPLOYMENT % 0)


def test_dry_run(kubectl):
    made = kubectl("create", "configmap", "one", "--dry-run=server", "-o", "yaml")

    assert "uid:" in made
    assert "NotFound" in kubectl("get", "cm", "one", code=1)


def test_a_field_that_nobody_knows_is_refused(kubectl):
    manifest = (DEPLOYMENT % 0).replace("replicas", "replicaz")

    assert 'unknown field "spec.replicaz"' in kubectl("create", "-f", "-", content=manifest, code=1)
    warned = kubectl("create", "--validate=warn", "-f", "-", content=manifest)
    assert 'Warning: unknown field "spec.replicaz"' in warned
    assert "created" in warned


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_a_set_rolls_out_and_back(kubectl, kind):
    image = ("get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}")
    name = f"{kind.lower()}/agent"
    kubectl("create", "-f", "-", content=SET % kind)
    kubectl("rollout", "status", name)
    kubectl("set", "image", name, "c=agent:2")
    kubectl("rollout", "status", name)
    assert kubectl(*image) == "agent:2"

    assert "rolled back" in kubectl("rollout", "undo", name)
    kubectl("rollout", "status", name)

    assert kubectl(*image) == "agent:1"
    assert kubectl("rollout", "history", name).split()[-4:] == ["2", "<none>", "3", "<none>"]
