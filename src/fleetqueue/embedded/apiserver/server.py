"""One cluster's API: all floors wired together, on one screen."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec
from multidict import CIMultiDict

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.admission.chain import Chain, Link
from fleetqueue.embedded.apiserver.admission.escalation import EscalationCheck
from fleetqueue.embedded.apiserver.admission.in_process_webhooks import InProcessWebhooks
from fleetqueue.embedded.apiserver.admission.plugins import CertificateSigners, NamespaceLifecycle
from fleetqueue.embedded.apiserver.auth.attributes import Attributes
from fleetqueue.embedded.apiserver.auth.authentication import Authentication, RequestCredentials
from fleetqueue.embedded.apiserver.auth.bootstrap_policy import cluster_role_bindings, cluster_roles
from fleetqueue.embedded.apiserver.auth.rbac import Rbac
from fleetqueue.embedded.apiserver.auth.service_account_tokens import ServiceAccountTokens
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.http.exchange import RequestContext, ServerResponse, TextStream, WatchStream
from fleetqueue.embedded.apiserver.http.handler import Handler
from fleetqueue.embedded.apiserver.http.impersonation import USER, impersonated
from fleetqueue.embedded.apiserver.http.request_info import request_info
from fleetqueue.embedded.apiserver.registry.api_services import ApiServices
from fleetqueue.embedded.apiserver.registry.builtin import built_in
from fleetqueue.embedded.apiserver.registry.conversion import NO_CONVERTERS, Converters
from fleetqueue.embedded.apiserver.registry.establishing import Establishing
from fleetqueue.embedded.apiserver.registry.expiring import Expiring
from fleetqueue.embedded.apiserver.registry.resources import Resources
from fleetqueue.embedded.apiserver.registry.store import RegistryStore
from fleetqueue.embedded.apiserver.registry.writes import Write
from fleetqueue.embedded.apiserver.storage import keys
from fleetqueue.embedded.apiserver.storage.interface import Storage

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
RBAC: Final = "rbac.authorization.k8s.io"
SERVER: Final = User("system:apiserver", (MASTERS,))


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a server signs and recognises its clients by; kept with the cluster's data."""

    signing_key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    tokens: Mapping[str, User] = field(default_factory=dict)


class ApiServer:
    def __init__(
        self, storage: Storage, secrets: Secrets, converters: Converters = NO_CONVERTERS, links: Sequence[Link] = ()
    ) -> None:
        """Wire the floors; `links` come last in the admission chain."""
        self.storage = storage
        self.resources = Resources(built_in())
        self.rbac = Rbac(storage.counter(*_RBAC_PREFIXES), self._rbac_objects)
        self.webhooks = InProcessWebhooks(self._may)
        rights = EscalationCheck(self.rbac, self.find), CertificateSigners(self._may)
        chain = Chain(NamespaceLifecycle(self._namespace), self.webhooks, *rights, *links)
        self.store = RegistryStore(storage, chain)
        accounts = ServiceAccountTokens(secrets.signing_key, ISSUER, self._uid)
        self.authentication = Authentication(accounts, [ISSUER], secrets.tokens)
        self.establishing = Establishing(self.store, self.resources, SERVER, converters)
        self.api_services = ApiServices(self.store, self.resources, SERVER)
        self.handler = Handler(self.resources, self.store, self.rbac, self.authentication, self.api_services)
        self.pod_ports = self.handler.subresources.pod_ports

    async def start(self) -> None:
        """Make what every cluster begins with, unless it is there; together, so that the disk is waited for once."""
        await asyncio.gather(
            *(self._ensure("", "v1", "namespaces", {"metadata": {"name": name}}) for name in NAMESPACES),
            *(self._ensure(RBAC, "v1", "clusterroles", role) for role in cluster_roles()),
            *(self._ensure(RBAC, "v1", "clusterrolebindings", binding) for binding in cluster_role_bindings()),
        )

    async def run(self) -> None:
        """Do what a server does by itself, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.establishing.run(), name="definitions")
            tasks.create_task(self.api_services.run(), name="APIs of others")
            tasks.create_task(Expiring(self.storage).run(), name="old events")

    async def answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        *,
        credentials: RequestCredentials,
        body: Any = None,
        content_type: str = "application/json",
        agent: str = "",
        warnings: list[str] | None = None,
    ) -> ServerResponse | TextStream | WatchStream:
        """Answer one request that comes without bytes; raises ApiError.

        Args:
            warnings: gets what the client should be told, also where it is refused.
        """
        user = self.authentication.user(credentials)
        if credentials.impersonate:
            user = impersonated(user, CIMultiDict({USER: credentials.impersonate}), self.rbac)
        info = request_info(method, path, query)
        messages = [] if warnings is None else warnings
        return await self.handler.answer(
            RequestContext(info, user, query, body, content_type, agent, warnings=messages)
        )

    async def _ensure(self, group: str, version: str, plural: str, manifest: Manifest) -> None:
        served = self.resources.find(group, version, plural)
        if self.storage.head(served.key("", manifest["metadata"]["name"])) is None:
            await self.store.create(served, "", manifest, Write(SERVER, "kube-apiserver"))

    def find(self, group: str, plural: str, namespace: str, name: str) -> Manifest | None:
        """Return an object as it is stored, for those who have a say in writes."""
        entry = self.storage.head(keys.key_of(group, plural, namespace, name))
        return entry.object if entry is not None else None

    def _namespace(self, name: str) -> Manifest | None:
        return self.find("", "namespaces", "", name)

    def _uid(self, key: str) -> str | None:
        try:
            return str(self.storage.get(key).object["metadata"]["uid"])
        except errors.NotFound:
            return None

    def _may(self, asked: Attributes) -> bool:
        return self.rbac.reason(asked) is not None

    def _rbac_objects(self) -> tuple[Iterable[Manifest], Iterable[Manifest]]:
        roles, cluster_roles, bindings, cluster_bindings = (
            [entry.object for entry in self.storage.list(prefix).entries] for prefix in _RBAC_PREFIXES
        )
        return [*roles, *cluster_roles], [*bindings, *cluster_bindings]


_RBAC_PREFIXES: Final = tuple(
    keys.prefix_of(RBAC, plural) for plural in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
)
