"""Keep the certificate by which the hub knows the worker: ask for one, and for the next before it ends.

Reads:   CertificateSigningRequest, ManagedCluster (hub); Secret (worker)
Writes:  CertificateSigningRequest, ManagedCluster (condition ClusterCertificateRotated; hub); Secret (worker)
Mirrors: ocm pkg/registration/register/{secret_controller.go,csr/csr.go}

The key of a request is kept in memory alone: an agent that is started anew asks anew.
"""

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.certificates_v1 import CLIENT_SIGNER, CLIENT_USAGES, CertificateSigningRequest
from fleetqueue.api.cluster_v1 import CLUSTER_NAME_LABEL, ManagedCluster
from fleetqueue.api.conditions import Condition
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.client.certificates import CertificateSubject, content_of, fits, new_request
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.agent.kubeconfigs import hub_kubeconfig
from fleetqueue.embedded.ocm.registration.agent.statuses import only
from fleetqueue.embedded.ocm.registration.certificates import agent_subject
from fleetqueue.embedded.ocm.registration.names import (
    ADD_ON_LABEL,
    AGENT_NAME,
    CERTIFICATE,
    CLUSTER_NAME,
    HUB_SECRET,
    KEY,
    KUBECONFIG,
)
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import write_condition

QUEUE_KEY: Final = "certificate"
LOOK_SECONDS: Final = 300.0
"""How often we look whether a certificate is about to end."""
LEFT: Final = (0.2, 0.25)
"""A new one is asked for when less than this share of its time is left; drawn anew, so that not all ask at once."""
MOST_REQUESTS: Final = 10
"""So many requests of one cluster are enough: somebody does not answer them."""
TOO_MANY: Final = "Stop creating csr since there are too many csr created already on hub"

log = Log("registration-agent")


@dataclass(frozen=True, slots=True)
class _Pending:
    """A request that is not answered yet."""

    name: str
    key: bytes = field(repr=False)


class CertificateController(Controller):
    name = "agent-certificate"

    def __init__(
        self,
        worker: Client,
        hub: Cluster,
        metrics: Metrics,
        settings: RegistrationAgentSettings,
        *,
        agent: str,
        bootstrap: str,
        is_known: bool,
    ) -> None:
        """Make it for one way to the hub.

        Args:
            bootstrap: the kubeconfig that the worker began with; empty where it has none any more.
            is_known: whether the hub knows us by a certificate: only then may we say how our cluster is.
        """
        super().__init__(hub, metrics)
        self.worker = worker
        self.settings = settings
        self.is_known = is_known
        self.subject = agent_subject(settings.cluster, agent)
        self.beside = {CLUSTER_NAME: settings.cluster, AGENT_NAME: agent}
        if bootstrap:
            self.beside[KUBECONFIG] = hub_kubeconfig(bootstrap)
        self.labels = f"{CLUSTER_NAME_LABEL}={settings.cluster},!{ADD_ON_LABEL}"
        self._pending: _Pending | None = None

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(CertificateSigningRequest, lambda request: (QUEUE_KEY,), labels=self.labels)
        if self.is_known:
            yield Watch(ManagedCluster, fields=only(self.settings.cluster))

    def subscribe(self) -> None:
        super().subscribe()
        self.wake(QUEUE_KEY)

    async def reconcile(self, key: str) -> None:
        if self._pending is not None:
            await self._receive(self._pending)
        elif is_wanted(await self._secret(), self.subject, self.beside, clock.now(), clock.between(*LEFT)):
            await self._ask()
        raise errors.RetryLater(LOOK_SECONDS, "the certificate ends one day")

    async def _secret(self) -> Secret | None:
        """Look at the secret itself: by a cache that is late we would ask for what we just got."""
        raw = await self.worker.find(Secret.resource, HUB_SECRET, self.settings.namespace)
        return Secret.view(raw) if raw is not None else None

    async def _ask(self) -> None:
        if len(self.hub.informer(CertificateSigningRequest, labels=self.labels).store) >= MOST_REQUESTS:
            await self._say(messages.not_rotated(TOO_MANY))
            return
        private, request = new_request(self.subject)
        manifest = request_manifest(self.settings, request)
        try:
            made = await self.hub.client.create(CertificateSigningRequest.resource, manifest)
        except errors.ApiError as error:
            await self._say(messages.not_rotated(f"Failed to create CSR {error}"))
            raise
        self._pending = _Pending(made["metadata"]["name"], private)
        log.info("certificate asked for", cluster=self.settings.cluster, request=self._pending.name)

    async def _receive(self, pending: _Pending) -> None:
        try:
            request = CertificateSigningRequest.view(
                await self.hub.client.get(CertificateSigningRequest.resource, pending.name)
            )
        except errors.NotFound:
            await self._fail(f'unable to get csr "{pending.name}". It might have already been deleted')
            return
        if not request.is_approved or not request.certificate:
            return
        if not fits(request.certificate, pending.key):
            await self._fail(f"private key does not match with the certificate in csr: {pending.name}")
            return
        content = content_of(request.certificate)
        assert content is not None  # it fits a key, so it can be read
        await self._say(messages.rotated(content.since, content.until))
        await self._save({CERTIFICATE: request.certificate, KEY: pending.key})
        self._pending = None
        log.info("certificate received", cluster=self.settings.cluster, until=content.until)

    async def _fail(self, why: str) -> None:
        """Give a request up, and ask anew."""
        self._pending = None
        await self._say(messages.not_rotated(f"Failed to rotated client certificate {why}"))
        self.wake(QUEUE_KEY)

    async def _save(self, given: dict[str, bytes]) -> None:
        name, namespace = HUB_SECRET, self.settings.namespace
        entries = {**{name: text.encode() for name, text in self.beside.items()}, **given}
        data = {entry: base64.b64encode(content).decode() for entry, content in entries.items()}
        if await self._secret() is None:
            await self.worker.create(Secret.resource, Secret.manifest(name, namespace, data=data))
        else:
            await self.worker.merge(Secret.resource, name, namespace, {"data": data})

    async def _say(self, condition: Condition) -> None:
        """Tell how it went, where the hub lets us."""
        cluster = self.hub.get(ManagedCluster, self.settings.cluster) if self.is_known else None
        if cluster is None:
            return
        await write_condition(self.hub, cluster, condition)


def is_wanted(
    secret: Secret | None, subject: CertificateSubject, beside: dict[str, str], now: datetime, share: float
) -> bool:
    """Tell whether a certificate is to be asked for: there is none, or not ours, or not for long any more.

    Args:
        beside: what the secret must hold beside it.
        share: of its time, of which more must be left.
    """
    if secret is None or any(secret.text(entry) != text for entry, text in beside.items()):
        return True
    certificate = content_of(base64.b64decode(secret.data.get(CERTIFICATE, "")))
    if certificate is None:
        return True
    named = certificate.subject
    is_ours = named.name == subject.name and set(named.groups) == set(subject.groups)
    return not is_ours or certificate.share_left(now) <= share


def request_manifest(settings: RegistrationAgentSettings, request: bytes) -> Manifest:
    """Build a request for a certificate that makes its holder a client of the hub."""
    spec: Manifest = {
        "request": base64.b64encode(request).decode(),
        "signerName": CLIENT_SIGNER,
        "usages": list(CLIENT_USAGES),
    }
    if settings.certificate_seconds:
        spec["expirationSeconds"] = settings.certificate_seconds
    return {
        "apiVersion": CertificateSigningRequest.resource.api_version,
        "kind": CertificateSigningRequest.resource.kind,
        "metadata": {
            "generateName": f"{settings.cluster}-",
            "labels": {CLUSTER_NAME_LABEL: settings.cluster},
        },
        "spec": spec,
    }
