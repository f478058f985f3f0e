"""The score add-on's page: it installs itself, scores every cluster, lets a Placement follow the memory, and goes."""

import yaml

from fleetqueue.admin.inventory import chosen
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api.usage_scores import FRESH, SCORE_RESOURCE
from fleetqueue.demo.environment_story import InstalledAddOn, is_well
from fleetqueue.demo.story_run import StoryRun
from fleetqueue.fleets.embedded_environment import QUICK_SCORES
from fleetqueue.fleets.systems.add_ons import SCORES as ADD_ON
from fleetqueue.fleets.systems.add_ons import scores_add_on
from fleetqueue.lab.cluster_names import HUB
from tests.system.stories.pages import KEPT_BY_KUBERNETES, PLACEMENT, POD

IDS = ("A-1", "A-2", "A-3", "A-4")
AGENT, NAMESPACE = "fleetqueue-score-agent", "open-cluster-management-agent-addon"
OURS = ("score-agent", "resource-usage", "fleetqueue-fence")
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


async def tell(run: StoryRun) -> None:
    run.seen.follow(HUB, InstalledAddOn)
    manifests = yaml.safe_dump_all(scores_add_on(*QUICK_SCORES))
    await uninstall(run, manifests)
    await install(run, manifests)
    await follow_the_memory(run)


async def uninstall(run: StoryRun, manifests: str) -> None:
    await run.do("kubectl delete -f - --ignore-not-found --timeout=60s --context kind-hub", stdin=manifests)
    for name in (HUB, *run.fleet.workers):
        for one in await ours(run, name):
            await gone(run, name, one)
    left = {name: found for name in (HUB, *run.fleet.workers) if (found := await ours(run, name))}
    run.judge("A-4", not left, str(left), part="deleting the add-on leaves nothing on any cluster")


async def gone(run: StoryRun, name: str, one: str) -> None:
    kind, called, *namespace = one.split()
    where = f" -n {namespace[0]}" if namespace else ""
    await run.do(f"kubectl wait --for=delete {kind}/{called}{where} --timeout=60s --context {name}")


async def install(run: StoryRun, manifests: str) -> None:
    before = {name: score(run, name) for name in run.fleet.workers}
    await run.do("kubectl apply -f - --context kind-hub", stdin=manifests)
    workers = run.fleet.workers
    await run.expect(
        "A-1",
        lambda: all(is_well(run.hub.get(InstalledAddOn, ADD_ON, name)) for name in workers),
        part="OCM installs the add-on on every cluster by itself",
    )
    missing = {name: lacking for name in workers if (lacking := BROUGHT - set(await ours(run, name)))}
    run.judge("A-1", not missing, str(missing), part="with its agent and the agent's rights")
    await run.expect(
        "A-2",
        lambda: all(is_fresh(score(run, name)) and score(run, name) != before[name] for name in workers),
        part="every cluster is scored",
    )
    rows = (await run.do("kubectl get addonplacementscore -A --no-headers --context kind-hub")).splitlines()
    told = [row.split()[0] for row in rows if SCORE_RESOURCE in row.split()]
    run.judge("A-2", told == list(workers), str(rows), part="by one object each")


async def follow_the_memory(run: StoryRun) -> None:
    """Fill two clusters, let the third be chosen; then fill that and free another."""
    await run.do("kubectl create namespace ns1 --context kind-hub")
    await run.do("fleetqueue clusterset bind global --namespace ns1")
    for name in ("cluster1", "cluster2"):
        await run.do(f"kubectl apply -f - --context {name}", stdin=POD)
    await run.do("kubectl apply -f - --context kind-hub", stdin=PLACEMENT.replace("test-score1", SCORE_RESOURCE))
    await decides(run, "cluster3", "a Placement as the page has it chooses the cluster with most memory")
    await run.do("kubectl apply -f - --context cluster3", stdin=POD)
    await run.do("kubectl delete pod large --grace-period=0 --force --context cluster2")
    await decides(run, "cluster2", "the choice follows the memory")
    for name in ("cluster1", "cluster3"):
        await run.do(f"kubectl delete pod large --grace-period=0 --force --context {name}")
    await run.do("kubectl delete placement placement -n ns1 --context kind-hub")


async def decides(run: StoryRun, name: str, part: str) -> None:
    await run.expect("A-3", lambda: decided(run) == [name], part=part, why_not=lambda: str(decided(run)))


def decided(run: StoryRun) -> list[str]:
    placement = run.hub.get(cluster.Placement, "placement", "ns1")
    return chosen(placement, run.hub.list(cluster.PlacementDecision)) if placement else []


def score(run: StoryRun, name: str) -> cluster.AddOnPlacementScore | None:
    return run.hub.get(cluster.AddOnPlacementScore, SCORE_RESOURCE, name)


def is_fresh(found: cluster.AddOnPlacementScore | None) -> bool:
    """Tell whether an agent has scored its cluster."""
    return found is not None and conditions.is_true(found.status.conditions, FRESH)


async def ours(run: StoryRun, name: str) -> list[str]:
    """Name every object of the add-on on a cluster, of whatever kind but the scores."""
    kinds = (await run.do(f"kubectl api-resources --verbs=list -o name --context {name}")).split()
    lines: list[str] = []
    for kind in kinds:
        if kind not in (*KEPT_BY_KUBERNETES, KEPT_BY_US):
            found = await run.do(f"kubectl get {kind} -A -o jsonpath='{LINES}' --context {name}")
            lines += found.splitlines()
    return [line.strip() for line in lines if any(word in line for word in OURS)]
