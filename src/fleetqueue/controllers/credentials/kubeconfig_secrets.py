"""Keep, for each cluster that needs one, the secret with which Kueue on the hub reaches it, and remove it after use.

Reads:   ManagedCluster, AdmissionCheck, PlacementDecision, MultiKueueCluster, the kubeconfig secrets, Kueue's
         configuration, and what the sources of credentials read
Writes:  the kubeconfig secrets in Kueue's namespace; Events on the ManagedCluster
Mirrors: addon-contrib, kueue-addon/pkg/hub/controllers, which makes one for every cluster and keeps it for a year

Nothing is written before the worker itself has confirmed, through the new credential, every right that it shall have. A
worker that cannot be reached keeps the credential that it has. So does a cluster whose ManagedCluster is being deleted
or gone, while a MultiKueueCluster uses the credential: the drain needs it to its end.
"""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from prometheus_client import CollectorRegistry, Gauge

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as ocm
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import (
    CLUSTER_LABEL,
    CLUSTER_UID,
    IDENTITY_NAMESPACE,
    MISSING_KINDS,
    REPLACED_BY,
    credentials_secret,
    is_refused,
    placement_of,
    refused_mark,
)
from fleetqueue.client.kubeconfig import parse
from fleetqueue.controllers.credentials import messages, secret_content
from fleetqueue.controllers.credentials.problems import CredentialPending, CredentialProblem, CredentialWithdrawn
from fleetqueue.controllers.credentials.proofs import Proofs
from fleetqueue.controllers.credentials.secret_content import Issued
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.credentials.source import FormerSource, WorkerCredentialSource
from fleetqueue.controllers.credentials.wanted_rights import RightsInUse
from fleetqueue.controllers.credentials.who_needs_one import (
    cluster_of_secret,
    clusters_of_decision,
    clusters_of_member,
    why_needed,
)
from fleetqueue.controllers.credentials.worker_rules import Rights
from fleetqueue.runtime.cluster import Cluster, is_ours, is_released
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

BY_CLUSTER: Final = "credentials of cluster"
BY_PLACEMENT: Final = "credentials by placement"
LEAVING_LINGER: Final = 10.0
"""Seconds that the credential of a leaving cluster stays after nothing uses it, for a MultiKueueCluster that somebody
deleted and that is made anew; somebody waits for the cluster to be gone."""
PENDING_RETRY: Final = 5.0
PROBLEM_RETRY: Final = 30.0
"""Seconds until a problem is looked at again that no event of the hub may end, such as Kueue missing on a worker."""

log = Log("credentials")


class KubeconfigSecretController(Controller):
    name = "credentials"
    concurrency = 64
    """A dead worker holds one of these for seconds; they cost nothing while they wait."""

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        *,
        settings: CredentialsSettings,
        sources: Sequence[WorkerCredentialSource],
        rights: RightsInUse,
        proofs: Proofs,
        former: Sequence[FormerSource] = (),
    ) -> None:
        """The first source that can give a credential does; what those after it, and the former ones, gave is removed.

        What a former one left stays while nothing takes its place: jobs may run with it.
        """
        super().__init__(hub, metrics)
        self.settings = settings
        self.sources = sources
        self.former = former
        self.rights = rights
        self.proofs = proofs
        self.credential_metrics = CredentialMetrics(metrics.registry)
        self._unneeded_since: dict[str, float] = {}
        self._complaints: dict[str, str] = {}
        self._declare_indexes()

    def watches(self) -> Iterable[Watch[Any]]:
        namespace = self.settings.kueue_namespace
        yield Watch(ocm.ManagedCluster, by_key)
        yield Watch(ocm.PlacementDecision, clusters_of_decision, namespace=namespace)
        yield Watch(kueue.AdmissionCheck, self._clusters_of_check)
        yield Watch(kueue.MultiKueueCluster, clusters_of_member)
        yield Watch(Secret, clusters_of_secret, namespace=namespace)
        yield from self.rights.kueue.watches(self._clusters_in_use)
        for source in self.sources:
            yield from source.watches()

    async def reconcile(self, key: str) -> None:
        cluster = self.hub.get(ocm.ManagedCluster, key)
        why = self._why_needed(key, cluster)
        if not why:
            await self._withdraw(key, cluster)
            return
        self._unneeded_since.pop(key, None)
        secret = self._secret(key)
        if secret is not None and is_released(secret):
            await self.hub.take_back(secret)  # its watch wakes us to go on
            log.info("taken back", cluster=key)
            return
        if cluster is None:
            cluster = departed(key, secret_content.read(self._secret(key)))
        if cluster.is_deleting:
            await self.hub.events.normal(cluster, *messages.kept(credentials_secret(key), why))
        credential = await self._keep_right(cluster, why)
        often = PROBLEM_RETRY if self.proofs.unserved(key) else self.settings.verify_every
        proof_left = often - self.proofs.age(key)
        for unused in (*self.former, *sources_after(self.sources, credential.source)):
            await unused.withdraw(key, is_gone=False)
        raise errors.RetryLater(next_look(credential, proof_left), "looks again")

    async def _keep_right(self, cluster: ocm.ManagedCluster, why: str) -> Issued:
        secret = self._secret(cluster.name)
        current = secret_content.read(secret)
        self.credential_metrics.holds(cluster.name, current)
        try:
            rights = await self.rights.now()
            credential = await self._credential(cluster, current, rights)
            credential = replace(credential, cluster_uid=self.proofs.identity(cluster.name))
            await self._keep_apart(cluster, secret, credential)
            missing = messages.missing_kinds(self.proofs.unserved(cluster.name), rights.unknown)
            manifest = secret_content.secret_manifest(
                cluster.name, self.settings.kueue_namespace, credential, secret, missing_kinds=missing
            )
            written = await self.hub.ensure(Secret, manifest)
        except CredentialWithdrawn as gone:
            if secret is not None and not cluster.is_deleting and await self.hub.ensure_absent(secret):
                await self.hub.events.warning(cluster, *messages.withdrawn(secret.name, gone))
            raise errors.RetryLater(PROBLEM_RETRY, str(gone)) from gone
        except CredentialPending as soon:
            raise errors.RetryLater(PENDING_RETRY, str(soon)) from soon
        except CredentialProblem as problem:
            is_silent = isinstance(problem.__cause__, errors.Unreachable)
            refused = is_refused(secret) if is_silent else await self._mark_refused(secret, current)
            await self._complain(cluster, current, problem, refused=refused)
            raise errors.RetryLater(PROBLEM_RETRY, str(problem)) from problem
        except (errors.Conflict, errors.AlreadyExists, errors.NotFound):
            raise  # the cache was behind; nothing that a person should hear of
        except (errors.ApiError, errors.TerminalError) as error:
            await self._complain(cluster, current, error)
            raise
        self._complaints.pop(cluster.name, None)
        self.credential_metrics.holds(cluster.name, credential)
        if written and credential != current:
            await self._tell(cluster, secret, current, credential, why)
        if written:
            await self._tell_missing(cluster, secret, missing)
        return credential

    async def _credential(self, cluster: ocm.ManagedCluster, current: Issued | None, rights: Rights) -> Issued:
        """Ask one source after the other; the one that gave the current credential is not passed over.

        Unless the cluster is leaving: OCM's part goes with it, and an admin kubeconfig may still let its drain end.
        """
        doubted = self._is_doubted(cluster.name)
        if is_refused(self._secret(cluster.name)):
            self.proofs.forget(cluster.name)
        problems = []
        for source in self.sources:
            own = current if current is not None and current.source == source.name else None
            try:
                return await source.credential(cluster, own, rights, doubted=doubted)
            except CredentialProblem as problem:
                if (own is not None and not cluster.is_deleting) or isinstance(problem, CredentialPending):
                    raise
                problems.append(str(problem))
        raise CredentialProblem("; ".join(problems))

    async def _keep_apart(self, cluster: ocm.ManagedCluster, secret: Secret | None, credential: Issued) -> None:
        """Keep the way to a cluster open while jobs run through it, although another one has its name by now.

        It may live on. Who reads the mark drains it; then the secret is written for the new one.
        """
        known = secret.metadata.annotations.get(CLUSTER_UID, "") if secret is not None else ""
        members = self.hub.by_index(kueue.MultiKueueCluster, BY_CLUSTER, cluster.name)
        if secret is None or not is_ours(secret) or not members or known in ("", credential.cluster_uid):
            return
        if secret.metadata.annotations.get(REPLACED_BY) != credential.cluster_uid:
            metadata = {"uid": secret.uid, "annotations": {REPLACED_BY: credential.cluster_uid}}
            await self.hub.client.merge(secret.resource, secret.name, secret.namespace, {"metadata": metadata})
        raise CredentialProblem(
            f"{cluster.name} is another cluster than before (its {IDENTITY_NAMESPACE} has uid {credential.cluster_uid},"
            f" not {known}); the old one is drained first"
        )

    async def _mark_refused(self, secret: Secret | None, current: Issued | None) -> bool:
        """Say on a secret that cannot be renewed whether the worker accepts it: who sends jobs there wants to know.

        Return whether the worker refuses it, as far as is known.
        """
        if secret is None or current is None or not is_ours(secret):
            return False
        accepted = await self.proofs.is_accepted(current.kubeconfig)
        if accepted is None or accepted != is_refused(secret):
            return is_refused(secret)
        mark = refused_mark(secret, None if accepted else clock.now())
        await self.hub.client.merge(secret.resource, secret.name, secret.namespace, mark)
        return not accepted

    async def _tell(
        self, cluster: ocm.ManagedCluster, secret: Secret | None, current: Issued | None, credential: Issued, why: str
    ) -> None:
        name = credentials_secret(cluster.name)
        if secret is None:
            event = messages.issued(name, credential, why)
        elif current is None:
            event = messages.repaired(name, credential)
        else:
            event = messages.renewed(name, credential, why_renewed(current, credential))
        log.info("secret written", cluster=cluster.name, reason=event[0], note=event[1], expires=credential.expires)
        await self.hub.events.normal(cluster, *event)

    async def _tell_missing(self, cluster: ocm.ManagedCluster, secret: Secret | None, missing: str) -> None:
        """Say which kinds have come to be missing on a worker, or that none is any more."""
        before = secret.metadata.annotations.get(MISSING_KINDS, "") if secret is not None else ""
        if missing and missing != before:
            log.warning("kinds are missing", cluster=cluster.name, missing=missing)
            where = f"{self.settings.kueue_namespace}/{self.rights.kueue.source.config_map}"
            await self.hub.events.warning(cluster, *messages.refused(missing, where))
        elif before and not missing:
            await self.hub.events.normal(cluster, *messages.served())

    async def _complain(
        self, cluster: ocm.ManagedCluster, current: Issued | None, error: Exception, *, refused: bool = False
    ) -> None:
        """Say what is wrong; the log hears each problem once, however often it is met."""
        event = messages.failed(credentials_secret(cluster.name), current, error, refused=refused)
        if self._complaints.get(cluster.name) != str(error):
            self._complaints[cluster.name] = str(error)
            log.warning("no credential", cluster=cluster.name, error=error)
        await self.hub.events.warning(cluster, *event)

    async def _withdraw(self, name: str, cluster: ocm.ManagedCluster | None) -> None:
        secret = self._secret(name)
        if secret is not None:
            is_staying = cluster is not None and not cluster.is_deleting
            self._linger(name, self.settings.linger if is_staying else min(LEAVING_LINGER, self.settings.linger))
        removed = [await self.hub.ensure_absent(secret)] if secret else []
        removed += [await source.withdraw(name, is_gone=cluster is None) for source in (*self.former, *self.sources)]
        self._unneeded_since.pop(name, None)
        self._complaints.pop(name, None)
        self.credential_metrics.forget(name)
        if any(removed):
            log.info("credentials removed", cluster=name)
            if cluster is not None:
                await self.hub.events.normal(cluster, *messages.removed(credentials_secret(name)))

    def _linger(self, name: str, seconds: float) -> None:
        """Wait a while before the first step of removing: who drained the cluster may look at it once more."""
        since = self._unneeded_since.setdefault(name, clock.monotonic())
        left = since + seconds - clock.monotonic()
        if left > 0:
            raise errors.RetryLater(left, "unused, but only just")

    # What the hub's objects say

    def _secret(self, cluster: str) -> Secret | None:
        return self.hub.get(Secret, credentials_secret(cluster), self.settings.kueue_namespace)

    def _why_needed(self, name: str, cluster: ocm.ManagedCluster | None) -> str:
        return why_needed(
            cluster,
            placements={placement_of(check) for check in self.hub.list(kueue.AdmissionCheck)} - {""},
            decisions=self.hub.by_index(ocm.PlacementDecision, BY_CLUSTER, name),
            members=self._members(name, cluster),
        )

    def _members(self, name: str, cluster: ocm.ManagedCluster | None) -> Sequence[kueue.MultiKueueCluster]:
        """Return who uses a cluster's secret; without such a cluster, it may be a stranger's that is called so."""
        members = self.hub.by_index(kueue.MultiKueueCluster, BY_CLUSTER, name)
        secret = self._secret(name)
        if cluster is not None or (secret is not None and is_ours(secret)):
            return members
        return [member for member in members if is_ours(member)]

    def _is_doubted(self, cluster: str) -> bool:
        members = self.hub.by_index(kueue.MultiKueueCluster, BY_CLUSTER, cluster)
        return any(not member.is_connected for member in members)

    def _clusters_in_use(self) -> Iterable[str]:
        """Return the clusters whose credentials may need other rights now."""
        return [
            cluster.name for cluster in self.hub.list(ocm.ManagedCluster) if self._why_needed(cluster.name, cluster)
        ]

    def _clusters_of_check(self, check: kueue.AdmissionCheck) -> Iterable[str]:
        placement = placement_of(check)
        decisions = self.hub.by_index(ocm.PlacementDecision, BY_PLACEMENT, placement) if placement else ()
        return [name for decision in decisions for name in clusters_of_decision(decision)]

    def _declare_indexes(self) -> None:
        members = self.hub.informer(kueue.MultiKueueCluster).store
        members.add_index(BY_CLUSTER, clusters_of_member)
        decisions = self.hub.informer(ocm.PlacementDecision, namespace=self.settings.kueue_namespace).store
        decisions.add_index(BY_CLUSTER, clusters_of_decision)
        decisions.add_index(BY_PLACEMENT, lambda decision: [decision.metadata.labels.get(ocm.PLACEMENT_LABEL, "")])


def departed(name: str, last: Issued | None) -> ocm.ManagedCluster:
    """Stand in for a ManagedCluster that is gone: on its way out, and reached as it was reached last."""
    configs = []
    if last is not None:
        connection = parse(last.kubeconfig)
        configs = [{"url": connection.server, "caBundle": base64.b64encode(connection.ca or b"").decode()}]
    manifest = ocm.ManagedCluster.manifest(name, spec={"managedClusterClientConfigs": configs})
    manifest["metadata"]["deletionTimestamp"] = timestamp(clock.now())
    return ocm.ManagedCluster.view(manifest)


def sources_after(sources: Sequence[WorkerCredentialSource], name: str) -> Sequence[WorkerCredentialSource]:
    """Return the sources that stand behind the one of this name; those before it may yet have something better."""
    return sources[[source.name for source in sources].index(name) + 1 :]


def next_look(credential: Issued, proof_left: float) -> float:
    """Return in how many seconds to look again; a renewal that somebody else is late with is not waited for.

    `proof_left`: seconds until the proof that the credential works is too old.
    """
    until_renewal = (credential.renewal - clock.now()).total_seconds()
    return until_renewal if 0 < until_renewal < proof_left else proof_left


def why_renewed(before: Issued, credential: Issued) -> str:
    """Say why a credential took the place of another; empty where its time had come."""
    if credential.because:
        return credential.because
    old, new = parse(before.kubeconfig), parse(credential.kubeconfig)
    if old.token == new.token:
        return "the cluster's address or what is known of it has changed"
    if old.user != new.user:
        return f"it is of account {new.user} now"
    return "the one before had ended" if credential.issued >= before.expires else ""


def clusters_of_secret(secret: Secret) -> Iterable[str]:
    """Return whom a secret is for: by its name, since somebody may have taken the label off, and by its label."""
    labelled = secret.metadata.labels.get(CLUSTER_LABEL)
    return {*cluster_of_secret(secret.name), *([labelled] if labelled else [])}


class CredentialMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.expiry = Gauge(
            "fleetqueue_credential_expiry_timestamp_seconds",
            "When the credential of a cluster ends, in seconds since 1970; renewal comes well before",
            ["cluster"],
            registry=registry,
        )

    def holds(self, cluster: str, credential: Issued | None) -> None:
        if credential is not None:
            self.expiry.labels(cluster).set(credential.expires.timestamp())

    def forget(self, cluster: str) -> None:
        self.expiry.remove(cluster)
