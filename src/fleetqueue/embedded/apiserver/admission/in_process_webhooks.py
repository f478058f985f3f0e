"""Ask the parts of this process that have a say in writes: first those that change objects, then those that judge them.

Simplified: they are asked before an object is checked against its schema.
"""

from collections.abc import Callable, Sequence

from fleetqueue.api import errors
from fleetqueue.api.admission_hooks import AdmissionHook
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.admission.chain import AdmissionRequest, Operation
from fleetqueue.embedded.apiserver.auth.attributes import Attributes

May = Callable[[Attributes], bool]
"""Tells whether a user is allowed something."""
Asked = tuple[Resource, str, Operation]
"""A sort of write: of which resource, through which subresource, and what it does."""


class InProcessWebhooks:
    def __init__(self, may: May) -> None:
        self._may = may
        self._hooks: dict[str, Sequence[AdmissionHook]] = {}
        self._asked: dict[Asked, list[AdmissionHook]] = {}
        """The hooks for a resource and operation, cached while none is added or removed."""

    def install(self, owner: str, hooks: Sequence[AdmissionHook]) -> None:
        """Let a part have its say in writes, in place of what it had before; none takes it away."""
        self._hooks.pop(owner, None)
        self._asked.clear()
        if hooks:
            self._hooks[owner] = hooks

    def of(self, owner: str) -> Sequence[AdmissionHook]:
        """Return what a part has installed, the very same."""
        return self._hooks.get(owner, ())

    @property
    def hooks(self) -> list[AdmissionHook]:
        """All hooks, in the order of their owners' names."""
        return [hook for owner in sorted(self._hooks) for hook in self._hooks[owner]]

    async def admit(self, review: AdmissionRequest) -> Manifest | None:
        new = review.new
        if new is None:
            return None
        asked = self._asked_about((review.resource, review.subresource, review.operation))
        namespace = review.metadata.get("namespace", "") if asked else ""
        for hook in asked:
            if namespace not in hook.spared and _is_selected(hook, new):
                new = self._called(hook, review, new)
        return new

    def _asked_about(self, sort: Asked) -> list[AdmissionHook]:
        """Return the hooks for a write, mutating ones first."""
        hooks = self._asked.get(sort)
        if hooks is None:
            concerned = (hook for hook in self.hooks if _concerns(hook, *sort))
            hooks = self._asked[sort] = sorted(concerned, key=lambda hook: not hook.is_mutating)
        return hooks

    def _called(self, hook: AdmissionHook, review: AdmissionRequest, new: Manifest) -> Manifest:
        try:
            self._demand(hook, review, new)
            return hook.call(review.old, new)
        except errors.Forbidden as error:
            message = f'admission webhook "{hook.name}" denied the request: {error.message}'
            raise errors.Forbidden(message, reason="Forbidden") from None

    def _demand(self, hook: AdmissionHook, review: AdmissionRequest, new: Manifest) -> None:
        """Raise Forbidden where the user of a write lacks a right that the hook requires."""
        for right in hook.rights(review.old, new):
            asked = Attributes(review.user, right.verb, right.group, right.resource, right.subresource, right.name)
            if not self._may(asked):
                what = f"{asked.full_resource}.{hook.group}"
                why = right.refusal.format(user=review.user.name)
                raise errors.Forbidden(f'{what} "{right.name}" is forbidden: {why}', reason="Forbidden")


def _concerns(hook: AdmissionHook, resource: Resource, subresource: str, operation: Operation) -> bool:
    path = f"{resource.plural}/{subresource}" if subresource else resource.plural
    return (
        (hook.group, hook.version) == (resource.group, resource.version)
        and path in hook.resources
        and operation in hook.operations
    )


def _is_selected(hook: AdmissionHook, new: Manifest) -> bool:
    return not hook.label or hook.label in (new["metadata"].get("labels") or {})
