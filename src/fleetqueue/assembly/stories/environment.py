"""Before the stories: the environment that the seeds' set-up script leaves behind."""

from typing import Any, ClassVar, Final

import yaml

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import KUBECONFIG_KEY, KUEUE_NAMESPACE, credentials_secret
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource
from fleetqueue.api.usage_scores import SCORE_RESOURCE, SCORES
from fleetqueue.assembly.stories.stage import HUB, Stage

IDS: Final = ("ENV-1", "ENV-3", "ENV-4", "ENV-5", "ENV-7", "ENV-8", "ENV-9", "S3-1", "S3-7")
QUEUES: Final = "single-clusterqueue"
MANAGER: Final = "open-cluster-management"
MANAGER_LABEL: Final = "x-k8s.io/cluster-manager"
GPU_SCORES: Final = ("gpuNodeAvailable", "gpuClusterAvailable")


class ManifestWorkStatus(View):
    conditions: tuple[Condition, ...] = ()


class ManifestWork(Object):
    """What OCM brings to a worker."""

    resource: ClassVar = Resource("work.open-cluster-management.io", "v1", "ManifestWork", "manifestworks")

    status: ManifestWorkStatus = ManifestWorkStatus()


async def tell(stage: Stage) -> None:
    """Look at the environment before anything is done."""
    stage.narrator.title("The environment: a hub and three workers")
    await workers_are_there(stage)
    await kueue_runs(stage)
    await credentials_are_there(stage)
    await workers_are_scored(stage)


async def workers_are_there(stage: Stage) -> None:
    await stage.do("kubectl get managedclusters --context kind-hub")
    if stage.place.has_agents:
        await stage.expect("ENV-1", lambda: all(is_available(stage, name) for name in stage.place.workers))
        stage.seen.follow(HUB, ManifestWork)
        await stage.do("kubectl get manifestworks -A --context kind-hub")
        await stage.expect("ENV-4", lambda: all(has_queues(stage, name) for name in stage.place.workers))
        await stage.do("kubectl get clusterprofiles -A --context kind-hub")
        await stage.expect("ENV-5", lambda: profiles(stage, "default") == sorted(stage.place.workers))
    await stage.do("kubectl get placements -n default --context kind-hub")
    await stage.expect("ENV-9", lambda: is_satisfied(stage))


def is_available(stage: Stage, name: str) -> bool:
    member = stage.hub.get(cluster.ManagedCluster, name)
    if member is None or not member.spec.hub_accepts_client:
        return False
    found = member.status.conditions
    return conditions.is_true(found, cluster.JOINED) and conditions.is_true(found, cluster.AVAILABLE)


def has_queues(stage: Stage, name: str) -> bool:
    work = stage.hub.get(ManifestWork, QUEUES, name)
    return work is not None and conditions.is_true(work.status.conditions, "Applied")


def profiles(stage: Stage, namespace: str) -> list[str]:
    """Name the ClusterProfiles of a namespace that OCM keeps."""
    found = stage.hub.list(ClusterProfile, namespace)
    return [
        profile.name for profile in found if profile.metadata.labels.get(MANAGER_LABEL) == "open-cluster-management"
    ]


def is_satisfied(stage: Stage) -> bool:
    placement = stage.hub.get(cluster.Placement, "placement-spoke", "default")
    if placement is None or placement.status.number_of_selected_clusters != len(stage.place.workers):
        return False
    satisfied = conditions.find(placement.status.conditions, "PlacementSatisfied")
    return satisfied is not None and satisfied.is_true and satisfied.reason == "AllDecisionsScheduled"


async def kueue_runs(stage: Stage) -> None:
    """Kueue is a process here, not a pod."""
    if stage.place.processes is None:
        return
    states = await stage.place.processes.states()
    managers = {name: states.get(f"{name}/kueue", "missing") for name in (HUB, *stage.place.workers)}
    stage.narrator.say("Kueue runs as a process beside each cluster, with its shipped configuration.")
    stage.narrator.output("\n".join(f"{name}/kueue   {state}" for name, state in managers.items()))
    stage.judge("ENV-3", set(managers.values()) == {"up"}, str(managers))


async def credentials_are_there(stage: Stage) -> None:
    await stage.do(f"kubectl get secrets -n {KUEUE_NAMESPACE} --context kind-hub")
    await stage.expect("ENV-7", lambda: all(secret_of(stage, name) for name in stage.place.workers))
    problems = [problem for name in stage.place.workers for problem in kubeconfig_problems(stage, name)]
    stage.judge("ENV-8", not problems, "; ".join(problems))
    await stage.tell_why(*stage.place.workers, reason="CredentialsIssued")


def secret_of(stage: Stage, name: str) -> Secret | None:
    """Return the secret of a worker if it is as Kueue wants it."""
    secret = stage.hub.get(Secret, credentials_secret(name), KUEUE_NAMESPACE)
    right = secret is not None and secret.type == "Opaque" and set(secret.data) == {KUBECONFIG_KEY}
    return secret if right else None


def kubeconfig_problems(stage: Stage, name: str) -> list[str]:
    secret, member = secret_of(stage, name), stage.hub.get(cluster.ManagedCluster, name)
    if secret is None or member is None or not member.spec.managed_cluster_client_configs:
        return [f"{name} has no secret or no URL"]
    wanted = member.spec.managed_cluster_client_configs[0]
    config = yaml.safe_load(secret.text(KUBECONFIG_KEY) or "")
    return [f"{name}: {what}" for what in shape_problems(config, name, server=wanted.url, ca=wanted.ca_bundle)]


def shape_problems(config: dict[str, Any], name: str, *, server: str, ca: str) -> list[str]:
    """Say how a kubeconfig differs from what is promised; nothing where it does not."""
    (entry,), (context,), (user,) = config["clusters"], config["contexts"], config["users"]
    told = {
        "kind": (config["apiVersion"], config["kind"]) == ("v1", "Config"),
        "cluster name": entry["name"] == name,
        "server": entry["cluster"]["server"] == server,
        "certificate authority": not ca or entry["cluster"]["certificate-authority-data"] == ca,
        "cluster has nothing else": set(entry["cluster"]) == {"server", "certificate-authority-data"},
        "context": context["name"] == name == config["current-context"],
        "user has a token and nothing else": list(user["user"]) == ["token"] and bool(user["user"]["token"]),
    }
    return [f"wrong {what}" for what, is_right in told.items() if not is_right]


async def workers_are_scored(stage: Stage) -> None:
    await stage.do("fleetqueue get scores")
    wanted = {name: -100 if name == "cluster1" else -70 for name in stage.place.workers}
    await stage.expect("S3-1", lambda: gpu_scores(stage) == wanted, why_not=lambda: str(gpu_scores(stage)))
    stage.judge("S3-7", score_order(stage) == [score.name for score in SCORES], str(score_order(stage)))


def gpu_scores(stage: Stage) -> dict[str, int | None]:
    """Return the GPU score of each cluster; None where those of the cluster and of its one node differ."""
    found: dict[str, int | None] = {}
    for name in stage.place.workers:
        score = stage.hub.get(cluster.AddOnPlacementScore, SCORE_RESOURCE, name)
        values = {score.value(kind) for kind in GPU_SCORES} if score else set()
        found[name] = values.pop() if len(values) == 1 else None
    return found


def score_order(stage: Stage) -> list[str]:
    score = stage.hub.get(cluster.AddOnPlacementScore, SCORE_RESOURCE, stage.place.workers[0])
    return [item.name for item in score.status.scores] if score else []
