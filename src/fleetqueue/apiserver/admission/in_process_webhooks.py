"""Ask the parts of this process that have a say in writes: first those that change objects, then those that judge them.

Simplified: they are asked before an object is checked against its schema, and only where nobody is installed, nobody
is asked; a real webhook whose server is away has writes refused.
"""

from collections.abc import Sequence

from fleetqueue.api import errors
from fleetqueue.api.admission_hooks import AdmissionHook
from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.admission.chain import Review


class InProcessWebhooks:
    def __init__(self) -> None:
        self._hooks: dict[str, Sequence[AdmissionHook]] = {}

    def install(self, owner: str, hooks: Sequence[AdmissionHook]) -> None:
        """Let a part have its say in writes, in place of what it had before; none takes it away."""
        self._hooks.pop(owner, None)
        if hooks:
            self._hooks[owner] = hooks

    @property
    def hooks(self) -> list[AdmissionHook]:
        """All who are asked, in the order of their owners' names."""
        return [hook for owner in sorted(self._hooks) for hook in self._hooks[owner]]

    async def admit(self, review: Review) -> Manifest | None:
        new = review.new
        if new is None:
            return None
        asked = [hook for hook in self.hooks if _concerns(hook, review)]
        for hook in sorted(asked, key=lambda hook: not hook.is_mutating):
            new = _called(hook, review.old, new)
        return new


def _called(hook: AdmissionHook, old: Manifest | None, new: Manifest) -> Manifest:
    try:
        return hook.call(old, new)
    except errors.Forbidden as error:
        message = f'admission webhook "{hook.name}" denied the request: {error.message}'
        raise errors.Forbidden(message, reason="Forbidden") from None


def _concerns(hook: AdmissionHook, review: Review) -> bool:
    resource = review.resource
    path = f"{resource.plural}/{review.subresource}" if review.subresource else resource.plural
    return (
        (hook.group, hook.version) == (resource.group, resource.version)
        and path in hook.resources
        and review.operation in hook.operations
        and review.metadata.get("namespace", "") not in hook.spared
    )
