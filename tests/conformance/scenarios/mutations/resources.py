"""Rules of what counts of the requests of pods."""

from dataclasses import replace
from typing import Any

from fleetqueue.api.quantity import Amounts
from fleetqueue.embedded.kueue.scheduling import counted_resources, pod_template_adjustments
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.settings import ResourceTransformation

from .mutation import Mutation, always, first

counted = counted_resources.counted
outputs = counted_resources._outputs


def _without_times(name: str, requests: Amounts, transformation: ResourceTransformation) -> Amounts:
    return outputs(name, requests, replace(transformation, multiply_by=""))


def _times_nothing(name: str, requests: Amounts, transformation: ResourceTransformation) -> Amounts:
    is_asked = transformation.multiply_by in ("", *requests)
    return outputs(name, requests, transformation) if is_asked else {}


def _never_less(name: str, requests: Amounts, transformation: ResourceTransformation) -> Amounts:
    return {output: abs(value) for output, value in outputs(name, requests, transformation).items()}


def _of_the_last(some: Any) -> Any:
    """Take from several amounts only the last of each resource."""
    return {name: value for amounts in some for name, value in amounts.items()}


MUTATIONS = (
    Mutation(
        "what is left out does not count",
        counted_resources,
        "counted",
        lambda requests, settings: counted(requests, replace(settings, excluded_prefixes=())),
        ("what is left out needs no quota",),
    ),
    Mutation(
        "resources stand for others",
        counted_resources,
        "counted",
        lambda requests, settings: counted(requests, replace(settings, transformations={})),
        (
            "a resource is replaced by others",
            "two resources stand for one, and there is not enough of it",
            "what is made of a resource is added to what is asked for",
            "a resource that is kept needs quota, too",
            "a resource counts * asked for",
            "one resource takes something off what another is made into",
            "a resource that becomes nothing needs no quota",
        ),
    ),
    Mutation(
        "what is made of several resources is added up",
        counted_resources,
        "add",
        _of_the_last,
        (
            "two resources stand for one, and there is not enough of it",
            "what is made of a resource is added to what is asked for",
        ),
    ),
    Mutation(
        "what is not replaced is kept",
        counted_resources,
        "_is_retained",
        lambda name, transformations: name not in transformations,
        ("a resource that is kept needs quota, too",),
    ),
    Mutation(
        "a resource may count as many times as another is asked for",
        counted_resources,
        "_outputs",
        _without_times,
        ("a resource counts as many times as another is asked for",),
    ),
    Mutation(
        "a resource counts once where the other is not asked for",
        counted_resources,
        "_outputs",
        _times_nothing,
        ("a resource counts once where the other is not asked for",),
    ),
    Mutation(
        "one resource takes something off another",
        counted_resources,
        "_outputs",
        _never_less,
        ("one resource takes something off what another is made into",),
    ),
    Mutation(
        "what has no quota may be left alone",
        Cache,
        "ignores_undeclared",
        property(always(False)),
        ("what has no quota is not looked at", "a pod set asks only for what has no quota"),
    ),
    Mutation(
        "a cluster adds to pods before they are counted",
        pod_template_adjustments,
        "adjusted",
        first,
        (
            "a RuntimeClass adds its overhead",
            "a RuntimeClass that comes later counts for who waits",
            "init containers and sidecars get defaults",
            "what is the most of an init container is its default",
        ),
    ),
    Mutation(
        "requests must fit limits and ranges",
        pod_template_adjustments,
        "refusal",
        always(""),
        (
            "pods as a whole have requests and limits",
            "a limit range of whole pods counts overheads and sidecars",
            "a limit range that goes lets who waits come",
        ),
    ),
)
