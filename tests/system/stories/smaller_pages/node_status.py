"""GPUs that a person writes into a node's status; the kubelet stand-in goes on reporting meanwhile."""

import json

from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.meta import Object
from fleetqueue.api.usage_scores import GPU
from fleetqueue.demo.environment_story import gpu_scores
from fleetqueue.demo.story_run import StoryRun

IDS = ("B-2",)
CLUSTER, NODE, GPUS = "cluster1", "cluster1-control-plane", 5
PRESSURE = "MemoryPressure"


class Heart:
    """Counts how often the node said that it is alive."""

    def __init__(self) -> None:
        self.beats = 0

    def see(self, cluster: str, old: Object | None, new: Object | None) -> None:
        if cluster == CLUSTER and isinstance(old, Lease) and isinstance(new, Lease):
            self.beats += old.spec.renew_time != new.spec.renew_time


async def write(run: StoryRun) -> Heart:
    """Do what `kubectl edit --subresource=status` does, with a condition that the kubelet must put right."""
    run.seen.follow(CLUSTER, Node)
    run.seen.follow(CLUSTER, Lease, namespace="kube-node-lease")
    await run.seen.synced()
    heart = Heart()
    run.seen.watch(heart.see)
    amount = {GPU: str(GPUS)}
    wrong = [{"type": PRESSURE, "status": "True"}]
    patch = json.dumps({"status": {"capacity": amount, "allocatable": amount, "conditions": wrong}})
    await run.do(f"kubectl patch node {NODE} --subresource=status -p '{patch}' --context {CLUSTER}")
    await run.expect(
        "B-2",
        lambda: gpus(run) == GPUS and not has_pressure(run),
        part="a report of the kubelet changes what is the kubelet's, and leaves the GPUs",
        why_not=lambda: str(run.worker(CLUSTER).get(Node, NODE)),
    )
    await run.expect(
        "B-2",
        lambda: gpu_scores(run)[CLUSTER] == -100 + 10 * GPUS,
        part="the score of the cluster follows",
        why_not=lambda: str(gpu_scores(run)),
    )
    return heart


async def look_again(run: StoryRun, heart: Heart) -> None:
    """Look when the node has been heard again; it renews its lease every ten seconds."""
    await run.expect(
        "B-2",
        lambda: heart.beats and gpus(run) == GPUS,
        part="after a heartbeat of the kubelet the GPUs are still there",
        why_not=lambda: f"{heart.beats} heartbeats, {gpus(run)} GPUs",
    )


def gpus(run: StoryRun) -> int:
    node = run.worker(CLUSTER).get(Node, NODE)
    return int(node.status.allocatable.get(GPU, 0)) if node else 0


def has_pressure(run: StoryRun) -> bool:
    node = run.worker(CLUSTER).get(Node, NODE)
    return node is None or any(one.type == PRESSURE and one.is_true for one in node.status.conditions)
