"""The smaller pages of the seeds on an embedded fleet, played once on the virtual clock."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from fleetqueue.assembly import embedded_scenario, own_commands
from fleetqueue.assembly.embedded import EmbeddedFleet
from fleetqueue.assembly.own_kubectl.kubectl import OwnKubectl
from fleetqueue.testing import virtual_time

from .pages import KEPT_BY_KUBERNETES, LINES, POD, WORKERS

DEPLOY = Path(__file__).parents[2] / "deploy"
MANIFESTS = str(DEPLOY / "ocm" / "score_agent_add_on.yaml")
ADD_ON = "fleetqueue-score-agent"
DECIDED = "{.items[*].status.decisions[*].clusterName}"
OURS = (ADD_ON, "resource-usage-score")
LONG_ENOUGH = 120
"""Virtual seconds after which everything that can happen has happened."""

PLACEMENT = """
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata:
  name: placement
  namespace: ns1
spec:
  numberOfClusters: 1
  prioritizerPolicy:
    mode: Exact
    configurations:
      - scoreCoordinate:
          type: AddOn
          addOn:
            resourceName: resource-usage-score
            scoreName: memAvailable
        weight: 1
"""
"""As the page of the score add-on prints it, with the name of the scores that there are."""


@dataclass
class Pages:
    """What was seen."""

    tree: list[str] = field(default_factory=list)
    nodes: dict[str, str] = field(default_factory=dict)
    """By the contexts of Kueue's page."""
    add_ons: list[list[str]] = field(default_factory=list)
    before: dict[str, set[str]] = field(default_factory=dict)
    brought: dict[str, set[str]] = field(default_factory=dict)
    after: dict[str, set[str]] = field(default_factory=dict)
    """What of the add-on each cluster had before, with and after it."""
    scores: list[list[str]] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)


@cache
def played() -> Pages:
    return virtual_time.run(_play())


class Person:
    """Somebody at a terminal."""

    def __init__(self, fleet: EmbeddedFleet) -> None:
        self.kubectl = OwnKubectl({name: cluster.client() for name, cluster in fleet.clusters.items()}).run
        self._hub = fleet.hub

    async def fleetqueue(self, line: str) -> str:
        return await own_commands.run(self._hub.client(), line.split())

    async def rows(self, line: str) -> list[list[str]]:
        return [row.split() for row in (await self.kubectl(*line.split(), "--no-headers")).splitlines()]

    async def ours(self) -> dict[str, set[str]]:
        """Name every object of the add-on on each cluster, of whatever kind."""
        found = {}
        for cluster in ("hub", *WORKERS):
            listed = await self.kubectl("--context", cluster, "api-resources", "--verbs=list", "-o", "name")
            kinds = ",".join(kind for kind in listed.split() if kind not in KEPT_BY_KUBERNETES)
            lines = await self.kubectl("--context", cluster, "get", kinds, "-A", "-o", f"jsonpath={LINES}")
            found[cluster] = {line for line in lines.splitlines() if any(word in line for word in OURS)}
        return found

    async def decided(self) -> str:
        await virtual_time.advance(LONG_ENOUGH)
        return await self.kubectl("get", "placementdecisions", "-n", "ns1", "-o", f"jsonpath={DECIDED}")


@asynccontextmanager
async def joined():
    """A hub with OCM and three workers that have joined it, in a cluster set."""
    async with EmbeddedFleet.open(len(WORKERS)) as fleet:
        await embedded_scenario.install_hub(fleet.hub.client())
        for worker in fleet.workers:
            await embedded_scenario.install_worker(worker.client())
            await embedded_scenario.join(fleet.hub, worker)
        await virtual_time.advance(LONG_ENOUGH)
        yield Person(fleet)


async def _play() -> Pages:
    pages = Pages()
    async with joined() as person:
        await _look_around(person, pages)
        pages.before = await person.ours()
        await person.kubectl("apply", "-f", MANIFESTS)
        await virtual_time.advance(LONG_ENOUGH)
        pages.add_ons = await person.rows("get mca -A")
        pages.brought = await person.ours()
        pages.scores = await person.rows("get addonplacementscore -A")
        await _follow_the_memory(person, pages)
        await person.kubectl("delete", "-f", MANIFESTS, "--timeout=60s")
        await virtual_time.advance(LONG_ENOUGH)
        pages.after = await person.ours()
    return pages


async def _look_around(person: Person, pages: Pages) -> None:
    for context in ("worker1-cluster", "manager-cluster"):
        pages.nodes[context] = await person.kubectl("--context", context, "get", "nodes", "-o", "name")
    await person.fleetqueue("clusterset create spoke")
    for namespace in ("default", "kueue-system"):
        await person.fleetqueue(f"clusterset bind spoke --namespace {namespace}")
    pages.tree = (await person.fleetqueue("get clustersets --tree")).splitlines()


async def _follow_the_memory(person: Person, pages: Pages) -> None:
    """Fill two clusters, let the third be chosen; then fill that and free another."""
    await person.kubectl("create", "namespace", "ns1")
    await person.fleetqueue("clusterset bind global --namespace ns1")
    for cluster in ("cluster1", "cluster2"):
        await person.kubectl("--context", cluster, "apply", "-f", "-", stdin=POD)
    await person.kubectl("apply", "-f", "-", stdin=PLACEMENT)
    pages.chosen.append(await person.decided())
    await person.kubectl("--context", "cluster3", "apply", "-f", "-", stdin=POD)
    await person.kubectl("--context", "cluster2", "delete", "pod", "large", "--grace-period=0", "--force")
    pages.chosen.append(await person.decided())
    await person.kubectl("delete", "placement", "placement", "-n", "ns1")
