"""Questions about rights and identities: they are answered, and nothing is stored."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.auth.attributes import Attributes
from fleetqueue.embedded.apiserver.auth.authentication import Authentication
from fleetqueue.embedded.apiserver.auth.rbac import GrantedRule, Rbac
from fleetqueue.embedded.apiserver.auth.service_account_tokens import NoToken, TokenError
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.http.exchange import RequestContext, ServerResponse
from fleetqueue.embedded.apiserver.http.non_resource_paths import not_allowed
from fleetqueue.embedded.apiserver.http.verbs.write_verbs import write_of
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid, invalid_value
from fleetqueue.embedded.apiserver.patching.managed_fields import update_managed_fields
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.shaping import with_identity_of_path
from fleetqueue.embedded.apiserver.registry.writes import typed

AUTHENTICATION: Final = "authentication.k8s.io"
AUTHORIZATION: Final = "authorization.k8s.io"
BOTH: Final = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
NOT_BOTH: Final = "cannot be specified in combination with resourceAttributes"
SOMEBODY: Final = "at least one of user or group must be specified"


class ReviewResource(NamedTuple):
    kind: str
    answer: Callable[[Manifest, RequestContext], Manifest]
    """From the body to what is answered: the spec, the status, or more."""
    is_namespaced: bool = False
    is_owned: bool = True
    """Whether the answer says who owns its fields, as a real server's does for most."""


class Reviews:
    def __init__(self, rbac: Rbac, authentication: Authentication) -> None:
        self.rbac = rbac
        self.authentication = authentication
        self._kinds: Mapping[tuple[str, str], ReviewResource] = {
            (AUTHORIZATION, "selfsubjectaccessreviews"): ReviewResource("SelfSubjectAccessReview", self._may_i),
            (AUTHORIZATION, "subjectaccessreviews"): ReviewResource("SubjectAccessReview", self._may_they),
            (AUTHORIZATION, "localsubjectaccessreviews"): ReviewResource(
                "LocalSubjectAccessReview", self._may_they_here, True
            ),
            (AUTHORIZATION, "selfsubjectrulesreviews"): ReviewResource(
                "SelfSubjectRulesReview", self._what_may_i, is_owned=False
            ),
            (AUTHENTICATION, "selfsubjectreviews"): ReviewResource("SelfSubjectReview", self._who_am_i, is_owned=False),
            (AUTHENTICATION, "tokenreviews"): ReviewResource("TokenReview", self._whose_token),
        }

    def find(self, context: RequestContext) -> Callable[[RequestContext], Awaitable[ServerResponse]] | None:
        """Return what answers a request of this family, None where it is none; raises MethodNotAllowed."""
        info = context.info
        review = self._kinds.get((info.group, info.resource))
        if review is None or info.version != "v1" or info.name or bool(info.namespace) != review.is_namespaced:
            return None
        if info.verb != "create":
            raise not_allowed()
        return self._answer

    async def _answer(self, context: RequestContext) -> ServerResponse:
        info = context.info
        review = self._kinds[info.group, info.resource]
        resource = Resource(info.group, info.version, review.kind, info.resource, review.is_namespaced)
        served = Served(resource, facts.schema(info.group, info.version, review.kind))
        write = write_of(served, context, "CreateOptions")
        body = with_identity_of_path(served, info.namespace, typed(resource, context.body, write))
        answer = {**body, **review.answer(body, context)}
        if review.is_owned:
            now, version = timestamp(clock.now()), resource.api_version
            owned = update_managed_fields(None, body, served.schema, write.manager, version, "", now)
            answer["metadata"] = {**body["metadata"], **owned["metadata"]}
        return ServerResponse(201, answer, write.warnings)

    # May I, may they

    def _may_i(self, body: Manifest, context: RequestContext) -> Manifest:
        spec = body.get("spec") or {}
        _refuse([*_attribute_faults(spec), *_metadata_faults(body)])
        return {"spec": spec, "status": self._decided(spec, context.user)}

    def _may_they(self, body: Manifest, context: RequestContext) -> Manifest:
        spec = body.get("spec") or {}
        _refuse([*_subject_faults(spec), *_metadata_faults(body)])
        return {"spec": spec, "status": self._decided(spec, _subject(spec))}

    def _may_they_here(self, body: Manifest, context: RequestContext) -> Manifest:
        spec, namespace = body.get("spec") or {}, context.info.namespace
        _refuse([*_subject_faults(spec), *_metadata_faults(body, "namespace"), *_place_faults(spec, namespace)])
        return {"spec": spec, "status": self._decided(spec, _subject(spec))}

    def _decided(self, spec: Manifest, user: User) -> Manifest:
        reason = self.rbac.reason(_asked(spec, user))
        if reason is None:
            return {"allowed": False}
        return {"allowed": True, "reason": reason} if reason else {"allowed": True}

    def _what_may_i(self, body: Manifest, context: RequestContext) -> Manifest:
        namespace = str((body.get("spec") or {}).get("namespace") or "")
        if not namespace:
            raise errors.BadRequest("no namespace on request", reason="BadRequest")
        rules = list(self.rbac.policy.rules_of(context.user, namespace))
        status = {
            "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
            "nonResourceRules": [_path_rule(rule) for rule in rules if rule.urls],
            "incomplete": False,
        }
        return {"spec": {}, "status": status}

    # Who

    def _who_am_i(self, body: Manifest, context: RequestContext) -> Manifest:
        metadata = {"creationTimestamp": timestamp(clock.now())}
        return {"metadata": metadata, "status": {"userInfo": _shown(context.user)}}

    def _whose_token(self, body: Manifest, context: RequestContext) -> Manifest:
        spec = body.get("spec") or {}
        if not spec.get("token"):
            raise errors.BadRequest("token is required for TokenReview in authentication", reason="BadRequest")
        wanted = spec.get("audiences") or self.authentication.audiences
        try:
            user, audiences = self.authentication.by_token(str(spec["token"]), wanted)
        except NoToken:
            return {"spec": spec, "status": {"user": {}, "error": "invalid bearer token"}}
        except TokenError as error:
            return {"spec": spec, "status": {"user": {}, "error": f"[invalid bearer token, {error}]"}}
        return {"spec": spec, "status": {"authenticated": True, "user": _shown(user), "audiences": list(audiences)}}


def _asked(spec: Manifest, user: User) -> Attributes:
    path = spec.get("nonResourceAttributes")
    if path:
        return Attributes(user, path.get("verb", ""), path=path.get("path", ""))
    asked = spec["resourceAttributes"]
    parts = ("verb", "group", "resource", "subresource", "name", "namespace")
    return Attributes(user, *(asked.get(part, "") for part in parts))


def _subject(spec: Manifest) -> User:
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), spec.get("extra") or {})


def _attribute_faults(spec: Manifest) -> Iterator[Cause]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        yield invalid_value("spec.nonResourceAttributes", path, NOT_BOTH)
    elif resource is None and path is None:
        yield invalid_value("spec.resourceAttributes", path, BOTH)


def _subject_faults(spec: Manifest) -> Iterator[Cause]:
    yield from _attribute_faults(spec)
    if not spec.get("user") and not spec.get("groups"):
        yield invalid_value("spec.user", spec.get("user", ""), SOMEBODY)


def _metadata_faults(body: Manifest, allowed: str = "") -> Iterator[Cause]:
    metadata = body["metadata"]
    if metadata.keys() - {allowed, "managedFields"}:
        detail = f"must be empty except for {allowed}" if allowed else "must be empty"
        yield invalid_value("metadata", metadata, detail)


def _place_faults(spec: Manifest, namespace: str) -> Iterator[Cause]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and resource.get("namespace", "") != namespace:
        field = "spec.resourceAttributes.namespace"
        yield invalid_value(field, resource.get("namespace", ""), "must match metadata.namespace")
    if path is not None:
        yield invalid_value("spec.nonResourceAttributes", path, "disallowed on this kind of request")


def _refuse(faults: Sequence[Cause]) -> None:
    if faults:
        raise invalid("", AUTHORIZATION, "", faults)


def _shown(user: User) -> dict[str, Any]:
    shown: dict[str, Any] = {"username": user.name}
    if user.uid:
        shown["uid"] = user.uid
    shown["groups"] = list(user.groups)
    if user.extra:
        shown["extra"] = {key: list(values) for key, values in user.extra.items()}
    return shown


def _resource_rule(rule: GrantedRule) -> Manifest:
    parts = ("verbs", "apiGroups", "resources", "resourceNames")
    return {part: list(rule.raw[part]) for part in parts if rule.raw.get(part)}


def _path_rule(rule: GrantedRule) -> Manifest:
    return {"verbs": list(rule.raw["verbs"]), "nonResourceURLs": list(rule.urls)}
