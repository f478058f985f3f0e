"""Proof that a credential works: the worker is asked through the credential itself, for every right it shall have."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.fleetqueue import IDENTITY_NAMESPACE
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, parse
from fleetqueue.controllers.credentials.accounts import denied
from fleetqueue.controllers.credentials.problems import CredentialProblem
from fleetqueue.controllers.credentials.secret_content import digest
from fleetqueue.controllers.credentials.served_kinds import unserved
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.credentials.worker_rules import PolicyRule, Rights

Dial = Callable[[Connection], Client]

PATIENCE: Final = (0.0, 0.1, 0.3, 1.0, 2.0)
"""Seconds before each question about something new: an API server learns of its own roles and accounts through a watch,
milliseconds after it has stored them."""
NOT_ACCEPTED: Final = "the worker does not accept the token"
DOUBTED_SECONDS: Final = 5.0
"""How old a proof may be while Kueue is not connected; Kueue itself tries again no sooner."""


@dataclass(frozen=True, slots=True)
class Proof:
    what: str = ""
    """A hash of the kubeconfig, and of the rights that it was proven for."""
    when: float = -inf
    unserved: tuple[str, ...] = ()
    """Kinds that the worker did not serve then."""
    uid: str = ""
    """Which cluster it was, by the uid of its namespace kube-system."""


class Proofs:
    def __init__(self, dial: Dial, settings: CredentialsSettings) -> None:
        self._dial = dial
        self._settings = settings
        self._proven: dict[str, Proof] = {}

    @asynccontextmanager
    async def open(self, connection: Connection) -> AsyncIterator[Client]:
        """Open a worker for the body; one that does not answer in time is a problem to tell of."""
        try:
            async with self._opened(connection) as client:
                yield client
        except errors.Unreachable as error:
            raise CredentialProblem(f"the worker cannot be reached: {error}") from error

    def is_recent(self, cluster: str, kubeconfig: str, rights: Rights, *, doubted: bool) -> bool:
        """Tell whether this very kubeconfig was proven lately, for these very rights."""
        proof = self._proven.get(cluster, Proof())
        longest = DOUBTED_SECONDS if doubted or proof.unserved else self._settings.verify_every
        return proof.what == _digest(kubeconfig, rights) and clock.monotonic() - proof.when < longest

    def age(self, cluster: str) -> float:
        """Return how many seconds ago a credential of a cluster was last proven."""
        return clock.monotonic() - self._proven.get(cluster, Proof()).when

    def unserved(self, cluster: str) -> tuple[str, ...]:
        """Return which kinds the worker did not serve when it was last asked."""
        return self._proven.get(cluster, Proof()).unserved

    async def refusal(
        self, cluster: str, kubeconfig: str, rights: Rights, *, patience: Sequence[float] = PATIENCE
    ) -> str:
        """Return why the worker does not let this credential do its work; empty where it does."""
        why = ""
        async with self.open(parse(kubeconfig)) as client:
            for pause in patience:
                await asyncio.sleep(pause)
                why = await _ask(client, rights.rules)
                if not why:
                    missing, uid = await unserved(client, rights.kinds), await identity(client)
                    self._proven[cluster] = Proof(_digest(kubeconfig, rights), clock.monotonic(), missing, uid)
                    break
        return why

    async def is_accepted(self, kubeconfig: str) -> bool | None:
        """Tell whether the worker takes the token of a kubeconfig, whatever it allows; None where it does not say."""
        try:
            async with self._opened(parse(kubeconfig)) as client:
                await identity(client)
        except errors.Unauthorized:
            return False
        except (errors.Forbidden, errors.NotFound):
            return True
        except (errors.ApiError, errors.Unreachable):
            return None
        return True

    def identity(self, cluster: str) -> str:
        """Return which cluster the credential opens that was proven last."""
        return self._proven.get(cluster, Proof()).uid

    def forget(self, cluster: str) -> None:
        self._proven.pop(cluster, None)

    @asynccontextmanager
    async def _opened(self, connection: Connection) -> AsyncIterator[Client]:
        client = self._dial(connection)
        client.timeout = self._settings.answer_timeout
        try:
            yield client
        finally:
            await client.close()


async def identity(client: Client) -> str:
    """Ask a cluster who it is."""
    return Namespace.view(await client.get(Namespace.resource, IDENTITY_NAMESPACE)).uid


async def _ask(client: Client, rules: Sequence[PolicyRule]) -> str:
    try:
        missing = await denied(client, rules)
    except errors.Unauthorized:
        return NOT_ACCEPTED
    return f"the worker does not allow to {', '.join(missing)}" if missing else ""


def _digest(kubeconfig: str, rights: Rights) -> str:
    return digest(f"{rights.rules} {rights.only_adds} {kubeconfig}")
