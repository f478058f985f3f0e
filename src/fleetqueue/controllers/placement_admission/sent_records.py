"""What is written on a Workload that must not run twice before it is sent: where to, and in trust of which Leases.

Reads:   the Leases of agents
Writes:  an annotation of the Workload, and the condition fleetqueue.dev/Fenced of one that asks for the fence

Kueue copies the annotation to the worker with the Workload, so that the agent there knows what it has promised, and a
later leader of ours where the job may be.
"""

from collections.abc import Iterable, Mapping, Sequence

from fleetqueue import clock
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition
from fleetqueue.api.fence import POLICIES, SENT_TO, recorded, sent_to
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.copies import Copies
from fleetqueue.controllers.placement_admission.names import FENCE_MANAGER, FENCED
from fleetqueue.runtime.cluster import Cluster


def with_members(
    before: Mapping[str, str] | None, past: Iterable[str], new: Mapping[str, str], *, has_copies: bool
) -> dict[str, str]:
    """Return what is noted of a Workload that is sent to further members. No I/O.

    `before` is what was noted, None where nothing was: then it may have been on each of `past` without a promise. `new`
    names the Lease that is trusted for each further member. A promise once missing stays missing: an old copy, which
    does not carry it, may still be on its way there. With `has_copies` they have the copy from before.
    """
    noted = dict(before) if before is not None else dict.fromkeys(past, "")
    for member, lease in new.items():
        known = noted.get(member, "" if has_copies else lease)
        noted[member] = known if has_copies or known == lease else ""
    return noted


class SentRecords:
    def __init__(self, hub: Cluster, copies: Copies) -> None:
        self._hub = hub
        self._copies = copies

    async def note(
        self, workload: kueue.Workload, new: Sequence[str], config: kueue.MultiKueueConfig, *, has_copies: bool
    ) -> None:
        """Write down where a Workload is about to be sent, if that matters for it."""
        before, policy = sent_to(workload), self._copies.policies.text(workload)
        if policy and policy not in POLICIES:
            await self._hub.events.warning(workload, "UnknownPolicy", messages.unknown_policy(policy))
        if before is None and self._copies.policies.is_rerun(workload):
            return
        past = {*workload.clusters, *self._copies.past(workload, config)}
        is_fence = self._copies.policies.is_fence(workload)
        trusted = {m: await self._copies.fences.trusted(m, config.name) if is_fence else "" for m in new}
        noted = with_members(before, past, trusted, has_copies=has_copies)
        if noted != before:
            patch = {"metadata": {"uid": workload.uid, "annotations": {SENT_TO: recorded(noted)}}}
            await self._hub.client.merge(workload.resource, workload.name, workload.namespace, patch)
        if is_fence:
            unfenced = [member for member in new if not noted[member]]
            said = messages.not_fenced(unfenced) if unfenced else messages.fenced(new)
            await tell_fenced(self._hub, workload, said, is_fenced=not unfenced)


async def tell_fenced(hub: Cluster, workload: kueue.Workload, said: messages.Said, *, is_fenced: bool) -> None:
    """Say whether the fence holds for a job; that it does only where the contrary was said before."""
    live = conditions.find(workload.status.conditions, FENCED)
    wanted = Condition.true(FENCED, *said) if is_fenced else Condition.false(FENCED, *said)
    if (live is None and is_fenced) or (live is not None and conditions.same([wanted], [live])):
        return
    dated = conditions.dated([wanted], [live] if live is not None else [], now=clock.now())
    manifest = kueue.Workload.manifest(workload.name, workload.namespace, status={"conditions": dated})
    manifest["metadata"]["uid"] = workload.uid
    await hub.client.apply(kueue.Workload.resource, manifest, subresource="status", manager=FENCE_MANAGER)
