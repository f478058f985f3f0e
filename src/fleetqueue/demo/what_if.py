"""What if: the turns that the stories could have taken, and the end of everything."""

from typing import Final

import yaml

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.controllers.placement_admission.names import FINALIZER
from fleetqueue.demo.environment_story import gpu_scores, profiles_follow_bindings
from fleetqueue.demo.story2 import (
    CHECK,
    PLACEMENT,
    QUEUE,
    SETUP,
    bind,
    conditions,
    decided,
    generated,
    is_all_active,
    label,
    listed,
    members,
    secrets,
    unlabel,
)
from fleetqueue.demo.story_run import StoryRun
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.manifests import objects

IDS: Final = ("S2-7", "S2-8", "S2-9", "S2-10", "S2-11", "S2-12", "S2-13", "S3-8", "D-1")
NO_CLUSTERS: Final = f"No clusters available for placement {PLACEMENT}"
NO_CONFIG: Final = (
    f'Cannot load the AdmissionChecks parameters: MultiKueueConfig.kueue.x-k8s.io "{PLACEMENT}" not found'
)
INACTIVE: Final = f"Can't admit new workloads: references inactive AdmissionCheck(s): {CHECK},{PLACEMENT}."
IN_USE: Final = "kueue.x-k8s.io/resource-in-use"
AGENT: Final = "cluster2/score-agent"
SECOND_CHECK: Final = f"{PLACEMENT}-b"
BOTH: Final = ("cluster2", "cluster3")


async def tell(run: StoryRun) -> None:
    run.printer.title("What if: labels, bindings and checks come and go")
    await run.do("kubectl delete jobs --all --context kind-hub")
    await run.do("kubectl apply -f placement-demo2-1.yaml --context kind-hub")
    await everything_is_active(run)
    await an_agent_falls_silent(run)
    await a_cluster_loses_its_label(run)
    await all_lose_it_and_one_gets_it_back(run)
    await the_set_is_unbound(run)
    await two_checks_share_a_placement(run)
    await the_check_is_deleted(run)
    await the_check_comes_before_its_placement(run)
    await the_silence_is_noticed(run)
    await everything_is_deleted(run)


async def everything_is_active(
    run: StoryRun, expectation: str = "S2-5", *, clusters: tuple[str, ...] = BOTH, part: str = ""
) -> None:
    wanted = members(*clusters)
    await run.expect(
        expectation,
        part=part or f"{' and '.join(clusters)} listed and Connected, the check active, the queue Ready",
        holds=lambda: listed(run) == wanted and is_all_active(run, wanted),
        why_not=lambda: f"listed {listed(run)}; {conditions(run, wanted)}",
    )


async def an_agent_falls_silent(run: StoryRun) -> None:
    """Stop the agent of cluster2; what becomes of it is looked at later, since scores hold for a while."""
    if run.fleet.processes is None:
        return
    run.printer.say(f"Meanwhile {AGENT} falls silent; its scores hold for up to 70 seconds.")
    await run.fleet.processes.pause(AGENT)


async def a_cluster_loses_its_label(run: StoryRun) -> None:
    before = run.hub.get(kueue.MultiKueueConfig, PLACEMENT)
    await unlabel(run, "cluster3")
    await run.expect("S2-8", lambda: listed(run) == members("cluster2"), why_not=lambda: str(listed(run)))
    now = run.hub.get(kueue.MultiKueueConfig, PLACEMENT)
    same = before is not None and now is not None and before.uid == now.uid
    check = run.hub.get(kueue.AdmissionCheck, PLACEMENT)
    run.judge(
        "S2-8",
        same and check is not None and check.is_active,
        "another config, or the check is not active",
        part="the config is the same object, and the check is still active",
    )
    await run.tell_why(PLACEMENT, reason="SelectionChanged")


async def all_lose_it_and_one_gets_it_back(run: StoryRun) -> None:
    await unlabel(run, "cluster2")
    await run.expect("S2-9", lambda: is_empty(run), why_not=lambda: conditions(run, []))
    await run.do("kubectl get admissionchecks,clusterqueues -o wide --context kind-hub")
    await run.tell_why(PLACEMENT, reason="SelectionChanged")
    await label(run, "cluster2")
    await everything_is_active(run, "S2-10", clusters=("cluster2",))
    await label(run, "cluster3")
    await everything_is_active(run)


def is_empty(run: StoryRun) -> bool:
    """Tell whether nothing is selected and everybody says so."""
    return (
        not decided(run)
        and run.hub.get(kueue.MultiKueueConfig, PLACEMENT) is None
        and run.says(kueue.AdmissionCheck, PLACEMENT, "False", "NoClustersAvailable", NO_CLUSTERS)
        and run.says(kueue.AdmissionCheck, CHECK, "False", "BadConfig", NO_CONFIG)
        and run.says(kueue.ClusterQueue, QUEUE, "False", "AdmissionCheckInactive", INACTIVE)
    )


def is_queue_inactive(run: StoryRun) -> bool:
    condition = run.condition(kueue.ClusterQueue, QUEUE)
    return condition is not None and not condition.is_true and "AdmissionCheckInactive" in condition.reason


async def the_set_is_unbound(run: StoryRun) -> None:
    await run.do(f"fleetqueue clusterset unbind spoke --namespace {KUEUE_NAMESPACE}")
    await run.expect(
        "S2-11",
        lambda: is_empty(run),
        part="unbinding the set empties the selection",
        why_not=lambda: conditions(run, []),
    )
    if run.fleet.has_agents:
        await profiles_follow_bindings(
            run, ["default"], [KUEUE_NAMESPACE], part="where the set is unbound, the profiles go"
        )
    await bind(run)
    if run.fleet.has_agents:
        await profiles_follow_bindings(run, ["default", KUEUE_NAMESPACE], part="where it is bound again, they come")
    await everything_is_active(run, "S2-11", part="binding it again brings everything back")


async def two_checks_share_a_placement(run: StoryRun) -> None:
    before = await live_config(run)
    await run.do("kubectl apply -f - --context kind-hub", stdin=second_check())
    await run.expect(
        "S2-13",
        lambda: run.says(kueue.AdmissionCheck, SECOND_CHECK, "True", "Active"),
        part="a second check on the same Placement is active",
    )
    await run.do(f"kubectl delete admissioncheck {SECOND_CHECK} --timeout=60s --context kind-hub")
    # Our finalizer was on it and goes last, so everything that we do about the deletion is done.
    run.judge("S2-13", await live_config(run) == before, "the shared config was changed")


async def live_config(run: StoryRun) -> tuple[str, int]:
    """Ask the hub itself for the config: which object it is, and how often it was written."""
    config = kueue.MultiKueueConfig.view(await run.clients[HUB].get(kueue.MultiKueueConfig.resource, PLACEMENT))
    return config.uid, config.metadata.generation


def second_check() -> str:
    """Write the placement check of the example once more, under another name."""
    check = next(o for o in objects(SETUP) if o["kind"] == "AdmissionCheck" and o["metadata"]["name"] == PLACEMENT)
    return yaml.safe_dump({**check, "metadata": {"name": SECOND_CHECK}}, sort_keys=False)


async def the_check_is_deleted(run: StoryRun) -> None:
    held_by = finalizers(run)
    run.judge("S2-12", held_by == [FINALIZER, IN_USE], str(held_by), part="our finalizer and Kueue's hold the check")
    await run.do(f"kubectl delete admissioncheck {PLACEMENT} --wait=false --context kind-hub")
    await run.expect(
        "S2-12",
        part="deleting the placement check removes its config and clusters",
        holds=lambda: run.hub.get(kueue.MultiKueueConfig, PLACEMENT) is None and not generated(run),
        why_not=lambda: f"left: {listed(run)} {generated(run)}",
    )
    await run.expect(
        "S2-12",
        lambda: finalizers(run) == [IN_USE],
        part="then our finalizer goes; Kueue's stays while a queue uses the check",
        why_not=lambda: str(finalizers(run)),
    )
    await run.do(f"kubectl delete -f {SETUP} --ignore-not-found --timeout=60s --context kind-hub")
    await run.expect(
        "S2-12",
        lambda: run.hub.get(kueue.AdmissionCheck, PLACEMENT) is None,
        part="once no queue uses it, the check is gone",
    )


def finalizers(run: StoryRun) -> list[str]:
    """Name who holds the placement check."""
    check = run.hub.get(kueue.AdmissionCheck, PLACEMENT)
    return sorted(check.metadata.finalizers) if check else []


async def the_check_comes_before_its_placement(run: StoryRun) -> None:
    await run.do(f"kubectl delete placement {PLACEMENT} -n {KUEUE_NAMESPACE} --context kind-hub")
    await run.do(f"kubectl apply -f {SETUP} --context kind-hub")
    await run.expect(
        "S2-7",
        part="a check before its Placement says PlacementNotFound, and the queue waits",
        holds=lambda: (
            run.says(kueue.AdmissionCheck, PLACEMENT, "False", "PlacementNotFound") and is_queue_inactive(run)
        ),
        why_not=lambda: conditions(run, []),
    )
    await run.do("kubectl apply -f placement-demo2-1.yaml --context kind-hub")
    await everything_is_active(run, "S2-7", part="when the Placement comes, everything converges by itself")
    run.judge("S2-7", generated(run) == secrets(*BOTH), str(generated(run)), part="as if it had been there first")


async def the_silence_is_noticed(run: StoryRun) -> None:
    """OCM would count expired scores as 0, which beats -70: so the hub lowers them before they expire."""
    if run.fleet.processes is None:
        return
    await run.do("kubectl apply -f placement-demo2-2.yaml --context kind-hub")
    await run.expect(
        "S3-8",
        lambda: gpu_scores(run)["cluster2"] == -100 and decided(run) == ["cluster3"],
        part="the silent cluster has the lowest score, and the other one is chosen",
        why_not=lambda: f"scores {gpu_scores(run)}, decided {decided(run)}",
        limit=120,
    )
    await run.do("fleetqueue get scores")
    await run.fleet.processes.resume(AGENT)
    await run.expect(
        "S3-8",
        lambda: gpu_scores(run)["cluster2"] == -70 and decided(run) == ["cluster2"],
        part="when its agent is heard again, its score counts again",
        why_not=lambda: f"scores {gpu_scores(run)}, decided {decided(run)}",
    )


async def everything_is_deleted(run: StoryRun) -> None:
    await run.do(f"kubectl delete -f {SETUP} --timeout=60s --context kind-hub")
    await run.expect("D-1", lambda: not leftovers(run), why_not=lambda: f"left: {', '.join(leftovers(run))}")
    await run.do(f"kubectl delete placement {PLACEMENT} -n {KUEUE_NAMESPACE} --context kind-hub")


def leftovers(run: StoryRun) -> list[str]:
    """Name what of the stories is still there."""
    kinds = (
        kueue.ClusterQueue,
        kueue.LocalQueue,
        kueue.ResourceFlavor,
        kueue.AdmissionCheck,
        kueue.MultiKueueConfig,
        kueue.MultiKueueCluster,
    )
    return [str(obj) for kind in kinds for obj in run.hub.list(kind) if "demo2" in obj.name]
