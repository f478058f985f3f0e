"""The webhooks of a part that is a pod: they have their say while one of its pods runs, and refuse while none does."""

from collections.abc import Sequence
from dataclasses import replace

from fleetqueue.api import errors
from fleetqueue.api.admission_hooks import AdmissionHook
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.server import ApiServer


class Installed(list[AdmissionHook]):
    """What one pod has installed: a list of its own, to know it again."""

    def __init__(self, hooks: Sequence[AdmissionHook], before: Sequence[AdmissionHook] = ()) -> None:
        super().__init__(hooks)
        self.is_over = False
        self._before = before.standing() if isinstance(before, Installed) else None

    def standing(self) -> "Installed | None":
        """Return what the newest pod that is still there has installed: these, or what was there before."""
        if not self.is_over:
            return self
        return self._before.standing() if self._before is not None else None


class PodWebhooks:
    """What one pod of a part installs; of two pods of a part, which are there while one replaces the other, the newer.

    They are as those whose failure policy is `Fail`: a job that Kueue has not seen must not get past it.
    """

    def __init__(self, server: ApiServer, owner: str, *, namespace: str, deployment: str = "") -> None:
        """Speak for a part; without a `deployment`, nobody is asked while it is away."""
        self.server = server
        self.owner = owner
        self.namespace = namespace
        self.deployment = deployment
        self._mine = Installed(())

    def install(self, hooks: Sequence[AdmissionHook]) -> None:
        """Have a say from now on; none means: not any more."""
        webhooks = self.server.webhooks
        if hooks:
            self._mine = Installed(hooks, before=webhooks.of(self.owner))
            webhooks.install(self.owner, self._mine)
            return
        self._mine.is_over = True
        if webhooks.of(self.owner) is self._mine:  # and not those of the pod that came after us
            away = [self._away(hook) for hook in self._mine] if self.deployment else ()
            webhooks.install(self.owner, self._mine.standing() or away)

    def expect(self, hooks: Sequence[AdmissionHook]) -> None:
        """Refuse until a pod has its say: a cluster that was stopped had these, and goes on before its pods do."""
        self.server.webhooks.install(self.owner, [self._away(hook) for hook in hooks])

    def _away(self, hook: AdmissionHook) -> AdmissionHook:
        def refuse(old: Manifest | None, new: Manifest) -> Manifest:
            if self.server.find("apps", "deployments", self.namespace, self.deployment) is None:
                return new  # it was taken away for good, and its webhooks with it
            why = f'failed calling webhook "{hook.name}": failed to call webhook: connect: connection refused'
            raise errors.ServerError(f"Internal error occurred: {why}", reason="InternalError")

        return replace(hook, call=refuse)
