"""Submit jobs: read manifests, see that Kueue will queue each of them, create them.

Nothing is written before all of them are known to be accepted: the server tries each one without storing it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fleetqueue.admin.unqueued_jobs import kueue_configuration
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.kueue_configuration import Configuration
from fleetqueue.api.kueue_pods import group_name
from fleetqueue.api.queued_kinds import QUEUED_KINDS, framework_of, is_managed
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client

LABEL: Final = kueue.QUEUE_LABEL
CREATE_CRON_JOB: Final = (
    f"create it with kubectl on the hub alone, with the label {LABEL} in spec.jobTemplate.metadata.labels"
)


class CannotSubmit(Exception):
    """What is to be submitted is no job that Kueue would queue; the text says what to change."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One job that is to be created, or was."""

    resource: Resource
    manifest: Manifest
    is_new: bool = True
    """False where a job of this name was there already, which is left as it is."""

    @property
    def namespace(self) -> str:
        return str(self.manifest["metadata"]["namespace"])

    @property
    def name(self) -> str:
        metadata = self.manifest["metadata"]
        return str(metadata.get("name") or f"{metadata.get('generateName', '')}*")

    @property
    def queue(self) -> str:
        return str((self.manifest["metadata"].get("labels") or {}).get(LABEL, ""))

    @property
    def job(self) -> str:
        """The name by which listings know it; pods of a group are one job."""
        group = group_name(self.manifest["metadata"]) if self.resource == Pod.resource else ""
        return f"{self.resource.kind}/{group or self.name}"

    @property
    def row(self) -> dict[str, Any]:
        metadata = self.manifest["metadata"]
        told = {"namespace": self.namespace, "job": self.job, "queue": self.queue}
        return {**told, "existed": not self.is_new, "uid": metadata.get("uid", "")}


def documents(text: str, origin: str) -> list[Manifest]:
    """Read the objects of a file, also those of a List; raises CannotSubmit, which says where the text is from."""
    import yaml

    try:
        found = [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise CannotSubmit(f"{origin} is not YAML: {problem or error}{where}") from error
    flat = [item for document in found for item in _items(document)]
    if not flat:
        raise CannotSubmit(f"there is no object in {origin}")
    return [_checked(document, origin) for document in flat]


def placed(document: Manifest, *, queue: str, namespace: str, default_namespace: str) -> Manifest:
    """Return a job in its namespace and with its queue; raises CannotSubmit where two namespaces are named."""
    metadata = document["metadata"]
    own = metadata.get("namespace") or ""
    if own and namespace and own != namespace:
        raise CannotSubmit(f"{title(document)} is for namespace {own}, and -n says {namespace}")
    return with_queue({**document, "metadata": {**metadata, "namespace": own or namespace or default_namespace}}, queue)


def with_queue(document: Manifest, queue: str) -> Manifest:
    """Return a job that names a queue; as it is where none is given."""
    if not queue:
        return document
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), LABEL: queue}}}


def refusal(document: Manifest, configuration: Configuration | None) -> str:
    """Say why Kueue would not queue a kind; empty where it does, or where that cannot be known."""
    group, kind = document["apiVersion"].rpartition("/")[0], document["kind"]
    if kind == "CronJob":
        return f"{title(document)} makes jobs, and is none: {CREATE_CRON_JOB}"
    if not framework_of(group, kind) and _is_of_kubernetes(group):
        return f"{title(document)} is no job; create it with kubectl, on the workers too: MultiKueue sends jobs alone"
    if configuration is None or is_managed(group, kind, configuration):
        return ""
    listed = ", ".join((*configuration.frameworks, *configuration.external_frameworks))
    return f"Kueue on this hub does not manage {kind}: its configuration lists {listed}"


def title(document: Manifest) -> str:
    metadata = document["metadata"]
    return f'{document["kind"]} "{metadata.get("name") or metadata.get("generateName") or ""}"'


async def prepare(hub: Client, jobs: Sequence[Manifest]) -> list[Submission]:
    """See that each job would be accepted and queued; nothing is written.

    Raises CannotSubmit, NotFound for a kind that is not served or a queue that is not there, and what the server says.
    """
    configuration = await kueue_configuration(hub)
    for reason in (refusal(job, configuration) for job in jobs):
        if reason:
            raise CannotSubmit(reason)
    resources = await _resources(hub, jobs)
    prepared = [await _tried(hub, resources[job["apiVersion"], job["kind"]], job) for job in jobs]
    await _check_queues(hub, prepared)
    return prepared


async def submit(hub: Client, submission: Submission) -> Submission:
    """Create a job; one that is there already is left as it is, and said to be."""
    if not submission.is_new:
        return submission
    created = await hub.create(submission.resource, submission.manifest)
    return replace(submission, manifest=created)


async def _tried(hub: Client, resource: Resource, job: Manifest) -> Submission:
    """Let the server try a job, as strictly as for kubectl; what it and Kueue's webhooks make of it tells the queue."""
    try:
        answer = await hub.create(resource, job, dry_run=True, strict=True)
    except errors.AlreadyExists:
        metadata = job["metadata"]
        live = await hub.get(resource, metadata["name"], metadata["namespace"])
        return Submission(resource, live, is_new=False)
    if not Submission(resource, answer).queue:
        raise CannotSubmit(f"{title(job)} names no queue: name one with --queue, or by the label {LABEL}")
    labels = {**(job["metadata"].get("labels") or {}), LABEL: Submission(resource, answer).queue}
    return Submission(resource, {**job, "metadata": {**job["metadata"], "labels": labels}})


async def _check_queues(hub: Client, submissions: Iterable[Submission]) -> None:
    """Raise NotFound for a LocalQueue that is not there; who may not see queues is let through."""
    for namespace, name in sorted({(one.namespace, one.queue) for one in submissions if one.is_new}):
        try:
            await hub.get(kueue.LocalQueue.resource, name, namespace)
        except errors.Forbidden:
            continue
        except errors.NotFound:
            found = await _queues(hub, namespace)
            raise errors.NotFound(
                f'there is no LocalQueue "{name}" in namespace {namespace}; there are: {found or "none"}'
            ) from None


async def _queues(hub: Client, namespace: str) -> str:
    try:
        page = await hub.list(kueue.LocalQueue.resource, namespace)
    except errors.ApiError:
        return "some, which you may not list"
    return ", ".join(sorted(raw["metadata"]["name"] for raw in page.items))


async def _resources(hub: Client, jobs: Iterable[Manifest]) -> Mapping[tuple[str, str], Resource]:
    """Find under which name each kind is served; raises NotFound where one is not."""
    found = {}
    for api_version, kind in dict.fromkeys((job["apiVersion"], job["kind"]) for job in jobs):
        plural = await hub.plural_of(api_version, kind)
        group, _, version = api_version.rpartition("/")
        if not plural:
            raise errors.NotFound(
                f"this hub serves no {kind} of {api_version}{await _served_instead(hub, group, kind)}"
            )
        found[api_version, kind] = Resource(group, version, kind, plural)
    return found


async def _served_instead(hub: Client, group: str, kind: str) -> str:
    known = QUEUED_KINDS.get(framework_of(group, kind))
    is_served = known is not None and await hub.serves(known)
    return f"; it serves {known.api_version}" if known is not None and is_served else ": is its operator installed?"


def _items(document: Any) -> list[Any]:
    is_list = isinstance(document, dict) and document.get("kind") == "List"
    return list(document.get("items") or ()) if is_list else [document]


def _checked(document: Any, origin: str) -> Manifest:
    if not isinstance(document, dict) or not document.get("apiVersion") or not document.get("kind"):
        raise CannotSubmit(f"an object in {origin} has no apiVersion and kind")
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        raise CannotSubmit(f"a {document['kind']} in {origin} has neither a name nor a generateName")
    return document


def _is_of_kubernetes(group: str) -> bool:
    """Tell whether a group is one of Kubernetes' own, in which no framework of others can be."""
    return "." not in group or (group.endswith(".k8s.io") and not group.endswith(".x-k8s.io"))
