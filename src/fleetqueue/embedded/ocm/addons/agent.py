"""What the registration agent does on a worker for the agents of add-ons: their credentials for the hub, their health.

Reads:   ManagedClusterAddOn of one cluster and CertificateSigningRequest on the hub; Secret and Lease on the worker
Writes:  CertificateSigningRequest; ManagedClusterAddOn status: kubeClientDriver, ClusterCertificateRotated, Available;
         Secret
Mirrors: OCM pkg/registration/spoke/addon, pkg/registration/register

The key of a request is kept in memory alone: an agent that is started anew asks anew.

Simplified: only certificates of the signer kubernetes.io/kube-apiserver-client are asked for, not tokens and not
certificates of other signers.
"""

import base64
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import yaml

from fleetqueue import clock
from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import errors
from fleetqueue.api.certificates_v1 import CLIENT_SIGNER, CLIENT_USAGES, CertificateSigningRequest
from fleetqueue.api.cluster_v1 import CLUSTER_NAME_LABEL
from fleetqueue.api.conditions import FALSE, TRUE, UNKNOWN, Condition
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.certificates import CertificateSubject, Content, content_of, new_request
from fleetqueue.embedded.ocm.addons.settings import AddOnAgentSettings
from fleetqueue.embedded.ocm.addons.templates import kubeconfig_secret
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import live_status, write_condition, write_status

LOOK_SECONDS: Final = 300.0
"""How often we look whether a certificate is about to end."""
LEFT: Final = (0.2, 0.25)
"""A new one is asked for when less than this share of its time is left; drawn anew, so that not all ask at once."""
ROTATED: Final = "ClusterCertificateRotated"
KUBECONFIG, CERTIFICATE, KEY, CLUSTER_NAME = "kubeconfig", "tls.crt", "tls.key", "cluster-name"
DRIVER: Final = "csr"

log = Log("add-on-agent")


class _Pending(NamedTuple):
    """A request that is not answered yet."""

    name: str
    key: bytes


class CredentialController(Controller):
    """Keeps the credentials with which the agents of add-ons ask the hub; a key is the name of an add-on."""

    name = "add-on-credentials"

    def __init__(self, hub: Cluster, worker: Cluster, metrics: Metrics, settings: AddOnAgentSettings) -> None:
        super().__init__(hub, metrics)
        self.worker = worker
        self.settings = settings
        self._pending: dict[str, _Pending] = {}
        self._kept: dict[str, tuple[str, str]] = {}
        """Namespace and name of the secret of each add-on, to be taken away when the add-on has gone."""

    def watches(self) -> Iterable[Watch[Any]]:
        cluster = self.settings.cluster
        labels = f"{CLUSTER_NAME_LABEL}={cluster},{addon.ADD_ON_LABEL}"
        return (
            Watch(addon.ManagedClusterAddOn, lambda obj: (obj.name,), namespace=cluster),
            Watch(CertificateSigningRequest, lambda obj: (obj.metadata.labels[addon.ADD_ON_LABEL],), labels=labels),
        )

    async def reconcile(self, key: str) -> None:
        this = self.hub.get(addon.ManagedClusterAddOn, key, self.settings.cluster)
        if this is None:
            await self._forget(key)
            return
        if this.is_deleting or await self._ensure_driver(this):
            return
        wanted = next(
            (registration for registration in this.status.registrations if registration.signer_name == CLIENT_SIGNER),
            None,
        )
        if wanted is None:
            await self._forget(key)
            return
        where = (this.install_namespace, kubeconfig_secret(key))
        if self._kept.get(key, where) != where:
            await self._forget(key)  # the agent has moved
        self._kept[key] = where
        await self._keep(this, CertificateSubject(wanted.subject.user, wanted.subject.groups))
        raise errors.RetryLater(LOOK_SECONDS, "the certificate ends one day")

    async def _keep(self, this: addon.ManagedClusterAddOn, subject: CertificateSubject) -> None:
        secret = await self._secret(this.name)
        content = content_of(base64.b64decode(secret.data.get(CERTIFICATE, ""))) if secret is not None else None
        if this.name in self._pending:
            await self._receive(this, self._pending[this.name], secret)
        elif content is None or not self._is_good(content, subject):
            await self._ask(this, subject)

    def _is_good(self, content: Content, subject: CertificateSubject) -> bool:
        is_ours = content.subject.name == subject.name and set(content.subject.groups) == set(subject.groups)
        return is_ours and content.share_left(clock.now()) > clock.between(*LEFT)

    async def _ensure_driver(self, this: addon.ManagedClusterAddOn) -> bool:
        """Say how the agent's credentials come about; return whether that had to be said."""
        live = live_status(self.hub, this)
        has_client = any(registration.signer_name == CLIENT_SIGNER for registration in this.status.registrations)
        wanted = {name: value for name, value in live.items() if name != "kubeClientDriver"}
        if has_client:
            wanted["kubeClientDriver"] = DRIVER
        return await write_status(self.hub, this, live, wanted) is not None

    async def _ask(self, this: addon.ManagedClusterAddOn, subject: CertificateSubject) -> None:
        private, request = new_request(subject, f"{this.name}.addon.open-cluster-management.io")
        made = await self.hub.client.create(CertificateSigningRequest.resource, request_manifest(this, request))
        self._pending[this.name] = _Pending(made["metadata"]["name"], private)
        log.info("certificate asked for", add_on=this.name, request=made["metadata"]["name"])

    async def _receive(self, this: addon.ManagedClusterAddOn, pending: _Pending, secret: Secret | None) -> None:
        """Save the certificate once it is there; a request that has gone is made anew."""
        try:
            request = CertificateSigningRequest.view(
                await self.hub.client.get(CertificateSigningRequest.resource, pending.name)
            )
        except errors.NotFound:
            del self._pending[this.name]
            self.wake(this.name)
            return
        content = content_of(request.certificate) if request.is_approved and request.certificate else None
        if content is None:
            return
        await self._say(this, content)
        await self._save(this, secret, request.certificate, pending.key)
        del self._pending[this.name]
        log.info("certificate received", add_on=this.name, until=content.until)

    async def _save(
        self, this: addon.ManagedClusterAddOn, secret: Secret | None, certificate: bytes, private: bytes
    ) -> None:
        entries = {
            CLUSTER_NAME: self.settings.cluster.encode(),
            KUBECONFIG: with_user(self.settings.hub_kubeconfig).encode(),
            CERTIFICATE: certificate,
            KEY: private,
        }
        data = {name: base64.b64encode(value).decode() for name, value in entries.items()}
        namespace, name = self._kept[this.name]
        if secret is None:
            await self.worker.client.create(Secret.resource, Secret.manifest(name, namespace, data=data))
        else:
            await self.worker.client.merge(Secret.resource, name, namespace, {"data": data})

    async def _say(self, this: addon.ManagedClusterAddOn, content: Content) -> None:
        since, until = (f"{moment:%Y-%m-%d %H:%M:%S} +0000 UTC" for moment in (content.since, content.until))
        message = f"client certificate rotated starting from {since} to {until}"
        await write_condition(self.hub, this, Condition.true(ROTATED, "ClientCertificateUpdated", message))

    async def _secret(self, name: str) -> Secret | None:
        namespace, secret = self._kept[name]
        raw = await self.worker.client.find(Secret.resource, secret, namespace)
        return Secret.view(raw) if raw is not None else None

    async def _forget(self, name: str) -> None:
        """Take away the credentials of an add-on that has gone."""
        self._pending.pop(name, None)
        kept = self._kept.get(name)
        if kept is None:
            return
        try:
            await self.worker.client.delete(Secret.resource, kept[1], kept[0])
        except errors.NotFound:
            pass
        del self._kept[name]


def request_manifest(this: addon.ManagedClusterAddOn, request: bytes) -> Manifest:
    """Build a request for a certificate that makes its holder a client of the hub."""
    return {
        "apiVersion": CertificateSigningRequest.resource.api_version,
        "kind": CertificateSigningRequest.resource.kind,
        "metadata": {
            "generateName": f"addon-{this.namespace}-{this.name}-",
            "labels": {CLUSTER_NAME_LABEL: this.namespace, addon.ADD_ON_LABEL: this.name},
        },
        "spec": {
            "request": base64.b64encode(request).decode(),
            "signerName": CLIENT_SIGNER,
            "usages": list(CLIENT_USAGES),
        },
    }


def with_user(kubeconfig: str) -> str:
    """Write a kubeconfig for the hub whose user is the certificate that lies beside it, so that it can be renewed."""
    config = yaml.safe_load(kubeconfig)
    cluster = config["clusters"][0]
    user = {"client-certificate": CERTIFICATE, "client-key": KEY}
    context = {"cluster": cluster["name"], "namespace": "configuration", "user": "default-auth"}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [cluster],
            "contexts": [{"name": "default-context", "context": context}],
            "current-context": "default-context",
            "users": [{"name": "default-auth", "user": user}],
        }
    )


class LeaseHealthController(Controller):
    """Says whether add-ons live, by the leases that they renew on the worker; a key is the name of an add-on.

    An add-on that is deployed by a template says how it is through its works; it is not looked at here.
    """

    name = "add-on-lease-health"

    def __init__(self, hub: Cluster, worker: Cluster, metrics: Metrics, settings: AddOnAgentSettings) -> None:
        super().__init__(hub, metrics)
        self.worker = worker
        self.settings = settings

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(addon.ManagedClusterAddOn, lambda add_on: (add_on.name,), namespace=self.settings.cluster),)

    async def reconcile(self, key: str) -> None:
        this = self.hub.get(addon.ManagedClusterAddOn, key, self.settings.cluster)
        if this is None or this.status.health_check.mode == addon.CUSTOMIZED:
            return
        condition = health(this.name, await self._lease(this), clock.now(), self.settings.lease_grace)
        await write_condition(self.hub, this, condition)
        raise errors.RetryLater(self.settings.lease_interval, "a lease may end")

    async def _lease(self, this: addon.ManagedClusterAddOn) -> Lease | None:
        raw = await self.worker.client.find(Lease.resource, this.name, this.install_namespace)
        return Lease.view(raw) if raw is not None else None


def health(name: str, lease: Lease | None, now: datetime, grace: float) -> Condition:
    if lease is None:
        verdict = (UNKNOWN, "ManagedClusterAddOnLeaseNotFound", f"The status of {name} add-on is unknown.")
    elif lease.spec.renew_time is not None and now < lease.spec.renew_time + timedelta(seconds=grace):
        verdict = (TRUE, "ManagedClusterAddOnLeaseUpdated", f"{name} add-on is available.")
    else:
        verdict = (FALSE, "ManagedClusterAddOnLeaseUpdateStopped", f"{name} add-on is not available.")
    status, reason, message = verdict
    return Condition(type=addon.AVAILABLE, status=status, reason=reason, message=message)
