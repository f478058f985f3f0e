"""Put together what is known of one Workload, on the hub and on all workers; nothing is asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import OwnerReference, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.multikueue import messages
from fleetqueue.embedded.multikueue.adapters import Adapter, managed_by
from fleetqueue.embedded.multikueue.remote import RemoteClient, RemoteClients
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.embedded.multikueue.workload_group import RemoteCopy, WorkloadGroup, is_same_but_priority, is_same_spec
from fleetqueue.runtime.cluster import Cluster


@dataclass(frozen=True, slots=True)
class NotDispatchable:
    """A Workload that cannot be sent anywhere."""

    check: kueue.CheckState
    message: str


class WorkloadGroups:
    def __init__(
        self, hub: Cluster, remotes: RemoteClients, adapters: Sequence[Adapter], settings: MultiKueueSettings
    ) -> None:
        self.hub = hub
        self.remotes = remotes
        self.adapters: Mapping[tuple[str, str], Adapter] = {
            (adapter.kind.resource.api_version, adapter.kind.resource.kind): adapter for adapter in adapters
        }
        self.settings = settings

    def local(self, key: str) -> tuple[kueue.Workload, Manifest] | None:
        store = self.hub.informer(kueue.QueuedWorkload).store
        view, raw = store.get(key), store.raw(key)
        return None if view is None or raw is None else (view, raw)

    def find(self, key: str) -> WorkloadGroup | NotDispatchable | None:
        """Return a Workload of MultiKueue's with all of its copies; None where it is not, or no longer, ours."""
        values = self.local(key)
        check = self.check(values[0]) if values is not None else None
        if values is None or check is None or check.state == kueue.REJECTED:
            return None
        local, raw = values
        owner = owner_of(local)
        adapter = self.adapters.get((owner.api_version, owner.kind)) if owner is not None else None
        if adapter is None or owner is None:
            return NotDispatchable(check, messages.no_adapter(owner))
        job = self.job(adapter, owner, local.namespace)
        if job is not None and local.is_live and managed_by(job) != kueue.MULTIKUEUE_CONTROLLER:
            return NotDispatchable(check, messages.not_managed(managed_by(job)))
        listed = self.listed(check)
        created = local.metadata.creation_timestamp
        return WorkloadGroup(
            local,
            check,
            listed,
            {copy.cluster: copy for copy in self._copies(key, raw, listed or ())},
            adapter,
            job,
            now=clock.now(),
            lost_timeout=self.settings.worker_lost_timeout,
            is_older=created is None or created < self.remotes.started,
        )

    def check(self, workload: kueue.Workload) -> kueue.CheckState | None:
        """Return MultiKueue's entry among the checks of a Workload."""
        for state in workload.status.admission_checks:
            check = self.hub.get(kueue.AdmissionCheck, state.name)
            if check is not None and check.is_multikueue:
                return state
        return None

    def listed(self, check: kueue.CheckState) -> tuple[str, ...] | None:
        admission_check = self.hub.get(kueue.AdmissionCheck, check.name)
        config = (
            self.hub.get(kueue.MultiKueueConfig, admission_check.config_name) if admission_check is not None else None
        )
        return config.spec.clusters if config is not None else None

    def job(self, adapter: Adapter, owner: OwnerReference, namespace: str) -> Manifest | None:
        """Return the hub's job; another one of the same name does not count."""
        raw = self.hub.informer(adapter.kind).store.raw(key_of(namespace, owner.name))
        return raw if raw is not None and raw["metadata"]["uid"] == owner.uid else None

    def _copies(self, key: str, raw: Manifest, listed: Sequence[str]) -> Iterable[RemoteCopy]:
        places = set()
        for name in listed:
            remote = self.remotes.get(name)
            if remote is None:
                lost_for = self.remotes.lost_for(name)
                yield RemoteCopy(name, is_connected=False, is_known=False, lost_for=lost_for)
            else:
                places.add(remote.server)
                yield _copy(remote, key, raw)
        for remote in self.remotes:
            if remote.name in listed or remote.server in places:
                continue
            if remote.has_anything(key) or not remote.is_known:
                places.add(remote.server)
                yield _copy(remote, key, raw)


def owner_of(workload: kueue.Workload) -> OwnerReference | None:
    """Return the job that a Workload was made for."""
    return workload.owner or next(iter(workload.metadata.owner_references), None)


def _copy(remote: RemoteClient, key: str, local: Manifest) -> RemoteCopy:
    raw, job = remote.workload(key), remote.job(key)
    is_same = raw is None or is_same_spec(local, raw)
    return RemoteCopy(
        remote.name,
        view=remote.workloads.store.get(key),
        is_same=is_same,
        is_same_but_priority=not is_same and raw is not None and is_same_but_priority(local, raw),
        job=job[1] if job is not None else None,
        is_sending=key in remote.sent,
        is_connected=remote.is_connected,
        is_known=remote.is_known,
        lost_for=remote.lost_for,
    )
