"""Let a worker go: no new jobs, wait for the ones that run, then take its credentials away and forget it."""

from collections.abc import Callable, Iterable, Sequence, Set

from fleetqueue.admin.hub_state import seen
from fleetqueue.admin.inventory import listed
from fleetqueue.admin.job_names import job_name
from fleetqueue.admin.waiting import Observed
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL, ManagedCluster
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import (
    CLUSTER_LABEL,
    CREDENTIALS_ANNOTATION,
    GIVEN_UP,
    NAMESPACE,
    admin_secret,
)
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.admin_kubeconfigs import IN_USE
from fleetqueue.controllers.credentials.who_needs_one import clusters_of_member
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.hub_objects import marks_of
from fleetqueue.runtime.cluster import is_ours

Report = Callable[[str], None]


async def unjoin(hub: Client, name: str, report: Report, *, force: bool, limit: float) -> None:
    """Take a worker out of the fleet; raises NotFound where there is none, NotInTime while jobs still run there.

    A worker whose ManagedCluster somebody has deleted is drained as well, and can be waited for, or forced.
    """
    members = [member for member in await listed(hub, kueue.MultiKueueCluster) if leads_to(member, name)]
    live = await _managed_cluster(hub, name, is_expected=not members)
    await _tell_of_account(hub, name, report)
    if force:
        await _tell_of_jobs(hub, members, report)
    if live is not None:
        await _close(hub, live)
    if not force:
        report("no Placement selects it any more; it drains: waiting until nothing of ours is left on it")
        await _wait_until_empty(hub, name, limit=limit)
    if live is not None:
        await _deregister(hub, live, report)
    if force:
        await _wait_until_dropped(hub, {member.name for member in members if is_ours(member)}, limit=limit)
        await _give_up(hub, members, report)
    await _forget(hub, name, report, limit=limit)


async def _managed_cluster(hub: Client, name: str, *, is_expected: bool) -> ManagedCluster | None:
    try:
        return ManagedCluster.view(await hub.get(ManagedCluster.resource, name))
    except errors.NotFound:
        if is_expected:
            raise
        return None


async def _tell_of_account(hub: Client, name: str, report: Report) -> None:
    """Say what stays where we have no admin kubeconfig; it is looked for first, since the controller deletes ours."""
    raw = await hub.find(Secret.resource, admin_secret(name), NAMESPACE)
    if raw is not None:
        live = Secret.view(raw)
        if is_ours(live):
            return
        report(f"{live} was not made by fleetqueue: it stays")
    report("there is no admin kubeconfig of fleetqueue's: an account that was made with one stays on the worker")


async def _tell_of_jobs(hub: Client, members: Sequence[kueue.MultiKueueCluster], report: Report) -> None:
    """Name the jobs that may still run where nobody can look, before they are given up."""
    silent = [member for member in members if not member.is_connected]
    workloads = await seen(hub, kueue.Workload) if silent else ()
    for member in silent:
        why = f" ({member.refusal})" if member.refusal else ""
        if workloads is None:
            told = "which jobs may still run there is not known, since you may not list Workloads"
        elif jobs := jobs_left(member.name, workloads):
            told = f"may still run there, and start elsewhere now, so they run twice if they do: {_some(jobs)}"
        else:
            told = "the hub knows of no job that may still run there"
        report(f"{member.name} does not answer{why}: {told}")


def jobs_left(member: str, workloads: Iterable[kueue.Workload]) -> list[str]:
    """Return the jobs that run on a cluster, or may: also those that were taken back, and wait for it."""
    waits = f"{messages.WAITS_FOR}{member},"
    return sorted(
        f"{one.namespace}/{job_name(one)}"
        for one in workloads
        if one.is_live
        and (member in one.clusters or any(waits in check.message for check in one.status.admission_checks))
    )


def _some(jobs: Sequence[str]) -> str:
    more = len(jobs) - messages.MOST_NAMED
    rest = f" and {more} more, which `fleetqueue get jobs` shows" if more > 0 else ""
    return ", ".join(jobs[: messages.MOST_NAMED]) + rest


async def _close(hub: Client, cluster: ManagedCluster) -> None:
    """Take it out of its set, so that Placements drop it and the controller drains it."""
    if CLUSTER_SET_LABEL in cluster.metadata.labels:
        patch = {"metadata": {"labels": {CLUSTER_SET_LABEL: None}}}
        await hub.merge(ManagedCluster.resource, cluster.name, "", patch)


async def _wait_until_dropped(hub: Client, members: Set[str], *, limit: float) -> None:
    """Wait until these take no new jobs: what is given up must not be open to any."""
    async with Observed({"hub": hub}) as seen:
        seen.follow("hub", kueue.MultiKueueConfig)

        def serving() -> list[str]:
            configs = seen["hub"].list(kueue.MultiKueueConfig)
            return sorted(
                {m for config in configs for m in set(config.spec.clusters) - set(marks_of(config))} & members
            )

        await seen.until(
            lambda: not serving(),
            limit=limit,
            what="every Placement drops it",
            why_not=lambda: f"{', '.join(serving())} still takes new jobs; is `fleetqueue controller` running here?",
        )


async def _give_up(hub: Client, members: Iterable[kueue.MultiKueueCluster], report: Report) -> None:
    """Have the controller end the drain: it takes back what it can, and does not wait for a worker that is silent."""
    for member in members:
        if is_ours(member):
            patch = {"metadata": {"uid": member.uid, "annotations": {GIVEN_UP: "true"}}}
            await hub.merge(member.resource, member.name, "", patch)
            report(f"jobs that run through {member.name} are taken back, or given up where it does not answer")
        else:
            report(f"{member} was not made by fleetqueue: it stays, and loses its credential when you delete it")


async def _deregister(hub: Client, cluster: ManagedCluster, report: Report) -> None:
    if is_ours(cluster):
        await hub.delete(cluster.resource, cluster.name, uid=cluster.uid)
        report(f'deleted ManagedCluster "{cluster.name}"')
    else:
        patch = {"metadata": {"annotations": {CREDENTIALS_ANNOTATION: None}}}
        await hub.merge(cluster.resource, cluster.name, "", patch)
        report(f'ManagedCluster "{cluster.name}" was registered by Open Cluster Management and stays')


async def _wait_until_empty(hub: Client, name: str, *, limit: float) -> None:
    async with Observed({"hub": hub}) as seen:
        seen.follow("hub", kueue.MultiKueueCluster)
        seen.follow("hub", kueue.MultiKueueConfig)

        def members() -> list[kueue.MultiKueueCluster]:
            return [member for member in seen["hub"].list(kueue.MultiKueueCluster) if leads_to(member, name)]

        await seen.until(
            lambda: not members(),
            limit=limit,
            what=f'worker "{name}" drains',
            why_not=lambda: why_not_empty(members(), seen["hub"].list(kueue.MultiKueueConfig)),
        )


def why_not_empty(members: Sequence[kueue.MultiKueueCluster], configs: Iterable[kueue.MultiKueueConfig]) -> str:
    """Say who still uses, or may use, a worker: jobs, or a member that somebody wrote by hand and no config lists."""
    listed = {name for config in configs for name in config.spec.clusters}
    idle = [member.name for member in members if not is_ours(member) and member.name not in listed]
    silent = {m.name: m.refusal for m in members if m.name not in idle and m.refusal}
    used = [member.name for member in members if member.name not in idle and member.name not in silent]
    parts = []
    if silent:
        why = ", ".join(f"{name} ({refusal})" for name, refusal in silent.items())
        parts.append(f"cannot be asked whether jobs still run there: {why}; unjoin it again later, or with --force")
    if used:
        parts.append(f"jobs still run through {', '.join(used)}; unjoin it again later, or with --force")
    if idle:
        parts.append(
            f"no config lists {', '.join(idle)}, which fleetqueue did not make, but it uses the credential: delete it"
        )
    return "; ".join(parts)


def leads_to(member: kueue.MultiKueueCluster, name: str) -> bool:
    """Tell whether jobs reach a worker through a MultiKueueCluster, whoever made it."""
    return member.metadata.labels.get(CLUSTER_LABEL) == name or name in clusters_of_member(member)


async def _forget(hub: Client, name: str, report: Report, *, limit: float) -> None:
    """Wait until the controller has cleaned the worker with our admin kubeconfig, then delete that."""
    secret = admin_secret(name)
    async with Observed({"hub": hub}) as seen:
        seen.follow("hub", Secret, namespace=NAMESPACE, fields=f"metadata.name={secret}")

        def ours() -> Secret | None:
            live = seen["hub"].get(Secret, secret, NAMESPACE)
            return live if live is not None and is_ours(live) else None

        await seen.synced(limit=limit)
        if (live := ours()) is not None and IN_USE in live.metadata.annotations:
            report(
                f"waiting at most {limit:g} s until the controller has removed the account of ours on the worker, or"
                " has given it up where the worker does not answer"
            )
        await seen.until(
            lambda: (live := ours()) is None or IN_USE not in live.metadata.annotations,
            limit=limit,
            what=f'the account of ours on worker "{name}" is removed',
            why_not=lambda: (
                "the worker does not answer, or `fleetqueue controller` does not run on this hub; where the worker is"
                " gone for good, delete its ManagedCluster if there still is one; the controller goes on by itself"
            ),
        )
        cleaned = ours()
    if cleaned is not None:
        await hub.delete_seen(cleaned)  # unless the controller was first
