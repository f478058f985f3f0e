"""Our own kubectl beside the real one: the same commands on two embedded clusters that are alike print the same."""

import re

import pytest
import pytest_asyncio

from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.demo.own_kubectl.kubectl import OwnKubectl
from fleetqueue.fleets.embedded_lab import EmbeddedLab
from fleetqueue.fleets.embedded_settings import EmbeddedSettings
from fleetqueue.manifests import example
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real import layout
from fleetqueue.real.kubectl import Kubectl, KubectlFailed

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

PLAIN = [
    (re.compile(r"(?m)^[IW]\d{4} .*\n"), ""),  # what the real one's libraries log about short watches
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"(resourceVersion\W+)\d+"), r"\1N"),
    (re.compile(r"(demo[12]-job)[a-z0-9]{5}"), r"\1XXXXX"),
    (re.compile(r"\b\d+m?\d*s\b"), "AGE"),
    (re.compile(r"AGE +"), "AGE "),
    (re.compile(r"cluster[12]|kind-cluster[12]"), "CLUSTER"),
]
"""What differs from cluster to cluster and from moment to moment."""

CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {a: b}, annotations: {note: "<a> & b"}}
data: {text: "yes", number: "1", empty: "", lines: "a\\nb\\n", long: "LONG", time: "2026-01-01T00:00:00Z",
  colon: "a: b"}
""".replace("LONG", " ".join(["word"] * 40))
CHANGED = CONFIG_MAP.replace('number: "1"', 'number: "2"')
FEWER = CONFIG_MAP.replace('number: "1", ', "")
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
"""
CHECK = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: held, finalizers: [example.com/hold]}
spec: {controllerName: example.com/nobody}
"""
TWO = CONFIG_MAP + "---\n" + CONFIG_MAP.replace("name: one", "name: two")
RANGE = '{range .items[*]}{.metadata.name}={.data.number} {.metadata.labels}{"\\n"}{end}'
STATUS = (
    '{"status":{"conditions":[{"type":"Active","status":"True","reason":"Active","message":"fine",'
    '"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}'
)
CONDITIONS = '{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\\n"}{end}'

SESSIONS = {
    "nothing there": [
        "get secrets",
        "get secrets -n kube-public",
        "get clusterqueues",
        "get workloads -A",
        "get clusterqueues,jobs",
        "get job none",
        "get jobs a b",
        "get nothing",
        "delete job none",
        "delete job none --ignore-not-found",
        "delete jobs --all",
        "delete jobs",
        "get jobs -o json",
        "get jobs -o name",
        "label cm none a=b",
        "get jobs -n",
        "get jobs --nothing",
    ],
    "a life": [
        ("create -f -", CONFIG_MAP),
        ("create -f -", CONFIG_MAP),
        "get cm one",
        "get configmaps one -o yaml",
        "get cm/one -o json",
        "get cm -l a=b -o yaml",
        "get cm one -o jsonpath={.data.number}",
        "get cm one -o jsonpath={.data}",
        f"get cm -l a=b -o jsonpath={RANGE}",
        "get cm one -o name",
        "get cm -l a=b -A",
        "get cm -l a=b --no-headers",
        "label cm one c=d",
        "label cm one c=d",
        "label cm one c=e",
        "label cm one c=e --overwrite",
        "label cm one c- f=g",
        "label cm one c-",
        "label cm one f-",
        "label cm one",
        "annotate cm one x=y",
        """patch cm one --type=merge -p {"data":{"number":"3"}}""",
        """patch cm one -p {"data":{"number":"3"}}""",
        """patch cm one --type=json -p [{"op":"add","path":"/data/x","value":"y"}]""",
        """patch cm one --type=merge -p {"metadata":{"labels":{"a":"*bad*"}}}""",
        "get cm one -o yaml --show-managed-fields",
        "wait cm/one --for=jsonpath={.data.number}=3 --timeout=5s",
        "wait cm/one --for=condition=Ready --timeout=1s",
        "wait cm/none --for=condition=Ready --timeout=1s",
        "delete cm one",
    ],
    "applied": [
        ("apply -f -", CONFIG_MAP),
        ("apply -f -", CONFIG_MAP),
        ("apply -f -", CHANGED),
        ("apply -f -", FEWER),
        "get cm one -o jsonpath={.data}",
        "get cm one -o yaml",
        ("apply -f -", TWO),
        ("create -f -", CONFIG_MAP.replace("{name: one,", "{name: Bad_Name,")),
        ("apply -f -", "apiVersion: v1\nkind: Nothing\nmetadata: {name: x}\n"),
        ("apply -f - -n kube-public", CONFIG_MAP.replace("{name: one", "{name: one, namespace: default")),
        ("delete -f -", TWO),
        ("delete -f -", TWO),
        ("delete -f - --ignore-not-found", TWO),
        "apply -f nowhere.yaml",
    ],
    "a deployment": [
        ("apply -f -", DEPLOYMENT),
        "get deploy web",
        "get deploy web -o wide",
        "get deployments,cm -l app=web",
        "scale deployment web --replicas=0",
        "scale deployment/none --replicas=0",
        ("apply -f -", DEPLOYMENT.replace("replicas: 0", "replicas: -1")),
        "delete deploy web --timeout=20s",
    ],
    "the examples": [
        f"apply -f {example('multikueue-setup-demo1.yaml')}",
        f"apply -f {example('multikueue-setup-demo1.yaml')}",
        f"create -f {example('job-demo1.yaml')}",
        f"apply -f {example('job-demo1.yaml')}",
        "get jobs",
        "get jobs -o wide",
        "get multikueueclusters",
        "get multikueueclusters multikueue-demo1-cluster1 multikueue-demo1-cluster2",
        "get admissionchecks,clusterqueues -o wide",
        "get admissionchecks,clusterqueues",
        "get clusterqueue/cluster-queue-demo1 localqueue/user-queue-demo1",
        "get admissioncheck multikueue-demo1 -o yaml",
        "patch admissioncheck multikueue-demo1 -p {}",
        f"patch admissioncheck multikueue-demo1 --subresource=status --type=merge -p {STATUS}",
        f"patch admissioncheck multikueue-demo1 --subresource=status --type=merge -p {STATUS}",
        "wait admissioncheck multikueue-demo1 --for=condition=Active --timeout=5s",
        f"get admissioncheck multikueue-demo1 -o jsonpath={CONDITIONS}",
        "get admissioncheck multikueue-demo1 -o jsonpath={.status.conditions[0]}",
        "delete jobs --all --timeout=20s",
        f"delete -f {example('multikueue-setup-demo1.yaml')} --timeout=20s",
    ],
    "held": [
        ("apply -f -", CHECK),
        "delete admissioncheck held --timeout=1s",
        "delete admissioncheck held --wait=false",
        "wait admissioncheck/held --for=delete --timeout=1s",
        """patch admissioncheck held --type=merge -p {"metadata":{"finalizers":null}}""",
        "wait admissioncheck/held --for=delete --timeout=5s",
    ],
    "namespaces": [
        "create namespace more",
        "create namespace more",
        "get namespace more",
        "delete namespace more --timeout=20s",
        "get ns more",
    ],
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(tmp_path_factory):
    """The two kubectls, each with a cluster of its own."""
    program = layout.planned().binary("kubectl")
    if not program.is_file():
        pytest.skip("kubectl is not built: run `fleetqueue engine build`")
    folder = tmp_path_factory.mktemp("twins")
    lab = EmbeddedLab(folder, EmbeddedSettings(workers=2, in_memory=True))
    await lab.start()
    clients = {name: connect(load(folder / "kubeconfig", name)) for name in ("hub", "cluster1", "cluster2")}
    for name in ("cluster1", "cluster2"):
        for definition in crds("kueue"):
            await clients[name].create(CustomResourceDefinition.resource, definition)
    yield Kubectl(folder / "kubeconfig", program).run, OwnKubectl(clients).run
    for client in clients.values():
        await client.close()
    await lab.stop()


async def said(run, context, command):
    text, stdin = command if isinstance(command, tuple) else (command, "")
    try:
        printed = await run("--context", context, *words(text), stdin=stdin)
    except KubectlFailed as failed:
        printed = str(failed).partition(": ")[2]
    for pattern, word in PLAIN:
        printed = pattern.sub(word, printed)
    return printed


def words(text):
    """Split a command; what follows `-p ` or `jsonpath=` is one word to its end."""
    for mark in (" -p ", " -o jsonpath="):
        if mark in text:
            before, _, rest = text.partition(mark)
            return [*before.split(), mark.split()[0], (mark.split()[1] if "=" in mark else "") + rest]
    return text.split()


@pytest.mark.parametrize("commands", SESSIONS.values(), ids=SESSIONS)
async def test_both_print_the_same(both, commands):
    real, ours = both

    told = [(await said(real, "kind-cluster1", one), await said(ours, "kind-cluster2", one)) for one in commands]

    differences = [(one, *pair) for one, pair in zip(commands, told, strict=True) if pair[0] != pair[1]]
    assert not differences, "\n".join(f"$ {one}\nreal: {theirs}\nours: {mine}" for one, theirs, mine in differences)
