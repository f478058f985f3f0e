"""By what a cluster that serves no ManagedClusters is known to be a worker, which has Kueue as a hub has it.

A cluster that has Kueue alone is nobody's worker as far as can be seen, and neither is a hub without Open Cluster
Management, or one where nothing is configured yet: what may not be seen, or is not there, is no sign.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ServiceAccount
from fleetqueue.api.work_v1 import AppliedManifestWork, ManifestWork
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.accounts import ACCOUNT_NAME
from fleetqueue.controllers.credentials.create import BY_HAND
from fleetqueue.runtime.cluster import LABELLED_OURS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Signs:
    """What tells a worker from a hub."""

    has_agent: bool = False
    """OCM's agent keeps its own kind there, and no kind of a hub is beside it."""
    accounts: Sequence[str] = ()
    """The service accounts of ours by which a hub sends jobs."""
    sends_jobs: bool = False
    """It has MultiKueueClusters: it is a hub itself, even where it is a worker of another one."""


async def why_worker(cluster: Client) -> str:
    """Say by what a cluster is known to be a worker; empty where it is not."""
    works, accounts, sends_jobs = await asyncio.gather(
        _allowed(cluster.served(ManifestWork.resource.api_version), {}),
        _allowed(_accounts(cluster), []),
        _allowed(_sends_jobs(cluster), False),
    )
    has_agent = AppliedManifestWork.resource.plural in works and ManifestWork.resource.plural not in works
    return told(Signs(has_agent, accounts, sends_jobs))


def told(signs: Signs) -> str:
    """Say what makes a cluster a worker; empty where nothing does."""
    if signs.sends_jobs:
        return ""
    if signs.has_agent:
        return "it has the agent of Open Cluster Management and no ManagedClusters"
    if signs.accounts:
        return f"it has the service account {min(signs.accounts)}, by which a hub sends jobs to it"
    return ""


async def _accounts(cluster: Client) -> list[str]:
    page = await cluster.list(ServiceAccount.resource, labels=LABELLED_OURS)
    accounts = map(ServiceAccount.view, page.items)
    return [one.key for one in accounts if one.name.startswith((ACCOUNT_NAME, BY_HAND))]


async def _sends_jobs(cluster: Client) -> bool:
    return bool((await cluster.list(kueue.MultiKueueCluster.resource)).items)


async def _allowed(asked: Awaitable[T], otherwise: T) -> T:
    """Return an answer, or something else where one may not ask, or there is no such kind."""
    try:
        return await asked
    except (errors.Forbidden, errors.NotFound):
        return otherwise
