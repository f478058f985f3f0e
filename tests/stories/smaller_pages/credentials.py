"""The credentials of workers when what they are made from changes, is spoiled or goes.

A token secret is read when its account says that there is a new token, and with every look at the cluster: where nobody
says anything, an annotation on the cluster makes the controller look.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.cluster_permission_v1alpha1 import ClusterPermission
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Pod, Secret
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE, credentials_secret
from fleetqueue.api.managed_service_account_v1beta1 import AGENT_NAMESPACE
from fleetqueue.api.meta import Object
from fleetqueue.demo.stage import LIMIT, Stage
from fleetqueue.demo.story2 import SETUP, conditions, label, members
from fleetqueue.lab.cluster_names import HUB

from .placed import (
    CHOSEN,
    account_of,
    complains,
    everything_is_active,
    is_active,
    is_connected,
    said_of_check,
    token_of,
    version,
)

IDS = ("C-1", "C-2", "C-3", "C-4")
AGENT = "managed-serviceaccount-addon-agent"


class TokenSecret(Secret):
    """A secret of any namespace; a kind of its own, since a kind is followed in one namespace only."""


class Watcher:
    """Remembers what a look at the present does not show: who was cut off, and which secrets were taken away."""

    def __init__(self) -> None:
        self.cut_off: set[str] = set()
        self.removed: list[str] = []

    def see(self, cluster: str, old: Object | None, new: Object | None) -> None:
        if isinstance(new, kueue.MultiKueueCluster) and isinstance(old, kueue.MultiKueueCluster):
            if old.is_connected and not new.is_connected:
                self.cut_off.add(new.name)
        if type(old) is Secret and new is None:
            self.removed.append(old.name)


async def tell(stage: Stage) -> None:
    await set_up(stage)
    watcher = Watcher()
    stage.seen.watch(watcher.see)
    await rotate(stage, "cluster2")
    await delete_permission(stage, "cluster3", watcher)
    async with agent_away(stage, "cluster3"):
        await spoil_token_secret(stage, "cluster3")
        await delete_token_secret(stage, "cluster3")
    await everything_is_active(stage, "C-2", "with the agent, the secret and the connection come back")
    kept = members("cluster2")[0] not in watcher.cut_off
    stage.judge("C-1", kept, "it was cut off", part="the MultiKueueCluster was connected all the time")


async def set_up(stage: Stage) -> None:
    """Let a Placement choose two clusters, as in story 2."""
    stage.seen.follow(HUB, TokenSecret)
    stage.seen.follow(HUB, ClusterPermission)
    for name in CHOSEN:
        await label(stage, name)
    await stage.do("kubectl apply -f placement-demo2-1.yaml --context kind-hub")
    await stage.do(f"kubectl apply -f {SETUP} --context kind-hub")
    await stage.seen.until(
        lambda: is_active(stage), limit=LIMIT, what="the queue", why_not=lambda: conditions(stage, members(*CHOSEN))
    )


async def rotate(stage: Stage, name: str) -> None:
    """Let the token's time be over: the agent then brings another one."""
    before = token_of(stage, name)
    patch = json.dumps({"status": {"expirationTimestamp": timestamp(clock.now())}})
    account = f"managedserviceaccount {account_of(name)} -n {name}"
    await stage.do(f"kubectl patch {account} --subresource=status --type=merge -p '{patch}' --context kind-hub")
    await stage.expect(
        "C-1",
        lambda: before != token_of(stage, name) == reported_token(stage, name),
        part="a rotated token reaches the kubeconfig secret",
    )


async def delete_permission(stage: Stage, name: str, watcher: Watcher) -> None:
    before = stage.hub.get(ClusterPermission, account_of(name), name)
    assert before is not None
    await stage.do(f"kubectl delete clusterpermission {before.name} -n {name} --context kind-hub")
    await stage.expect(
        "C-3",
        lambda: credentials_secret(name) in watcher.removed,
        part="deleted permissions take the kubeconfig secret with them",
    )
    await stage.expect(
        "C-3",
        lambda: (now := stage.hub.get(ClusterPermission, before.name, name)) is not None and now.uid != before.uid,
        part="they are made again",
    )
    await everything_is_active(stage, "C-3", "and with them the secret and the connection come back")


async def spoil_token_secret(stage: Stage, name: str) -> None:
    """Take one entry after the other out of the token secret."""
    before = version(stage, name)
    for key in ("ca.crt", "token"):
        patch = json.dumps([{"op": "remove", "path": f"/data/{key}"}])
        secret = f"secret {account_of(name)} -n {name}"
        await stage.do(f"kubectl patch {secret} --type=json -p '{patch}' --context kind-hub")
        await look_at(stage, name)
        await complains(stage, "C-4", name, f"{key} not found in secret {account_of(name)}")
    stage.judge("C-4", version(stage, name) == before, "the secret was written", part="nothing is written")


async def delete_token_secret(stage: Stage, name: str) -> None:
    member = members(name)[0]
    await stage.do(f"kubectl delete secret {account_of(name)} -n {name} --context kind-hub")
    await look_at(stage, name)
    await stage.expect(
        "C-2",
        lambda: stage.hub.get(Secret, credentials_secret(name), KUEUE_NAMESPACE) is None,
        part="a deleted token secret takes the kubeconfig secret with it",
    )
    await stage.expect(
        "C-2",
        lambda: not is_connected(stage, member) and f"unusable now: {member} (no secret " in said_of_check(stage),
        part="the MultiKueueCluster is cut off, and the check says why",
        why_not=lambda: conditions(stage, [member]),
    )


async def look_at(stage: Stage, name: str) -> None:
    moment = clock.now().isoformat()
    await stage.do(f"kubectl annotate managedcluster {name} looked-at={moment} --overwrite --context kind-hub")


@asynccontextmanager
async def agent_away(stage: Stage, name: str) -> AsyncIterator[None]:
    """Let the agent that reports tokens be away; it would mend its secret at once."""
    stage.seen.follow(name, Pod, namespace=AGENT_NAMESPACE)
    scale = f"kubectl scale deployment {AGENT} -n {AGENT_NAMESPACE} --context {name} --replicas="
    await stage.do(f"{scale}0")
    await stage.seen.until(lambda: not agents(stage, name), limit=LIMIT, what="the agent is away")
    try:
        yield
    finally:
        await stage.do(f"{scale}1")


def agents(stage: Stage, name: str) -> list[Pod]:
    return [pod for pod in stage.worker(name).list(Pod, AGENT_NAMESPACE) if pod.name.startswith(AGENT)]


def reported_token(stage: Stage, name: str) -> str:
    found = stage.hub.get(TokenSecret, account_of(name), name)
    return found.text("token") or "" if found else ""
