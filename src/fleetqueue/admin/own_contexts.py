"""What only the user's own contexts of workers tell: which of them a step means, and what the pods there say.

The hub knows neither. A worker is asked only where a context of the user is known to lead there, and only about pods
that are not ready.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from fleetqueue.admin import worker_contexts
from fleetqueue.admin.causes import Cause
from fleetqueue.admin.explanations import Explanation
from fleetqueue.admin.job_location import JobLocation, NoPods, pods_of, title
from fleetqueue.admin.known_clusters import known_clusters
from fleetqueue.admin.pod_reasons import why_not_ready
from fleetqueue.admin.step_commands import CONTEXT, context_of, with_context
from fleetqueue.admin.worker_contexts import ANSWER_SECONDS, Dial
from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection


@dataclass(frozen=True, slots=True)
class OwnContexts:
    """What the user has to look at workers with."""

    read: Callable[[], Mapping[str, Connection]]
    """Returns all contexts, by name; a kubeconfig may have many, and few causes need them."""
    dial: Dial


async def completed(found: Explanation, hub: Client, own: OwnContexts) -> Explanation:
    """Name the user's own context in a step, and add why pods are not ready; what is not seen stays as it is."""
    cause, asks_pods = found.cause, found.cause.code == "PodsNotReady" and bool(found.job)
    cluster = context_of(cause.step)
    location = JobLocation(found.job, found.namespace, cluster)
    if not cluster:
        is_on_hub = asks_pods and CONTEXT not in cause.step
        return replace(found, cause=await _with_pods(cause, hub, location)) if is_on_hub else found
    location = replace(location, fleet=await known_clusters(hub))
    try:
        way = await worker_contexts.found(location, own.read(), own.dial)
    except NoPods:
        return found
    cause = replace(cause, step=with_context(cause.step, way.name))
    return replace(found, cause=await _asked(own.dial(way), cause, location) if asks_pods else cause)


async def _asked(worker: Client, cause: Cause, location: JobLocation) -> Cause:
    worker.timeout = ANSWER_SECONDS
    try:
        return await _with_pods(cause, worker, location)
    finally:
        await worker.close()


async def _with_pods(cause: Cause, where: Client, location: JobLocation) -> Cause:
    """Add what the pods of a job say where they are; nothing where they cannot be read."""
    try:
        pods = await pods_of(where, location)
    except (errors.ApiError, errors.Unreachable):
        return cause
    on = title(location.cluster)
    why = why_not_ready(pods) if pods else "it has no pods there yet"
    return cause.with_details(f"on {on}: {why}" if why else "")
