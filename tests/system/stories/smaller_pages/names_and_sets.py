"""How the walkthroughs call clusters and group them: the contexts of Kueue's page, the tree of `clusteradm`."""

from fleetqueue.api.fleetqueue import credentials_secret
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.demo.story_run import StoryRun

IDS = ("M-1", "B-1")
CONTEXTS = {"worker1-cluster": "cluster1", "manager-cluster": "hub"}
TREE = """
└── <spoke>\x20
│   ├── <BoundNamespace> default,kueue-system
│   ├── <Status> 3 ManagedClusters selected
│   ├── <Clusters> [cluster1 cluster2 cluster3]
"""
"""As the page has it, with the set of somebody else below it."""


async def tell(run: StoryRun) -> None:
    for kube_context, cluster in CONTEXTS.items():
        nodes = await run.do(f"kubectl get nodes -o name --context {kube_context}")
        run.judge("M-1", nodes == f"node/{cluster}-control-plane\n", nodes, part=f"context {kube_context} is {cluster}")
    await run.expect(
        "ENV-6",
        lambda: not without_credentials(run),
        part="every profile names one secret, before a set is bound to Kueue's namespace",
        why_not=lambda: str(without_credentials(run)),
    )
    await run.do("fleetqueue clusterset bind spoke --namespace kueue-system")
    tree = await run.do("fleetqueue get clustersets --tree")
    told = tree.startswith("<ManagedClusterSet> \n") and TREE in tree
    run.judge("B-1", told, tree, part="the tree shows the set, its namespaces and its clusters")


def without_credentials(run: StoryRun) -> list[str]:
    """Name the profiles of OCM that do not name the secret of their cluster."""
    found = [one for one in run.hub.list(ClusterProfile) if one.is_of(one.name)]
    return [str(one) for one in found if secrets_of(one) != [credentials_secret(one.name)]]


def secrets_of(profile: ClusterProfile) -> list[str]:
    return [entry["accessRef"]["name"] for entry in profile.status.credentials]
