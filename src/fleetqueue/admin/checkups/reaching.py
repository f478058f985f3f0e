"""Reach the workers: by the user's own contexts, and by the hub's credentials only to prove what those allow."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fleetqueue.admin.checkups.kueue_answers import ask_kueue
from fleetqueue.admin.checkups.listings import greet, look, of_worker
from fleetqueue.admin.checkups.survey import CredentialProof, WorkerSurvey
from fleetqueue.admin.worker_identity import advertised
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import KUBECONFIG_KEY
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, KubeconfigError, parse
from fleetqueue.controllers.credentials.accounts import denied
from fleetqueue.controllers.credentials.endpoints import is_same_server
from fleetqueue.controllers.credentials.proofs import Dial
from fleetqueue.controllers.credentials.served_kinds import unserved
from fleetqueue.controllers.credentials.worker_rules import PolicyRule, Rights
from fleetqueue.controllers.processes.capabilities import known_identity

ANSWER_SECONDS: Final = 10.0
AT_ONCE: Final = 20
"""Workers that are asked at a time."""
WHO_AM_I: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@dataclass(frozen=True, slots=True)
class WorkerAccess:
    """What the user has to look at workers with."""

    dial: Dial
    contexts: Mapping[str, Connection] = field(default_factory=dict, repr=False)
    """The user's own, by name."""

    def candidates(self, managed: ManagedCluster) -> Iterable[tuple[str, bool]]:
        """Return contexts that may open a cluster, and whether the address says so: else its identity must."""
        server = advertised(managed)
        names = sorted(self.contexts, key=lambda name: (name != managed.name, name))
        same = [name for name in names if server and is_same_server(self.contexts[name].server, server)]
        yield from ((name, True) for name in same)
        if managed.name in self.contexts and managed.name not in same:
            yield managed.name, False

    def servers(self, managed: ManagedCluster, context: str) -> list[str]:
        """Return under which addresses a cluster is known that a context opens, or none."""
        return [url for url in (advertised(managed), self.contexts[context].server if context else "") if url]


async def visit(access: WorkerAccess, managed: ManagedCluster, uid: str, kueue_namespace: str) -> WorkerSurvey:
    """Look at a worker by the first of the user's contexts that opens it; `uid`: who it is, empty where unknown."""
    why = "no context of the kubeconfig has its server"
    for context, is_sure in access.candidates(managed):
        try:
            client = _opened(access.dial, access.contexts[context])
            try:
                if is_sure or (uid and await known_identity(client) == uid):
                    return await _seen(client, managed.name, context, kueue_namespace)
                why = f"context {context} opens another cluster, or one whose identity is not known"
            finally:
                await client.close()
        except (errors.ApiError, errors.Unreachable) as error:
            why = f"context {context}: {error}"
    return WorkerSurvey(managed.name, unasked=why)


async def _seen(client: Client, name: str, context: str, kueue_namespace: str) -> WorkerSurvey:
    greeting = await greet(client)
    objects, answer = await asyncio.gather(look(client, of_worker(kueue_namespace)), ask_kueue(client))
    return WorkerSurvey(name, context, "", objects, greeting.version, greeting.ahead, answer)


async def prove(dial: Dial, secret: Secret, rights: Rights, servers: Mapping[str, Collection[str]]) -> CredentialProof:
    """Ask a worker, through the credential itself, what it may not do there, and what is not served.

    `servers`: under which addresses each worker is known.
    """
    try:
        connection = parse(secret.text(KUBECONFIG_KEY) or "")
    except (KubeconfigError, ValueError):
        return CredentialProof(secret.name, unasked="it holds no kubeconfig that can be read")
    name = next((n for n, urls in servers.items() if any(is_same_server(connection.server, url) for url in urls)), "")
    try:
        client = _opened(dial, connection)
        try:
            missing = await _denied(client, rights.rules)
            kinds = await unserved(client, rights.kinds)
            return CredentialProof(secret.name, name, user=await _user(client), denied=missing, unserved=kinds)
        finally:
            await client.close()
    except errors.Unauthorized:
        return CredentialProof(secret.name, name, is_refused=True)
    except (errors.ApiError, errors.Unreachable) as error:
        return CredentialProof(secret.name, name, unasked=f"the worker cannot be asked from here: {error}")


def _opened(dial: Dial, connection: Connection) -> Client:
    client = dial(connection)
    client.timeout = ANSWER_SECONDS
    return client


async def _denied(client: Client, rules: Sequence[PolicyRule]) -> tuple[tuple[str, str, str], ...]:
    missing = await asyncio.gather(*(denied(client, [rule]) for rule in rules))
    return tuple(_parts(right) for some in missing for right in some)


def _parts(right: str) -> tuple[str, str, str]:
    """Split `watch jobs.batch` into verb, group and resource."""
    verb, _, what = right.partition(" ")
    resource, _, group = what.partition(".")
    return verb, group, resource


async def _user(client: Client) -> str:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        answer = await client.post(WHO_AM_I, review)
    except (errors.Forbidden, errors.NotFound):
        return ""
    return str(((answer.get("status") or {}).get("userInfo") or {}).get("username") or "")
