"""The score add-on's page: it installs itself, scores every cluster, lets a Placement follow the memory, and goes."""

import yaml

from fleetqueue.admin.inventory import chosen
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api.usage_scores import FRESH, SCORE_RESOURCE
from fleetqueue.demo.environment import AddOn, is_well
from fleetqueue.demo.stage import Stage
from fleetqueue.fleets.embedded_scenario import QUICK_SCORES
from fleetqueue.fleets.systems.add_ons import SCORES as ADD_ON
from fleetqueue.fleets.systems.add_ons import scores_add_on
from fleetqueue.lab.cluster_names import HUB
from tests.stories.pages import KEPT_BY_KUBERNETES, PLACEMENT, POD

IDS = ("A-1", "A-2", "A-3", "A-4")
AGENT, NAMESPACE = "fleetqueue-score-agent", "open-cluster-management-agent-addon"
OURS = ("score-agent", "resource-usage")
"""What the names of all that belongs to the add-on have in common."""
KEPT_BY_US = "addonplacementscores.cluster.open-cluster-management.io"
"""What our controller writes for every cluster that nobody scores."""
LINES = '{range .items[*]}{.kind} {.metadata.name} {.metadata.namespace}{"\\n"}{end}'
BROUGHT = {
    f"ClusterRole {AGENT}",
    f"ClusterRoleBinding {AGENT}",
    f"ServiceAccount {AGENT} {NAMESPACE}",
    f"Deployment {AGENT} {NAMESPACE}",
    f"Secret {ADD_ON}-hub-kubeconfig {NAMESPACE}",
}


async def tell(stage: Stage) -> None:
    stage.seen.follow(HUB, AddOn)
    manifests = yaml.safe_dump_all(scores_add_on(*QUICK_SCORES))
    await uninstall(stage, manifests)
    await install(stage, manifests)
    await follow_the_memory(stage)


async def uninstall(stage: Stage, manifests: str) -> None:
    await stage.do("kubectl delete -f - --timeout=60s --context kind-hub", stdin=manifests)
    for name in (HUB, *stage.place.workers):
        for one in await ours(stage, name):
            await gone(stage, name, one)
    left = {name: found for name in (HUB, *stage.place.workers) if (found := await ours(stage, name))}
    stage.judge("A-4", not left, str(left), part="deleting the add-on leaves nothing on any cluster")


async def gone(stage: Stage, name: str, one: str) -> None:
    kind, called, *namespace = one.split()
    where = f" -n {namespace[0]}" if namespace else ""
    await stage.do(f"kubectl wait --for=delete {kind}/{called}{where} --timeout=60s --context {name}")


async def install(stage: Stage, manifests: str) -> None:
    before = {name: score(stage, name) for name in stage.place.workers}
    await stage.do("kubectl apply -f - --context kind-hub", stdin=manifests)
    workers = stage.place.workers
    await stage.expect(
        "A-1",
        lambda: all(is_well(stage.hub.get(AddOn, ADD_ON, name)) for name in workers),
        part="OCM installs the add-on on every cluster by itself",
    )
    missing = {name: lacking for name in workers if (lacking := BROUGHT - set(await ours(stage, name)))}
    stage.judge("A-1", not missing, str(missing), part="with its agent and the agent's rights")
    await stage.expect(
        "A-2",
        lambda: all(is_fresh(score(stage, name)) and score(stage, name) != before[name] for name in workers),
        part="every cluster is scored",
    )
    rows = (await stage.do("kubectl get addonplacementscore -A --no-headers --context kind-hub")).splitlines()
    told = [row.split()[0] for row in rows if SCORE_RESOURCE in row.split()]
    stage.judge("A-2", told == list(workers), str(rows), part="by one object each")


async def follow_the_memory(stage: Stage) -> None:
    """Fill two clusters, let the third be chosen; then fill that and free another."""
    await stage.do("kubectl create namespace ns1 --context kind-hub")
    await stage.do("fleetqueue clusterset bind global --namespace ns1")
    for name in ("cluster1", "cluster2"):
        await stage.do(f"kubectl apply -f - --context {name}", stdin=POD)
    await stage.do("kubectl apply -f - --context kind-hub", stdin=PLACEMENT.replace("test-score1", SCORE_RESOURCE))
    await decides(stage, "cluster3", "a Placement as the page has it chooses the cluster with most memory")
    await stage.do("kubectl apply -f - --context cluster3", stdin=POD)
    await stage.do("kubectl delete pod large --grace-period=0 --force --context cluster2")
    await decides(stage, "cluster2", "the choice follows the memory")
    for name in ("cluster1", "cluster3"):
        await stage.do(f"kubectl delete pod large --grace-period=0 --force --context {name}")
    await stage.do("kubectl delete placement placement -n ns1 --context kind-hub")


async def decides(stage: Stage, name: str, part: str) -> None:
    await stage.expect("A-3", lambda: decided(stage) == [name], part=part, why_not=lambda: str(decided(stage)))


def decided(stage: Stage) -> list[str]:
    placement = stage.hub.get(cluster.Placement, "placement", "ns1")
    return chosen(placement, stage.hub.list(cluster.PlacementDecision)) if placement else []


def score(stage: Stage, name: str) -> cluster.AddOnPlacementScore | None:
    return stage.hub.get(cluster.AddOnPlacementScore, SCORE_RESOURCE, name)


def is_fresh(found: cluster.AddOnPlacementScore | None) -> bool:
    """Tell whether an agent has scored its cluster."""
    return found is not None and conditions.is_true(found.status.conditions, FRESH)


async def ours(stage: Stage, name: str) -> list[str]:
    """Name every object of the add-on on a cluster, of whatever kind but the scores."""
    kinds = (await stage.do(f"kubectl api-resources --verbs=list -o name --context {name}")).split()
    lines: list[str] = []
    for kind in kinds:
        if kind not in (*KEPT_BY_KUBERNETES, KEPT_BY_US):
            found = await stage.do(f"kubectl get {kind} -A -o jsonpath='{LINES}' --context {name}")
            lines += found.splitlines()
    return [line.strip() for line in lines if any(word in line for word in OURS)]
