"""Questions that are asked by creating an object that is not stored: who am I, may I, is this token good."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.auth.attributes import Attributes
from fleetqueue.apiserver.auth.authentication import Authentication
from fleetqueue.apiserver.auth.rbac import Rbac, Rule
from fleetqueue.apiserver.auth.users import User
from fleetqueue.apiserver.http.exchange import Answer, Question
from fleetqueue.apiserver.kinds.causes import Cause, invalid, invalid_value

AUTHENTICATION: Final = "authentication.k8s.io"
AUTHORIZATION: Final = "authorization.k8s.io"
BOTH: Final = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


class Reviews:
    def __init__(self, rbac: Rbac, authentication: Authentication) -> None:
        self.rbac = rbac
        self.authentication = authentication
        self._kinds: Mapping[tuple[str, str], tuple[str, Callable[[Manifest, Question], Manifest]]] = {
            (AUTHORIZATION, "selfsubjectaccessreviews"): ("SelfSubjectAccessReview", self._may_i),
            (AUTHORIZATION, "subjectaccessreviews"): ("SubjectAccessReview", self._may_they),
            (AUTHORIZATION, "localsubjectaccessreviews"): ("LocalSubjectAccessReview", self._may_they),
            (AUTHORIZATION, "selfsubjectrulesreviews"): ("SelfSubjectRulesReview", self._what_may_i),
            (AUTHENTICATION, "selfsubjectreviews"): ("SelfSubjectReview", self._who_am_i),
            (AUTHENTICATION, "tokenreviews"): ("TokenReview", self._whose_token),
        }

    def find(self, question: Question) -> Callable[[Question], Awaitable[Answer]] | None:
        """Return what answers a question of this family; None where it is none."""
        info = question.info
        return self._answer if (info.group, info.resource) in self._kinds and info.verb == "create" else None

    async def _answer(self, question: Question) -> Answer:
        kind, ask = self._kinds[question.info.group, question.info.resource]
        body = question.body if isinstance(question.body, dict) else {}
        api_version = f"{question.info.group}/{question.info.version}"
        if body.get("kind", kind) != kind:
            message = f'{body["kind"]} in version "{body.get("apiVersion")}" cannot be handled as a {kind}'
            raise errors.BadRequest(message, reason="BadRequest")
        head = {"kind": kind, "apiVersion": api_version, "metadata": {"creationTimestamp": None}}
        return Answer(201, {**head, **ask(body, question)})

    # May I, may they

    def _may_i(self, body: Manifest, question: Question) -> Manifest:
        spec = body.get("spec") or {}
        _refuse("SelfSubjectAccessReview", AUTHORIZATION, _attribute_faults(spec))
        return {"spec": spec, "status": self._decided(spec, question.user)}

    def _may_they(self, body: Manifest, question: Question) -> Manifest:
        spec = body.get("spec") or {}
        faults = _attribute_faults(spec)
        if not spec.get("user") and not spec.get("groups"):
            faults.append(invalid_value("spec.user", "", "at least one of user or group must be specified"))
        _refuse("SubjectAccessReview", AUTHORIZATION, faults)
        user = User(str(spec.get("user") or ""), tuple(spec.get("groups") or ()), str(spec.get("uid") or ""))
        return {"spec": spec, "status": self._decided(spec, user)}

    def _decided(self, spec: Manifest, user: User) -> Manifest:
        reason = self.rbac.reason(_asked(spec, user))
        if reason is None:
            return {"allowed": False}
        return {"allowed": True, "reason": reason} if reason else {"allowed": True}

    def _what_may_i(self, body: Manifest, question: Question) -> Manifest:
        spec = body.get("spec") or {}
        namespace = str(spec.get("namespace") or "")
        if not namespace:
            raise errors.BadRequest("no namespace on request", reason="BadRequest")
        rules = list(self.rbac.policy.rules_of(question.user, namespace))
        status = {
            "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
            "nonResourceRules": [_path_rule(rule) for rule in rules if rule.urls],
            "incomplete": False,
        }
        return {"spec": spec, "status": status}

    # Who

    def _who_am_i(self, body: Manifest, question: Question) -> Manifest:
        return {"status": {"userInfo": _shown(question.user)}}

    def _whose_token(self, body: Manifest, question: Question) -> Manifest:
        spec = body.get("spec") or {}
        if not spec.get("token"):
            raise errors.BadRequest("token is required for TokenReview in authentication", reason="BadRequest")
        wanted = spec.get("audiences") or self.authentication.audiences
        found = self.authentication.by_token(str(spec["token"]), wanted)
        if found is None:
            return {"spec": spec, "status": {"user": {}, "error": "invalid bearer token"}}
        user, audiences = found
        return {"spec": spec, "status": {"authenticated": True, "user": _shown(user), "audiences": list(audiences)}}


def _asked(spec: Manifest, user: User) -> Attributes:
    path = spec.get("nonResourceAttributes")
    if path:
        return Attributes(user, str(path.get("verb") or ""), path=str(path.get("path") or ""))
    asked = spec["resourceAttributes"]
    parts = ("verb", "group", "resource", "subresource", "name", "namespace")
    return Attributes(user, *(str(asked.get(part) or "") for part in parts))


def _attribute_faults(spec: Manifest) -> list[Cause]:
    both = (spec.get("resourceAttributes"), spec.get("nonResourceAttributes"))
    if all(both):
        detail = "cannot be specified in combination with resourceAttributes"
        return [invalid_value("spec.nonResourceAttributes", both[1], detail)]
    return [] if any(both) else [invalid_value("spec.resourceAttributes", both[1], BOTH)]


def _refuse(kind: str, group: str, faults: Sequence[Cause]) -> None:
    if faults:
        raise invalid(kind, group, "", faults)


def _shown(user: User) -> dict[str, Any]:
    shown: dict[str, Any] = {"username": user.name}
    if user.uid:
        shown["uid"] = user.uid
    shown["groups"] = list(user.groups)
    if user.extra:
        shown["extra"] = {key: list(values) for key, values in user.extra.items()}
    return shown


def _resource_rule(rule: Rule) -> Manifest:
    parts = ("verbs", "apiGroups", "resources", "resourceNames")
    return {part: list(rule.raw[part]) for part in parts if rule.raw.get(part)}


def _path_rule(rule: Rule) -> Manifest:
    return {"verbs": list(rule.raw["verbs"]), "nonResourceURLs": list(rule.urls)}
