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
from fleetqueue.demo.story2 import SETUP, conditions, label, members
from fleetqueue.demo.story_run import LIMIT, StoryRun
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


async def tell(run: StoryRun) -> None:
    await set_up(run)
    watcher = Watcher()
    run.seen.watch(watcher.see)
    await rotate(run, "cluster2")
    await delete_permission(run, "cluster3", watcher)
    async with agent_away(run, "cluster3"):
        await spoil_token_secret(run, "cluster3")
        await delete_token_secret(run, "cluster3")
    await everything_is_active(run, "C-2", "with the agent, the secret and the connection come back")
    kept = members("cluster2")[0] not in watcher.cut_off
    run.judge("C-1", kept, "it was cut off", part="the MultiKueueCluster was connected all the time")


async def set_up(run: StoryRun) -> None:
    """Let a Placement choose two clusters, as in story 2."""
    run.seen.follow(HUB, TokenSecret)
    run.seen.follow(HUB, ClusterPermission)
    for name in CHOSEN:
        await label(run, name)
    await run.do("kubectl apply -f placement-demo2-1.yaml --context kind-hub")
    await run.do(f"kubectl apply -f {SETUP} --context kind-hub")
    await run.seen.until(
        lambda: is_active(run), limit=LIMIT, what="the queue", why_not=lambda: conditions(run, members(*CHOSEN))
    )


async def rotate(run: StoryRun, name: str) -> None:
    """Let the token's time be over: the agent then brings another one."""
    before = token_of(run, name)
    patch = json.dumps({"status": {"expirationTimestamp": timestamp(clock.now())}})
    account = f"managedserviceaccount {account_of(name)} -n {name}"
    await run.do(f"kubectl patch {account} --subresource=status --type=merge -p '{patch}' --context kind-hub")
    await run.expect(
        "C-1",
        lambda: before != token_of(run, name) == reported_token(run, name),
        part="a rotated token reaches the kubeconfig secret",
    )


async def delete_permission(run: StoryRun, name: str, watcher: Watcher) -> None:
    before = run.hub.get(ClusterPermission, account_of(name), name)
    assert before is not None
    await run.do(f"kubectl delete clusterpermission {before.name} -n {name} --context kind-hub")
    await run.expect(
        "C-3",
        lambda: credentials_secret(name) in watcher.removed,
        part="deleted permissions take the kubeconfig secret with them",
    )
    await run.expect(
        "C-3",
        lambda: (now := run.hub.get(ClusterPermission, before.name, name)) is not None and now.uid != before.uid,
        part="they are made again",
    )
    await everything_is_active(run, "C-3", "and with them the secret and the connection come back")


async def spoil_token_secret(run: StoryRun, name: str) -> None:
    """Take one entry after the other out of the token secret."""
    before = version(run, name)
    for key in ("ca.crt", "token"):
        patch = json.dumps([{"op": "remove", "path": f"/data/{key}"}])
        secret = f"secret {account_of(name)} -n {name}"
        await run.do(f"kubectl patch {secret} --type=json -p '{patch}' --context kind-hub")
        await look_at(run, name)
        await complains(run, "C-4", name, f"{key} not found in secret {account_of(name)}")
    run.judge("C-4", version(run, name) == before, "the secret was written", part="nothing is written")


async def delete_token_secret(run: StoryRun, name: str) -> None:
    member = members(name)[0]
    await run.do(f"kubectl delete secret {account_of(name)} -n {name} --context kind-hub")
    await look_at(run, name)
    await run.expect(
        "C-2",
        lambda: run.hub.get(Secret, credentials_secret(name), KUEUE_NAMESPACE) is None,
        part="a deleted token secret takes the kubeconfig secret with it",
    )
    await run.expect(
        "C-2",
        lambda: not is_connected(run, member) and f"unusable now: {member} (no secret " in said_of_check(run),
        part="the MultiKueueCluster is cut off, and the check says why",
        why_not=lambda: conditions(run, [member]),
    )


async def look_at(run: StoryRun, name: str) -> None:
    moment = clock.now().isoformat()
    await run.do(f"kubectl annotate managedcluster {name} looked-at={moment} --overwrite --context kind-hub")


@asynccontextmanager
async def agent_away(run: StoryRun, name: str) -> AsyncIterator[None]:
    """Let the agent that reports tokens be away; it would mend its secret at once."""
    run.seen.follow(name, Pod, namespace=AGENT_NAMESPACE)
    scale = f"kubectl scale deployment {AGENT} -n {AGENT_NAMESPACE} --context {name} --replicas="
    await run.do(f"{scale}0")
    await run.seen.until(lambda: not agents(run, name), limit=LIMIT, what="the agent is away")
    try:
        yield
    finally:
        await run.do(f"{scale}1")


def agents(run: StoryRun, name: str) -> list[Pod]:
    return [pod for pod in run.worker(name).list(Pod, AGENT_NAMESPACE) if pod.name.startswith(AGENT)]


def reported_token(run: StoryRun, name: str) -> str:
    found = run.hub.get(TokenSecret, account_of(name), name)
    return found.text("token") or "" if found else ""
