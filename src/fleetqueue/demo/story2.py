"""Story 2: a Placement chooses the clusters, and MultiKueue follows."""

from typing import Final

from fleetqueue.admin.inventory import chosen
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.fleetqueue import ACCESS_PROVIDER, KUEUE_NAMESPACE, credentials_secret
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.scheme import Manifest
from fleetqueue.controllers.placement_admission.hub_objects import marks_of
from fleetqueue.demo import jobs
from fleetqueue.demo.story_run import StoryRun

IDS: Final = ("ENV-6", "S2-1", "S2-2", "S2-3", "S2-4", "S2-5", "S2-6", "K-1")
PLACEMENT: Final = "placement-demo2"
SETUP: Final = "multikueue-setup-demo2.yaml"
CHECK: Final = "multikueue-demo2"
QUEUE: Final = "cluster-queue-demo2"
LABEL: Final = "accelerator=nvidia-tesla-t4"
GENERATED: Final = "MultiKueueConfig and MultiKueueCluster generated"


async def tell(run: StoryRun) -> Job:
    """Tell the story; return the job, which still runs."""
    run.printer.title("Story 2: a Placement chooses the clusters")
    run.printer.say("As an admin, I want the clusters with an NVIDIA T4 to become a MultiKueue by themselves.")
    await choose(run)
    await generate(run)
    return await send(run)


async def choose(run: StoryRun) -> None:
    """Label clusters, bind the set, apply the Placement."""
    await label(run, "cluster2")
    await label(run, "cluster3")
    await bind(run)
    if run.fleet.has_agents:
        await run.expect(
            "ENV-6",
            lambda: all(has_one_way_in(run, name) for name in run.fleet.workers),
            why_not=lambda: str([ways_in(run, name) for name in run.fleet.workers]),
        )
    await run.do("kubectl apply -f placement-demo2-1.yaml --context kind-hub")
    await run.expect("S2-1", lambda: decided(run) == ["cluster2", "cluster3"], why_not=lambda: str(decided(run)))


async def generate(run: StoryRun) -> None:
    """Apply the queue with both checks and look at what becomes of it."""
    await run.do(f"kubectl apply -f {SETUP} --context kind-hub")
    wanted = members("cluster2", "cluster3")
    await run.expect("S2-2", lambda: listed(run) == wanted, why_not=lambda: str(listed(run)))
    await run.do("kubectl get multikueueconfigs --context kind-hub")
    await run.expect("S2-3", lambda: generated(run) == secrets("cluster2", "cluster3"))
    await run.expect("S2-5", lambda: is_all_active(run, wanted), why_not=lambda: conditions(run, wanted))
    await run.do("kubectl get multikueueclusters --context kind-hub")
    await run.expect("S2-4", lambda: run.says(kueue.AdmissionCheck, PLACEMENT, "True", "Active", GENERATED))
    await run.do(
        f"kubectl get admissioncheck {PLACEMENT} --context kind-hub"
        """ -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\\n"}{end}'"""
    )
    await run.tell_why(PLACEMENT, reason="SelectionChanged")


async def send(run: StoryRun) -> Job:
    """Send a job through it."""
    before = generation(run)
    job = await run.create_job("job-demo2.yaml")
    worker = await run.expect("S2-6", lambda: jobs.admitted_on(run, job), why_not=lambda: jobs.where(run, job))
    workload = jobs.workload_of(run, job)
    assert workload is not None
    seen_on = run.monitor.copies.get(workload.key, set())
    run.judge(
        "S2-6",
        seen_on <= {"cluster2", "cluster3"} and generation(run) == before,
        f"seen on {seen_on}, generation {before} and then {generation(run)}",
        part="no copy ever came to another cluster, and the config is unchanged",
    )
    check = workload.check(PLACEMENT)
    run.judge("K-1", check is not None and check.state == kueue.READY, str(check))
    await run.tell_why(workload.name, reason="Nominated")
    await jobs.show_workloads(run, "cluster2", "cluster3")
    run.printer.say(f"The job runs on {worker}.")
    return job


# What is done more than once


async def label(run: StoryRun, name: str) -> None:
    await run.do(f"kubectl label managedcluster {name} {LABEL} --overwrite --context kind-hub")


async def unlabel(run: StoryRun, name: str) -> None:
    await run.do(f"kubectl label managedcluster {name} {LABEL.partition('=')[0]}- --context kind-hub")


async def bind(run: StoryRun) -> None:
    await run.do(f"fleetqueue clusterset bind spoke --namespace {KUEUE_NAMESPACE}")
    await run.do("fleetqueue get clustersets --tree")


# What is asked more than once


def members(*clusters: str) -> list[str]:
    """Name the MultiKueueClusters of clusters."""
    return [f"{PLACEMENT}-{name}" for name in clusters]


def secrets(*clusters: str) -> dict[str, str]:
    """Return what the generated MultiKueueClusters must be, with the secret of each."""
    return {f"{PLACEMENT}-{name}": credentials_secret(name) for name in clusters}


def decided(run: StoryRun) -> list[str]:
    placement = run.hub.get(cluster.Placement, PLACEMENT, KUEUE_NAMESPACE)
    return chosen(placement, run.hub.list(cluster.PlacementDecision)) if placement else []


def listed(run: StoryRun) -> list[str]:
    """Return what the config lists, in name order."""
    config = run.hub.get(kueue.MultiKueueConfig, PLACEMENT)
    return sorted(config.spec.clusters) if config else []


def generation(run: StoryRun) -> int:
    """Return how often the content of the config was written; 0 where there is none."""
    config = run.hub.get(kueue.MultiKueueConfig, PLACEMENT)
    return config.metadata.generation if config else 0


def draining(run: StoryRun) -> list[str]:
    """Return what of that is draining."""
    return sorted(marks_of(run.hub.get(kueue.MultiKueueConfig, PLACEMENT)))


def serving(run: StoryRun) -> list[str]:
    """Return what of that takes new jobs."""
    return sorted(set(listed(run)) - set(draining(run)))


def generated(run: StoryRun) -> dict[str, str]:
    """Return all MultiKueueClusters with the secrets that they name."""
    return {
        member.name: member.spec.cluster_source.kube_config.location if member.spec.cluster_source.kube_config else ""
        for member in run.hub.list(kueue.MultiKueueCluster)
    }


def is_all_active(run: StoryRun, wanted: list[str]) -> bool:
    """Tell whether Kueue says of everything that it works."""
    return (
        all(run.says(kueue.MultiKueueCluster, member, "True", "Active", "Connected") for member in wanted)
        and run.says(kueue.AdmissionCheck, CHECK, "True", "Active", "The admission check is active")
        and run.says(kueue.ClusterQueue, QUEUE, "True", "Ready", "Can admit new workloads")
    )


def conditions(run: StoryRun, wanted: list[str]) -> str:
    """Say what Kueue says of everything."""
    by_name = {member: run.condition(kueue.MultiKueueCluster, member) for member in wanted}
    by_name[CHECK] = run.condition(kueue.AdmissionCheck, CHECK)
    by_name[PLACEMENT] = run.condition(kueue.AdmissionCheck, PLACEMENT)
    by_name[QUEUE] = run.condition(kueue.ClusterQueue, QUEUE)
    return "; ".join(f"{name}: {c.status} {c.reason} {c.message}" if c else f"{name}: -" for name, c in by_name.items())


def has_one_way_in(run: StoryRun, name: str) -> bool:
    """Tell whether a profile names us alone, and its cluster's secret alone where that field is served."""
    reference = {"kind": "Secret", "name": credentials_secret(name), "namespace": KUEUE_NAMESPACE}
    entries = [{"consumer": "kueue-admin", "accessRef": reference}] if run.fleet.has_pods else []
    return ways_in(run, name) == ([ACCESS_PROVIDER], entries)


def ways_in(run: StoryRun, name: str) -> tuple[list[str], list[Manifest]]:
    profile = run.hub.get(ClusterProfile, name, KUEUE_NAMESPACE)
    if profile is None:
        return [], []
    return [provider["name"] for provider in profile.status.access_providers], [*profile.status.credentials]
