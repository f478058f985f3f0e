"""A hub with workers in memory whose tokens end, whose accounts can be deleted, and who know their roles."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import yaml

from fleetqueue import clock
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.authorization_v1 import REVIEWS
from fleetqueue.api.cluster_v1 import GROUP, PLACEMENT_LABEL, ManagedCluster, PlacementDecision
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.fleetqueue import (
    CHECK_CONTROLLER,
    CLUSTER_LABEL,
    NAMESPACE,
    admin_secret,
    credentials_secret,
)
from fleetqueue.api.meta import O
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.api.requests import Request, Response
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, parse, render
from fleetqueue.controllers.credentials.admin_kubeconfigs import IN_USE
from fleetqueue.controllers.credentials.hub_apis import CredentialApis
from fleetqueue.controllers.credentials.kubeconfig_secrets import KubeconfigSecretController
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.credentials.wiring import CredentialControllers
from fleetqueue.embedded.apiserver.http.exchange import status_of
from fleetqueue.runtime.cluster import OURS, Cluster
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.builders import condition
from tests.invariants import strangers

ADMIN = "admin-token"
KUEUE_NAMESPACE = "kueue-system"


class FakeWorker:
    """A worker's API: the admin's token may do everything, an issued one may ask what it may do."""

    def __init__(self, name: str, api: ArrangedApi) -> None:
        self.name = name
        self.api = api
        self.tokens: dict[str, tuple[str, Any]] = {}
        """From each issued token to the uid of its account and its end."""
        self.uid = f"uid-of-{name}"
        """Which cluster it is."""
        self.longest = 10**9
        self.clock_is_ahead = timedelta()
        self.takes_dead_tokens = False
        """As a real API server does, for ten seconds after they have died."""
        self._first_objects = self._objects()
        self._seen_changes = -1
        self._seen: dict[Any, Any] = {}
        self.issues_for("fleetqueue-multikueue")
        self.api.answers["GET /livez"] = "ok"
        self.api.answers["GET /api/v1/namespaces/kube-system"] = lambda _: self.identity

    @property
    def identity(self) -> dict[str, Any]:
        return {"metadata": {"name": "kube-system", "uid": self.uid}}

    @property
    def server(self) -> str:
        return f"https://{self.name}.example:6443"

    @property
    def account(self) -> core.ServiceAccount | None:
        return self.now(core.ServiceAccount, KUEUE_NAMESPACE)

    def now(self, kind: type[O], namespace: str = "", name: str = "fleetqueue-multikueue") -> O | None:
        """Return our object of a kind; what did not change is not asked for again."""
        self._forget_if_changed()
        if (kind, name) not in self._seen:
            self._seen[kind, name] = self.api.get(kind, name, namespace)
        return self._seen[kind, name]

    def _forget_if_changed(self) -> None:
        if self.api.changes != self._seen_changes:
            self._seen_changes = self.api.changes
            self._seen.clear()

    def objects(self) -> list[str]:
        """Return what was added to the accounts and roles that every cluster has."""
        return [entry for entry in self._objects() if entry not in self._first_objects]

    def _objects(self) -> list[str]:
        kinds = (core.ServiceAccount, ClusterRole, ClusterRoleBinding)
        return [str(obj) for kind in kinds for obj in self.api.list(kind)]

    def issues_for(self, account: str) -> None:
        """Issue tokens for an account of this name."""
        path = f"/api/v1/namespaces/kueue-system/serviceaccounts/{account}/token"
        self.api.answers[f"POST {path}"] = self._issue

    def owner(self, token: str) -> str:
        """Return the account that a token belongs to; empty where that is gone."""
        self._forget_if_changed()
        if "accounts" not in self._seen:
            self._seen["accounts"] = {a.uid: a.name for a in self.api.list(core.ServiceAccount)}
        return self._seen["accounts"].get(self.tokens.get(token, ("", None))[0], "")

    def _issue(self, request: Request) -> dict[str, Any]:
        name = request.path.split("/")[-2]
        account = self.api.get(core.ServiceAccount, name, KUEUE_NAMESPACE)
        if account is None:
            raise errors.NotFound(f'serviceaccounts "{name}" not found')
        seconds = min(request.body["spec"]["expirationSeconds"], self.longest)
        token = f"{self.name}-token-{len(self.tokens) + 1}"
        until = clock.now() + self.clock_is_ahead + timedelta(seconds=seconds)
        self.tokens[token] = (account.uid, until)
        status = {"token": token, "expirationTimestamp": timestamp(until)}
        return {**request.body, "spec": {"expirationSeconds": seconds}, "status": status}


class BearerDoor:
    """The way into a worker for whoever holds a token."""

    def __init__(self, worker: FakeWorker, token: str) -> None:
        self.worker = worker
        self.token = token

    async def request(self, request: Request, *, timeout: float) -> Response:
        if self.token == ADMIN:
            return await self.worker.api.request(request, timeout=timeout)
        if request.method == "GET" and request.path.startswith(("/api/v1", "/apis/")) and request.path.count("/") < 4:
            return await self.worker.api.request(request, timeout=timeout)  # what is served, everybody may know
        is_identity = request.path == "/api/v1/namespaces/kube-system"
        assert is_identity or request.path == REVIEWS, "an issued token is only used to ask"
        await self.worker.api.request(Request("GET", "/livez"), timeout=timeout)  # cut and slow as everything else
        _, until = self.worker.tokens.get(self.token, ("", None))
        is_dead = not self._account or clock.now() + self.worker.clock_is_ahead >= until
        if until is None or (is_dead and not self.worker.takes_dead_tokens):
            return Response(401, status_of(errors.Unauthorized("Unauthorized")))
        if is_identity:
            return Response(200, self.worker.identity)
        return Response(201, {"status": {"allowed": self._allows(request.body["spec"]["resourceAttributes"])}})

    @property
    def _account(self) -> str:
        return self.worker.owner(self.token)

    def stream(self, request: Request, *, silence: float) -> Any:
        return self.worker.api.stream(request, silence=silence)

    async def close(self) -> None:
        """Do nothing."""

    def _allows(self, asked: dict[str, str]) -> bool:
        name = self._account or "fleetqueue-multikueue"  # of a dead token that is still taken
        role, bound = self.worker.now(ClusterRole, name=name), self.worker.now(ClusterRoleBinding, name=name)
        resource = "/".join(asked[part] for part in ("resource", "subresource") if part in asked)
        return any(
            asked["group"] in rule["apiGroups"] and resource in rule["resources"] and asked["verb"] in rule["verbs"]
            for rule in (role.rules if role and bound else ())
        )


class World:
    """What a test arranges on the hub and on its workers, and where it looks."""

    def __init__(self, api: ArrangedApi, hub: Cluster, new_api: Callable[[], ArrangedApi]) -> None:
        self.api = api
        self.new_api = new_api
        self.hub = hub
        self.workers: dict[str, FakeWorker] = {}
        self.metrics = Metrics()

    def anew(self) -> "World":
        """Begin again, as a process that was restarted does: nothing is remembered."""
        other = World(self.api, Cluster("hub", Client(self.api)), self.new_api)
        other.workers = self.workers
        return other

    def add_cluster(self, name: str, *, url: str = "", joined: bool = True, **metadata: Any) -> FakeWorker:
        """Add a ManagedCluster with its worker; joined: its admin kubeconfig was given."""
        worker = self.workers[name] = FakeWorker(name, self.new_api())
        self.api.namespace(name)  # as OCM does
        configs = [{"url": url or worker.server}]
        self.api.add(ManagedCluster.manifest(name, spec={"managedClusterClientConfigs": configs}, **metadata))
        if joined:
            self.give_admin_kubeconfig(name)
        return worker

    def give_admin_kubeconfig(self, name: str, *, token: str = ADMIN) -> None:
        text = render(name, server=self.workers[name].server, ca="admin's CA", token=token, user="admin")
        labels = {CLUSTER_LABEL: name, **OURS}
        self.api.add(core.secret(admin_secret(name), NAMESPACE, {"kubeconfig": text}, labels=labels))

    def check(self, name: str, placement: str, *, group: str = GROUP) -> None:
        parameters = {"apiGroup": group, "kind": "Placement", "name": placement}
        spec = {"controllerName": CHECK_CONTROLLER, "parameters": parameters}
        self.api.add(kueue.AdmissionCheck.manifest(name, spec=spec))

    def decide(self, placement: str, *clusters: str) -> None:
        status = {"decisions": [{"clusterName": name, "reason": ""} for name in clusters]}
        labels = {PLACEMENT_LABEL: placement}
        self.api.add(PlacementDecision.manifest(f"{placement}-1", KUEUE_NAMESPACE, labels=labels, status=status))

    def configure(self, *frameworks: str, config_map: str = "kueue-manager-config", **rest: Any) -> None:
        """Write the configuration of the hub's Kueue, in which these frameworks are on."""
        text = yaml.safe_dump({"integrations": {"frameworks": list(frameworks)}, **rest})
        data = {"controller_manager_config.yaml": text}
        if self.api.get(core.ConfigMap, config_map, KUEUE_NAMESPACE) is None:
            self.api.add(core.ConfigMap.manifest(config_map, KUEUE_NAMESPACE, data=data))
        else:
            self.api.change(core.ConfigMap, config_map, KUEUE_NAMESPACE, data=data)

    def decide_anew(self, *clusters: str) -> None:
        """Let the Placement of our check select exactly these clusters."""
        status = {"decisions": [{"clusterName": name, "reason": ""} for name in clusters]}
        self.api.change(PlacementDecision, "gpu-1", KUEUE_NAMESPACE, status=status)

    def select(self, *clusters: str) -> None:
        """Let a check of ours name a Placement that selects these clusters."""
        self.check("check", "gpu")
        self.decide("gpu", *clusters)

    def member(self, name: str, cluster: str, *, connected: bool = True) -> None:
        source = {"kubeConfig": {"locationType": "Secret", "location": credentials_secret(cluster)}}
        conditions = [condition("Active", connected)]
        spec, status = {"clusterSource": source}, {"conditions": conditions}
        self.api.add(kueue.MultiKueueCluster.manifest(name, spec=spec, status=status))

    def dial(self, connection: Connection) -> Client:
        name = connection.server.removeprefix("https://").partition(".")[0]
        return Client(BearerDoor(self.workers[name], connection.token))

    def room(
        self,
        *,
        capabilities: CredentialApis = CredentialApis(),  # noqa: B008
        hub_uid: str = "",
        **settings: Any,
    ) -> CredentialControllers:
        chosen = CredentialsSettings(**settings)
        return CredentialControllers(
            self.hub, self.metrics, chosen, capabilities=capabilities, hub_uid=hub_uid, dial=self.dial
        )

    def controller(self, **settings: Any) -> KubeconfigSecretController:
        (controller,) = self.room(**settings).controllers
        assert isinstance(controller, KubeconfigSecretController)
        return controller

    def secret(self, cluster: str) -> core.Secret | None:
        return self.api.get(core.Secret, credentials_secret(cluster), KUEUE_NAMESPACE)

    def secrets(self) -> list[str]:
        """Return the names of all secrets that are not a stranger's."""
        return [secret.name for secret in self.api.list(core.Secret) if strangers.NAME not in secret.name]

    def token(self, cluster: str) -> str:
        """Return the token that Kueue would use; empty where there is no secret."""
        secret = self.secret(cluster)
        return parse(secret.text("kubeconfig") or "").token if secret else ""

    def is_marked(self, cluster: str) -> bool:
        secret = self.api.get(core.Secret, admin_secret(cluster), NAMESPACE)
        return secret is not None and IN_USE in secret.metadata.annotations

    def said(self) -> list[str]:
        """Return the reasons of all Events, in the order of their making."""
        return [event["reason"] for event in sorted(self._events(), key=lambda e: e["eventTime"])]

    def notes(self) -> str:
        return "\n".join(event["note"] for event in self._events())

    def _events(self) -> list[dict[str, Any]]:
        return [self.api.raw(Event, event.name, event.namespace) for event in self.api.list(Event)]

    def expiry(self, cluster: str) -> float | None:
        return self.metrics.registry.get_sample_value(
            "fleetqueue_credential_expiry_timestamp_seconds", {"cluster": cluster}
        )


@pytest.fixture
def world(api: ArrangedApi, hub: Cluster, new_api: Callable[[], ArrangedApi]) -> World:
    return World(api, hub, new_api)
