"""TokenRequest: issue a token of a service account."""

from datetime import UTC, datetime
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.auth.authentication import Authentication
from fleetqueue.embedded.apiserver.auth.service_account_tokens import Bound
from fleetqueue.embedded.apiserver.http.exchange import RequestContext, ServerResponse
from fleetqueue.embedded.apiserver.http.verbs.write_verbs import write_of
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.causes import invalid, invalid_value
from fleetqueue.embedded.apiserver.patching.managed_fields import update_managed_fields
from fleetqueue.embedded.apiserver.registry.resources import Resources
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.store import RegistryStore
from fleetqueue.embedded.apiserver.registry.writes import typed

GROUP, VERSION, KIND = "authentication.k8s.io", "v1", "TokenRequest"
REQUEST: Final = Resource(GROUP, VERSION, KIND, "tokenrequests")
HOUR, SHORTEST, LONGEST = 3600, 600, 2**32
BOUND: Final = {("v1", "Pod"): "pods", ("v1", "Secret"): "secrets", ("v1", "Node"): "nodes"}


class Tokens:
    def __init__(self, resources: Resources, store: RegistryStore, authentication: Authentication) -> None:
        self.resources = resources
        self.storage = store.storage
        self.authentication = authentication

    async def create(self, served: Served, context: RequestContext) -> ServerResponse:
        info, write = context.info, write_of(served, context, "CreateOptions")
        body = typed(REQUEST, context.body, write)
        account = self.storage.get(served.key(info.namespace, info.name)).object["metadata"]
        _check_place(body, info.namespace, info.name)
        spec = self._spec(body)
        bound = self._bound(spec.get("boundObjectRef"), info.namespace, info.name)
        who, seconds = (info.namespace, info.name, account["uid"]), spec["expirationSeconds"]
        sign = self.authentication.accounts.sign
        token, end = sign(who, audiences=spec["audiences"], seconds=seconds, bound=bound)
        granted = {"token": token, "expirationTimestamp": timestamp(datetime.fromtimestamp(end, UTC))}
        request = {"kind": KIND, "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "spec": spec, "status": {}}
        schema = facts.schema(GROUP, VERSION, KIND)
        now = timestamp(clock.now())
        owned = update_managed_fields(None, request, schema, write.manager, f"{GROUP}/{VERSION}", "token", now)
        about = {"name": info.name, "namespace": info.namespace, "uid": account["uid"], "creationTimestamp": now}
        spec = {"boundObjectRef": None, **spec}
        answer = {**request, "metadata": {**about, **owned["metadata"]}, "spec": spec, "status": granted}
        return ServerResponse(201, answer, write.warnings)

    def _spec(self, body: Manifest) -> Manifest:
        """Return the spec of a TokenRequest, with its defaults."""
        spec = {key: value for key, value in (body.get("spec") or {}).items() if value is not None}
        spec = {"expirationSeconds": HOUR, **spec}
        _check_seconds(spec["expirationSeconds"])
        return {**spec, "audiences": spec.get("audiences") or list(self.authentication.audiences)}

    def _bound(self, reference: Manifest | None, namespace: str, account: str) -> Bound | None:
        """Return the object that a token is to die with; refuses another kind, or another object of its name."""
        if reference is None:
            return None
        version, kind, name = (reference.get(part, "") for part in ("apiVersion", "kind", "name"))
        resource = BOUND.get((version, kind))
        if resource is None:
            raise _bad(f"cannot bind token to object of type {version}, Kind={kind}")
        served = self.resources.find("", "v1", resource)
        obj = self.storage.get(served.key(namespace if served.resource.namespaced else "", name)).object
        if resource == "pods" and obj["spec"].get("serviceAccountName", "") != account:
            why = "to pod running with different serviceaccount name."
            raise _bad(f'cannot bind token for serviceaccount "{account}" {why}')
        uid = obj["metadata"]["uid"]
        if reference.get("uid", uid) != uid:
            raise _recreated(kind, name, reference["uid"])
        return Bound(resource, name, uid)


def _check_place(body: Manifest, namespace: str, name: str) -> None:
    metadata = body.get("metadata") or {}
    if metadata.get("name", name) not in ("", name):
        raise _bad(f"token request name {metadata['name']!r} does not match the name of the service account")
    if metadata.get("namespace", namespace) not in ("", namespace):
        raise _bad("the namespace of the provided object does not match the namespace sent on the request")


def _check_seconds(seconds: int) -> None:
    detail = ""
    if seconds < SHORTEST:
        detail = "may not specify a duration less than 10 minutes"
    elif seconds > LONGEST:
        detail = "may not specify a duration larger than 2^32 seconds"
    if detail:
        raise invalid(KIND, GROUP, "", [invalid_value("spec.expirationSeconds", seconds, detail)])


def _recreated(kind: str, name: str, uid: str) -> errors.Conflict:
    why = f"the UID in the bound object reference ({uid}) does not match the UID in record."
    message = f'Operation cannot be fulfilled on {kind} "{name}": {why}'
    hint = "The object might have been deleted and then recreated"
    return errors.Conflict(f"{message} {hint}", reason="Conflict", details={"name": name, "kind": kind})


def _bad(message: str) -> errors.BadRequest:
    return errors.BadRequest(message, reason="BadRequest")
