"""The walkthroughs' smaller pages on one whole fleet: names of contexts, cluster sets, the life of the score add-on.

OCM's own managers and agents do the work. No kubelet runs here, so the pods of the add-on's Deployment are faked; the
tests run the agents in their place, with the very arguments, files and rights that the pods have. The last test takes
the add-on away again.
"""

import asyncio
import base64
import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest
import pytest_asyncio

from fleetqueue.client.kubeconfig import load, render
from fleetqueue.lab.processes import Command
from fleetqueue.real import layout
from fleetqueue.real.fleet import RealFleet
from fleetqueue.real.kubectl import Kubectl, KubectlFailed

from .pages import KEPT_BY_KUBERNETES, LINES, PLACEMENT, POD, WORKERS

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

DEPLOY = Path(__file__).parents[3] / "deploy"
FOUNDATION = ("kustomize/namespace.yaml", "kustomize/rbac/score_agent_hub_role.yaml")
MANIFESTS = str(DEPLOY / "ocm" / "score_agent_add_on.yaml")
ADD_ON = "fleetqueue-score-agent"
WORK = f"addon-{ADD_ON}-deploy-0"
NAMESPACE = "open-cluster-management-agent-addon"
ADD_ON_MANAGER = "system:serviceaccount:open-cluster-management-hub:addon-manager-controller-sa"
PATIENCE = 80
"""Seconds that anything may take on two busy cores."""

OURS = ("fleetqueue", "score-agent", "resource-usage-score")


class Fleet:
    """The fleet, as a person at a terminal has it."""

    def __init__(self, running: RealFleet) -> None:
        self.running = running
        self.kubectl = Kubectl(running.kubeconfig).run

    async def get(self, *arguments: str) -> dict:
        return json.loads(await self.kubectl("get", *arguments, "-o", "json"))

    async def wait(self, condition: str, *arguments: str) -> None:
        await self.kubectl("wait", f"--for={condition}", f"--timeout={PATIENCE}s", *arguments)

    async def fleetqueue(self, *arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fleetqueue", *arguments),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "KUBECONFIG": str(self.running.kubeconfig)},
        )
        output, _ = await process.communicate()
        assert process.returncode == 0
        return output.decode()

    async def ours(self, cluster: str) -> set[str]:
        """Name every object of the add-on on a cluster, of whatever kind."""
        listed = await self.kubectl("--context", cluster, "api-resources", "--verbs=list", "-o", "name")
        kinds = ",".join(kind for kind in listed.split() if kind not in KEPT_BY_KUBERNETES)
        found = await self.kubectl("--context", cluster, "get", kinds, "-A", "-o", f"jsonpath={LINES}")
        return {line for line in found.splitlines() if any(word in line for word in OURS)}

    async def decided(self) -> list[str]:
        found = await self.get("placementdecisions", "-n", "ns1")
        return [one["clusterName"] for item in found["items"] for one in item.get("status", {}).get("decisions", [])]

    async def fill(self, cluster: str) -> None:
        await self.kubectl("--context", cluster, "apply", "-f", "-", stdin=POD)

    async def free(self, cluster: str) -> None:
        await self.kubectl("--context", cluster, "delete", "pod", "large", "--grace-period=0", "--force")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(tmp_path_factory):
    if layout.find() is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")
    folder = tmp_path_factory.mktemp("pages")
    async with RealFleet(folder, workers=len(WORKERS), ocm="full", kueue=False) as running:
        yield Fleet(running)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def before(fleet):
    """What of ours each cluster has before the add-on comes: on the hub, what is installed before it."""
    for path in FOUNDATION:
        await fleet.kubectl("apply", "-f", str(DEPLOY / path))
    await fleet.wait("create", "managedclusterset/global")
    for name in ("serviceaccount/default", "configmap/kube-root-ca.crt"):
        await fleet.wait("create", name, "-n", "fleetqueue-system")
    return {cluster: await fleet.ours(cluster) for cluster in ("hub", *WORKERS)}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def add_on(fleet, before):
    """The add-on, applied to the hub as it is shipped; OCM does the rest."""
    await fleet.kubectl("apply", "-f", MANIFESTS)
    for cluster in WORKERS:
        name = f"managedclusteraddon/{ADD_ON}"
        await fleet.wait("create", name, "-n", cluster)
        await fleet.wait("condition=Available", name, "-n", cluster)
        await fleet.wait("condition=Progressing=False", name, "-n", cluster)
    return ADD_ON


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agents(fleet, add_on, tmp_path_factory):
    """The agents, run in place of the pods of the Deployment that OCM brought."""
    for cluster in WORKERS:
        await run_as_pod(fleet, cluster, tmp_path_factory.mktemp(cluster))
    return [f"{cluster}/score-agent" for cluster in WORKERS]


async def run_as_pod(fleet, cluster, folder):
    where = ("--context", cluster, "-n", NAMESPACE)
    pod = (await fleet.get(f"deployment/{ADD_ON}", *where))["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    secrets = {volume["name"]: volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume}
    arguments = container["args"]
    for mount in container["volumeMounts"]:
        if mount["name"] in secrets:
            await write_secret(fleet, secrets[mount["name"]], where, folder)
            arguments = [word.replace(mount["mountPath"], str(folder)) for word in arguments]
    token = (await fleet.kubectl("create", "token", pod["serviceAccountName"], *where)).strip()
    worker = load(fleet.running.clusters[cluster].kubeconfig)
    own = folder / "own"
    own.write_text(render(cluster, server=worker.server, ca=worker.ca or b"", token=token, user="agent"))
    here = (f"--kubeconfig={own}", "--set=probes.host=127.0.0.1", "--set=probes.port=0")
    command = (sys.executable, "-m", "fleetqueue", *arguments, *here)
    fleet.running.processes.start(Command(f"{cluster}/score-agent", command, folder / "log"))


async def write_secret(fleet, name, where, folder):
    await fleet.wait("create", f"secret/{name}", *where)
    for key, value in (await fleet.get(f"secret/{name}", *where))["data"].items():
        (folder / key).write_bytes(base64.b64decode(value))


async def eventually(question, what):
    until = time.monotonic() + PATIENCE
    while not (answer := await question()):
        assert time.monotonic() < until, f"not within {PATIENCE} s: {what}"
        await asyncio.sleep(0.5)
    return answer


@pytest.mark.checklist("M-1")
async def test_the_contexts_of_kueues_page_work(fleet, tmp_path):
    mine = Path(shutil.copy(fleet.running.kubeconfig, tmp_path))

    for context, node in (("worker1-cluster", "cluster1"), ("manager-cluster", "hub")):
        await Kubectl(mine).run("config", "use-context", context)
        assert f"{node}-control-plane" in await Kubectl(mine).run("get", "nodes")
        assert f"{node}-control-plane" in await fleet.kubectl("--context", context, "get", "nodes")


@pytest.mark.checklist("B-1")
async def test_the_tree_of_cluster_sets_is_that_of_clusteradm(fleet):
    await fleet.kubectl("create", "namespace", "kueue-system")
    await fleet.fleetqueue("clusterset", "create", "spoke")
    label = "cluster.open-cluster-management.io/clusterset=spoke"
    await fleet.kubectl("label", "managedclusters", *WORKERS, label, "--overwrite")
    for namespace in ("default", "kueue-system"):
        await fleet.fleetqueue("clusterset", "bind", "spoke", "--namespace", namespace)

    lines = (await fleet.fleetqueue("get", "clustersets", "--tree")).splitlines()

    assert lines[0] == "<ManagedClusterSet> "
    assert lines[-4:] == [
        "└── <spoke> ",
        "    └── <BoundNamespace> default,kueue-system",
        "    └── <Status> 3 ManagedClusters selected",
        "    └── <Clusters> [cluster1 cluster2 cluster3]",
    ]


@pytest.mark.checklist("A-1")
async def test_ocm_installs_the_add_on_on_every_cluster_by_itself(fleet, add_on):
    rows = (await fleet.kubectl("get", "mca", "-A", "--no-headers")).splitlines()
    assert [row.split() for row in rows] == [[cluster, add_on, "True", "False"] for cluster in WORKERS]

    for cluster in WORKERS:
        await fleet.wait("condition=Applied", f"manifestwork/{WORK}", "-n", cluster)
        brought = await fleet.ours(cluster)
        assert {
            f"ClusterRole//{add_on}",
            f"ClusterRoleBinding//{add_on}",
            f"ServiceAccount/{NAMESPACE}/{add_on}",
            f"Deployment/{NAMESPACE}/{add_on}",
            f"Secret/{NAMESPACE}/{add_on}-hub-kubeconfig",
        } <= brought


@pytest.mark.checklist("A-1")
@pytest.mark.parametrize(("role", "may"), [(f"{ADD_ON}-hub", True), ("cluster-admin", False)])
async def test_the_add_on_manager_may_hand_out_this_role_only(fleet, add_on, role, may):
    """Here it runs as an administrator; elsewhere as this account, which needs the right that the add-on brings."""
    binding = {"group": "rbac.authorization.k8s.io", "resource": "clusterroles", "verb": "bind", "name": role}
    spec = {"user": ADD_ON_MANAGER, "resourceAttributes": binding}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}

    told = json.loads(await fleet.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(review)))

    assert told["status"]["allowed"] == may


@pytest.mark.checklist("A-2")
async def test_every_cluster_gets_one_score_object(fleet, agents):
    async def scored():
        found = (await fleet.get("addonplacementscore", "-A"))["items"]
        return [item["metadata"]["namespace"] for item in found if item.get("status", {}).get("scores")] == [*WORKERS]

    await eventually(scored, "every cluster is scored")

    rows = (await fleet.kubectl("get", "addonplacementscore", "-A", "--no-headers")).splitlines()
    assert [row.split()[:2] for row in rows] == [[cluster, "resource-usage-score"] for cluster in WORKERS]


@pytest.mark.checklist("A-3")
async def test_a_placement_chooses_the_cluster_with_most_memory_free(fleet, agents):
    await fleet.kubectl("create", "namespace", "ns1")
    await fleet.fleetqueue("clusterset", "bind", "global", "--namespace", "ns1")
    for cluster in ("cluster1", "cluster2"):
        await fleet.fill(cluster)

    served = PLACEMENT.replace("v1alpha1", "v1beta1").replace("test-score1", "resource-usage-score")
    await fleet.kubectl("apply", "-f", "-", stdin=served)
    await eventually(lambda: chosen(fleet, "cluster3"), "the only free cluster is chosen")

    await fleet.fill("cluster3")
    await fleet.free("cluster2")
    await eventually(lambda: chosen(fleet, "cluster2"), "the choice follows the memory")


@pytest.mark.checklist("A-3")
async def test_ocm_does_not_serve_the_version_that_the_page_prints(fleet):
    refusal = 'no matches for kind "Placement" in version "cluster.open-cluster-management.io/v1alpha1"'

    with pytest.raises(KubectlFailed, match=refusal):
        await fleet.kubectl("apply", "-f", "-", stdin=PLACEMENT)


@pytest.mark.checklist("A-4")
async def test_deleting_the_add_on_leaves_nothing(fleet, before, agents):
    await eventually(lambda: has_scores(fleet), "there is something to delete")

    await fleet.kubectl("delete", "-f", MANIFESTS, f"--timeout={PATIENCE}s")
    for cluster, agent in zip(WORKERS, agents, strict=True):
        await fleet.wait("delete", f"deployment/{ADD_ON}", "--context", cluster, "-n", NAMESPACE)
        await fleet.running.processes.stop(agent)  # as its pod ends with the Deployment

    for cluster, had in before.items():
        await eventually(lambda cluster=cluster, had=had: is_as(fleet, cluster, had), f"{cluster} is as it was")


async def chosen(fleet, cluster):
    return await fleet.decided() == [cluster]


async def has_scores(fleet):
    return len((await fleet.get("addonplacementscore", "-A"))["items"]) == len(WORKERS)


async def is_as(fleet, cluster, had):
    return await fleet.ours(cluster) == had
