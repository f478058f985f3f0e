"""Before the stories: the environment that the walkthroughs' set-up script leaves behind."""

import base64
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import yaml

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.core_v1 import ConfigMap, Pod, Secret
from fleetqueue.api.fleetqueue import KUBECONFIG_KEY, KUEUE_NAMESPACE, credentials_secret
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource
from fleetqueue.api.usage_scores import SCORE_RESOURCE
from fleetqueue.demo.story_run import PausableParts, StoryRun
from fleetqueue.lab.cluster_names import HUB

IDS: Final = ("ENV-1", "ENV-2", "ENV-3", "ENV-4", "ENV-5", "ENV-7", "ENV-8", "ENV-9", "S3-1", "S3-7")
QUEUES: Final = "single-clusterqueue"
MANAGER: Final = "open-cluster-management"
MANAGER_LABEL: Final = "x-k8s.io/cluster-manager"
ROOT_CA: Final = "kube-root-ca.crt"
KUEUE: Final = "kueue-controller-manager"
ADD_ONS: Final = ("managed-serviceaccount", "resource-usage-collect")
GPU_SCORES: Final = ("gpuNodeAvailable", "gpuClusterAvailable")
CONTRACT: Final = tuple(
    f"{what}{scope}Available" for what in ("cpu", "mem", "gpu", "tpu") for scope in ("Node", "Cluster")
)
"""The first scores of every cluster, in the order in which the walkthroughs' commands read them by their numbers."""


class Conditions(View):
    conditions: tuple[Condition, ...] = ()


class BroughtWork(Object):
    """What OCM brings to a worker."""

    resource: ClassVar = Resource("work.open-cluster-management.io", "v1", "ManifestWork", "manifestworks")

    status: Conditions = Conditions()


class InstalledAddOn(Object):
    """A part of OCM on a worker."""

    resource: ClassVar = Resource(
        "addon.open-cluster-management.io", "v1alpha1", "ManagedClusterAddOn", "managedclusteraddons"
    )

    status: Conditions = Conditions()


class Permission(Object):
    """Rights on a worker that the hub hands out."""

    resource: ClassVar = Resource(
        "rbac.open-cluster-management.io", "v1alpha1", "ClusterPermission", "clusterpermissions"
    )


async def tell(run: StoryRun) -> None:
    """Look at the environment before anything is done."""
    run.printer.title("The environment: a hub and three workers")
    await workers_are_there(run)
    await kueue_runs(run)
    await credentials_are_there(run)
    await workers_are_scored(run)


async def workers_are_there(run: StoryRun) -> None:
    await run.do("kubectl get managedclusters --context kind-hub")
    if run.fleet.has_agents:
        await run.expect("ENV-1", lambda: all(is_available(run, name) for name in run.fleet.workers))
        await ocm_brought_everything(run)
    await run.do("kubectl get placements -n default --context kind-hub")
    await run.expect("ENV-9", lambda: is_satisfied(run))


async def ocm_brought_everything(run: StoryRun) -> None:
    for kind in (BroughtWork, InstalledAddOn, Permission) if run.fleet.has_pods else (BroughtWork,):
        run.seen.follow(HUB, kind)
    if run.fleet.has_pods:
        await run.expect("ENV-2", lambda: not missing_add_ons(run), why_not=lambda: str(missing_add_ons(run)))
        await run.do("kubectl get managedclusteraddons -A --context kind-hub")
    await run.do("kubectl get manifestworks -A --context kind-hub")
    await run.expect("ENV-4", lambda: not missing_works(run), why_not=lambda: str(missing_works(run)))
    await run.do("kubectl get clusterprofiles -A --context kind-hub")
    await profiles_follow_bindings(run, ["default"], part="one per worker where their set is bound, none elsewhere")


def is_available(run: StoryRun, name: str) -> bool:
    member = run.hub.get(cluster.ManagedCluster, name)
    if member is None or not member.spec.hub_accepts_client:
        return False
    reported = member.status.conditions
    return conditions.is_true(reported, cluster.JOINED) and conditions.is_true(reported, cluster.AVAILABLE)


def missing_add_ons(run: StoryRun) -> list[str]:
    """Name the add-ons that are not there, or not well."""
    wanted = [(name, add_on) for name in run.fleet.workers for add_on in ADD_ONS]
    return [f"{name}/{add_on}" for name, add_on in wanted if not is_well(run.hub.get(InstalledAddOn, add_on, name))]


def is_well(add_on: InstalledAddOn | None) -> bool:
    if add_on is None:
        return False
    reported = {condition.type: condition.status for condition in add_on.status.conditions}
    statuses = {"Available": "True", "Progressing": "False", "Degraded": "False", **reported}
    return {"Available", "Progressing"} <= set(reported) and (
        (statuses["Available"], statuses["Progressing"], statuses["Degraded"]) == ("True", "False", "False")
    )


def missing_works(run: StoryRun) -> list[str]:
    """Name what OCM has not brought to a worker: the queues, and where parts are pods, add-ons and permissions."""
    wanted = [(name, QUEUES) for name in run.fleet.workers]
    if run.fleet.has_pods:
        permitted = {one.namespace for one in run.hub.list(Permission)}
        wanted += [(name, "of a ClusterPermission") for name in run.fleet.workers if name not in permitted]
        wanted += [(name, f"addon-{add_on}-deploy-0") for name in run.fleet.workers for add_on in ADD_ONS]
        wanted += [(one.namespace, f"{one.name}-{one.uid[:5]}") for one in run.hub.list(Permission)]
    return [f"{name}/{work}" for name, work in wanted if not is_applied(run.hub.get(BroughtWork, work, name))]


def is_applied(work: BroughtWork | None) -> bool:
    return work is not None and conditions.is_true(work.status.conditions, "Applied")


async def profiles_follow_bindings(run: StoryRun, there: Sequence[str], gone: Sequence[str] = (), *, part: str) -> None:
    """Expect profiles of all workers in some namespaces, and wherever else a set is bound, of its clusters."""
    wanted = {**dict.fromkeys(there, sorted(run.fleet.workers)), **dict.fromkeys(gone)}
    await run.expect(
        "ENV-5",
        lambda: (
            (live_profiles := profiles(run)) == bound(run)
            and all(live_profiles.get(namespace) == names for namespace, names in wanted.items())
        ),
        part=part,
        why_not=lambda: f"bound {bound(run)}, profiles {profiles(run)}",
    )


def bound(run: StoryRun) -> dict[str, list[str]]:
    """Name the clusters of the sets that are bound to each namespace."""
    by_namespace: dict[str, set[str]] = {}
    for binding in run.hub.list(cluster.ManagedClusterSetBinding):
        chosen = run.hub.get(cluster.ManagedClusterSet, binding.spec.cluster_set)
        if chosen is not None and conditions.is_true(binding.status.conditions, "Bound"):
            members = {member.name for member in run.hub.list(cluster.ManagedCluster) if chosen.has(member)}
            by_namespace.setdefault(binding.namespace, set()).update(members)
    return {namespace: sorted(names) for namespace, names in sorted(by_namespace.items()) if names}


def profiles(run: StoryRun) -> dict[str, list[str]]:
    """Name the ClusterProfiles that OCM keeps in each namespace."""
    by_namespace: dict[str, list[str]] = {}
    for profile in sorted(run.hub.list(ClusterProfile), key=lambda profile: profile.key):
        if profile.metadata.labels.get(MANAGER_LABEL) == MANAGER:
            by_namespace.setdefault(profile.namespace, []).append(profile.name)
    return by_namespace


def is_satisfied(run: StoryRun) -> bool:
    placement = run.hub.get(cluster.Placement, "placement-spoke", "default")
    if placement is None or placement.status.number_of_selected_clusters != len(run.fleet.workers):
        return False
    satisfied = conditions.find(placement.status.conditions, "PlacementSatisfied")
    return satisfied is not None and satisfied.is_true and satisfied.reason == "AllDecisionsScheduled"


async def kueue_runs(run: StoryRun) -> None:
    if run.fleet.has_pods:
        await kueue_runs_as_pods(run)
    elif run.fleet.processes is not None:
        await kueue_runs_as_processes(run, run.fleet.processes)


async def kueue_runs_as_pods(run: StoryRun) -> None:
    clusters = (HUB, *run.fleet.workers)
    for name in clusters:
        run.seen.follow(name, Pod, namespace=KUEUE_NAMESPACE)
    await run.expect("ENV-3", lambda: all(is_kueue_running(run, name) for name in clusters))
    for name in clusters:
        await run.do(f"kubectl get pods -n {KUEUE_NAMESPACE} --context kind-{name}")


def is_kueue_running(run: StoryRun, cluster: str) -> bool:
    pods = [pod for pod in run.seen[cluster].list(Pod, KUEUE_NAMESPACE) if pod.name.startswith(KUEUE)]
    return bool(pods) and all(pod.status.phase == "Running" for pod in pods)


async def kueue_runs_as_processes(run: StoryRun, processes: PausableParts) -> None:
    """On the real engine no kubelet runs pods."""
    states = await processes.states()
    managers = {name: states.get(f"{name}/kueue", "missing") for name in (HUB, *run.fleet.workers)}
    run.printer.say("Kueue runs as a process beside each cluster, with its shipped configuration.")
    run.printer.output("\n".join(f"{name}/kueue   {state}" for name, state in managers.items()))
    run.judge("ENV-3", set(managers.values()) == {"up"}, str(managers))


async def credentials_are_there(run: StoryRun) -> None:
    await run.do(f"kubectl get secrets -n {KUEUE_NAMESPACE} --context kind-hub")
    await run.expect("ENV-7", lambda: all(secret_of(run, name) for name in run.fleet.workers))
    problems = [problem for name in run.fleet.workers for problem in await kubeconfig_problems(run, name)]
    run.judge("ENV-8", not problems, "; ".join(problems))
    await run.tell_why(*run.fleet.workers, reason="CredentialsIssued")


def secret_of(run: StoryRun, name: str) -> Secret | None:
    """Return the secret of a worker if it is as Kueue wants it."""
    secret = run.hub.get(Secret, credentials_secret(name), KUEUE_NAMESPACE)
    right = secret is not None and secret.type == "Opaque" and set(secret.data) == {KUBECONFIG_KEY}
    return secret if right else None


async def kubeconfig_problems(run: StoryRun, name: str) -> list[str]:
    secret, member = secret_of(run, name), run.hub.get(cluster.ManagedCluster, name)
    if secret is None or member is None or not member.spec.managed_cluster_client_configs:
        return [f"{name} has no secret or no URL"]
    wanted = member.spec.managed_cluster_client_configs[0]
    config = yaml.safe_load(secret.text(KUBECONFIG_KEY) or "")
    ca = wanted.ca_bundle or await own_authority(run, name)
    return [f"{name}: {what}" for what in shape_problems(config, name, server=wanted.url, ca=ca)]


async def own_authority(run: StoryRun, name: str) -> str:
    """Return the authority that a worker tells its own pods to trust."""
    config_map = ConfigMap.view(await run.clients[name].get(ConfigMap.resource, ROOT_CA, "default"))
    return base64.b64encode(config_map.data["ca.crt"].encode()).decode()


def shape_problems(config: dict[str, Any], name: str, *, server: str, ca: str) -> list[str]:
    """Say how a kubeconfig differs from what is promised; nothing where it does not."""
    (entry,), (context,), (user,) = config["clusters"], config["contexts"], config["users"]
    checks = {
        "kind": (config["apiVersion"], config["kind"]) == ("v1", "Config"),
        "cluster name": entry["name"] == name,
        "server": entry["cluster"]["server"] == server,
        "certificate authority": entry["cluster"].get("certificate-authority-data") == ca,
        "cluster has nothing else": set(entry["cluster"]) == {"server", "certificate-authority-data"},
        "context": context["name"] == name == config["current-context"],
        "cluster or user of the context": context["context"] == {"cluster": name, "user": user["name"]},
        "user has a token and nothing else": list(user["user"]) == ["token"] and bool(user["user"]["token"]),
    }
    return [f"wrong {what}" for what, is_right in checks.items() if not is_right]


async def workers_are_scored(run: StoryRun) -> None:
    await run.do("fleetqueue get scores")
    wanted = {name: -100 if name == "cluster1" else -70 for name in run.fleet.workers}
    await run.expect("S3-1", lambda: gpu_scores(run) == wanted, why_not=lambda: str(gpu_scores(run)))
    orders = {name: score_order(run, name) for name in run.fleet.workers}
    run.judge("S3-7", all(order[: len(CONTRACT)] == CONTRACT for order in orders.values()), str(orders))


def gpu_scores(run: StoryRun) -> dict[str, int | None]:
    """Return the GPU score of each cluster; None where those of the cluster and of its one node differ."""
    scores: dict[str, int | None] = {}
    for name in run.fleet.workers:
        score = run.hub.get(cluster.AddOnPlacementScore, SCORE_RESOURCE, name)
        values = {score.value(kind) for kind in GPU_SCORES} if score else set()
        scores[name] = values.pop() if len(values) == 1 else None
    return scores


def score_order(run: StoryRun, name: str) -> tuple[str, ...]:
    score = run.hub.get(cluster.AddOnPlacementScore, SCORE_RESOURCE, name)
    return tuple(item.name for item in score.status.scores) if score else ()
