"""List the kinds of a cluster at once, and learn its version and its time."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

from fleetqueue import clock
from fleetqueue.admin.checkups.survey import Kind, SeenObjects
from fleetqueue.admin.checkups.system_parts import (
    AgentLease,
    ControllerLease,
    KueuePart,
    MetricsService,
    OcmPart,
    OwnPart,
    PrometheusRule,
    ServiceMonitor,
)
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace, Secret
from fleetqueue.api.fence import LEASE
from fleetqueue.api.kueue_installation import MANAGER_LABELS, KueueConfigMap, KueueDeployment, KueuePod
from fleetqueue.api.meta import Object
from fleetqueue.api.requests import Request
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import LABELLED_OURS

OUR_PARTS: Final = "app.kubernetes.io/name=fleetqueue"

HUB_KINDS: Final[tuple[Kind, ...]] = (
    kueue.AdmissionCheck,
    kueue.ClusterQueue,
    kueue.LocalQueue,
    kueue.ResourceFlavor,
    kueue.MultiKueueCluster,
    kueue.MultiKueueConfig,
    cluster.ManagedCluster,
    cluster.ManagedClusterSet,
    cluster.ManagedClusterSetBinding,
    cluster.Placement,
    cluster.PlacementDecision,
    cluster.AddOnPlacementScore,
)
WORKER_KINDS: Final[tuple[Kind, ...]] = (kueue.ClusterQueue, kueue.LocalQueue, kueue.ResourceFlavor, Namespace)


class KindListing(NamedTuple):
    kind: Kind
    namespace: str = ""
    labels: str = ""
    fields: str = ""


class Greeting(NamedTuple):
    """What a server says of itself."""

    version: str = ""
    ahead: float | None = None
    """Seconds by which its clock is ahead of ours; None where it does not tell the time."""


def of_hub(kueue_namespace: str) -> list[KindListing]:
    return [
        *(KindListing(kind) for kind in HUB_KINDS),
        KindListing(Secret, kueue_namespace),
        KindListing(KueueConfigMap, kueue_namespace),
        KindListing(KueueDeployment, kueue_namespace, MANAGER_LABELS),
        KindListing(KueuePod, kueue_namespace, MANAGER_LABELS),
        KindListing(KueuePart, kueue_namespace, f"{MANAGER_LABELS},app.kubernetes.io/name=kueue"),
        KindListing(OcmPart, "open-cluster-management-hub"),
        KindListing(OwnPart, labels=OUR_PARTS),
        KindListing(ControllerLease, labels=LABELLED_OURS, fields=f"metadata.name!={LEASE}"),
        KindListing(AgentLease, fields=f"metadata.name={LEASE}"),
        KindListing(PrometheusRule, labels=OUR_PARTS),
        KindListing(ServiceMonitor, labels=OUR_PARTS),
        KindListing(MetricsService, labels=OUR_PARTS),
    ]


def of_worker(kueue_namespace: str) -> list[KindListing]:
    return [
        *(KindListing(kind) for kind in WORKER_KINDS),
        KindListing(KueuePart, kueue_namespace, f"{MANAGER_LABELS},app.kubernetes.io/name=kueue"),
        KindListing(OcmPart, "open-cluster-management-agent"),
        KindListing(OwnPart, labels=OUR_PARTS),
    ]


async def look(client: Client, listings: Sequence[KindListing]) -> SeenObjects:
    """List all; what is not allowed is unseen. Raises Unauthorized and Unreachable."""
    answers = await asyncio.gather(*(_listed(client, listing) for listing in listings))
    found, unseen, unserved = {}, {}, set()
    for listing, answer in zip(listings, answers, strict=True):
        if isinstance(answer, str):
            unseen[listing.kind] = answer
        elif answer is None:
            unserved.add(listing.kind)
        else:
            found[listing.kind] = answer
    return SeenObjects(found, unseen, frozenset(unserved))


async def _listed(client: Client, listing: KindListing) -> Sequence[Object] | str | None:
    """Return the objects, None where their kind is not served, or why they cannot be listed."""
    kind = listing.kind
    try:
        page = await client.list(kind.resource, listing.namespace, labels=listing.labels, fields=listing.fields)
    except errors.NotFound:
        return None
    except errors.Unauthorized:
        raise
    except errors.Forbidden:
        return f"you may not list them{f' in namespace {listing.namespace}' if listing.namespace else ''}"
    except errors.ApiError as error:
        return str(error)
    return [kind.view(kind.trim(raw)) for raw in page.items]


async def greet(client: Client) -> Greeting:
    """Ask a server for its version and, where its answers have headers, for the time."""
    before = clock.now()
    response = await client.door.request(Request("GET", "/version"), timeout=client.timeout)
    after = clock.now()
    version = response.body.get("gitVersion", "") if isinstance(response.body, dict) else ""
    return Greeting(str(version), ahead(response.date, before, after))


def ahead(date: str, before: datetime, after: datetime) -> float | None:
    """Return by how much a server's clock is surely ahead, or behind (below 0), by the Date of an answer.

    The header has whole seconds, and was written at some time between the question and the answer: what that can
    explain does not count.
    """
    try:
        told = parsedate_to_datetime(date) if date else None
    except ValueError:
        return None
    if told is None or told.tzinfo is None:
        return None
    most, least = (told - after).total_seconds(), (told - before).total_seconds() + 1.0
    return most if most > 0 else min(least, 0.0)
