"""Proof that a credential works: the worker is asked through the credential itself, for every right it shall have."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, parse
from fleetqueue.controllers.credentials.accounts import denied
from fleetqueue.controllers.credentials.issued import digest
from fleetqueue.controllers.credentials.problems import CredentialProblem
from fleetqueue.controllers.credentials.rules import Rule
from fleetqueue.controllers.credentials.settings import CredentialsSettings

Dial = Callable[[Connection], Client]

PATIENCE: Final = (0.0, 0.1, 0.3, 1.0, 2.0)
"""Seconds before each question about something new: an API server learns of its own roles and accounts through a watch,
milliseconds after it has stored them."""
NOT_ACCEPTED: Final = "the worker does not accept the token"
DOUBTED_SECONDS: Final = 5.0
"""How old a proof may be while Kueue is not connected; Kueue itself tries again no sooner."""


class Proofs:
    def __init__(self, dial: Dial, settings: CredentialsSettings) -> None:
        self._dial = dial
        self._settings = settings
        self._proven: dict[str, tuple[str, float]] = {}

    @asynccontextmanager
    async def open(self, connection: Connection) -> AsyncIterator[Client]:
        """Open a worker for the body; one that does not answer in time is a problem to tell of."""
        try:
            async with self._opened(connection) as client:
                yield client
        except errors.Unreachable as error:
            raise CredentialProblem(f"the worker cannot be reached: {error}") from error

    def is_recent(self, cluster: str, kubeconfig: str, rules: Sequence[Rule], *, doubted: bool) -> bool:
        """Tell whether this very kubeconfig was proven lately, for these very rights."""
        proven, when = self._proven.get(cluster, ("", 0.0))
        age = clock.monotonic() - when
        return proven == _digest(kubeconfig, rules) and age < (
            DOUBTED_SECONDS if doubted else self._settings.verify_every
        )

    async def refusal(
        self, cluster: str, kubeconfig: str, rules: Sequence[Rule], *, patience: Sequence[float] = PATIENCE
    ) -> str:
        """Return why the worker does not let this credential do its work; empty where it does."""
        why = ""
        async with self.open(parse(kubeconfig)) as client:
            for pause in patience:
                await asyncio.sleep(pause)
                why = await _ask(client, rules)
                if not why:
                    self._proven[cluster] = (_digest(kubeconfig, rules), clock.monotonic())
                    break
        return why

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


async def _ask(client: Client, rules: Sequence[Rule]) -> str:
    try:
        missing = await denied(client, rules)
    except errors.Unauthorized:
        return NOT_ACCEPTED
    return f"the worker does not allow to {', '.join(missing)}" if missing else ""


def _digest(kubeconfig: str, rules: Sequence[Rule]) -> str:
    return digest(f"{list(rules)} {kubeconfig}")
