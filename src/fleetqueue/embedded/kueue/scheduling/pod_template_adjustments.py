"""What the cluster makes of a pod template before it is queued, and what is wrong with the result.

As in a real cluster: a RuntimeClass adds its overhead, a LimitRange its defaults, and a limit without a request is one.

Mirrors: Kueue pkg/workload/resources.go, pkg/util/limitrange
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from fleetqueue.api.pod_limits import LimitRange, LimitRangeItem
from fleetqueue.api.pod_templates import Container, PodSet, PodSpec, Resources
from fleetqueue.api.quantity import Amounts, Quantity
from fleetqueue.embedded.kueue.scheduling.amounts import amount

ABOVE_LIMIT = "requests must not exceed its limits"
ABOVE_MAX = "requests must not be above the limitRange max"
BELOW_MIN = "requests must not be below the limitRange min"

Listed = Mapping[str, Quantity]
Summary = Mapping[str, LimitRangeItem]
"""What all LimitRanges of a namespace say together, by type."""


def summary(ranges: Iterable[LimitRange]) -> Summary:
    """Keep the lowest maximum, the highest minimum, and the default that comes first."""
    found: dict[str, LimitRangeItem] = {}
    for item in (item for each in ranges for item in each.spec.limits):
        known = found.get(item.type, LimitRangeItem(type=item.type))
        found[item.type] = LimitRangeItem(
            type=item.type,
            max=_merged(known.max, item.max, keep=min),
            min=_merged(known.min, item.min, keep=max),
            default={**item.default, **known.default},
            default_request={**item.default_request, **known.default_request},
        )
    return found


def adjusted(pod_set: PodSet, limits: Summary, overheads: Mapping[str, Listed]) -> PodSet:
    """Return a pod set as its pods will come to be."""
    spec = pod_set.template.spec
    if not spec.overhead and spec.runtime_class_name in overheads:
        spec = msgspec.structs.replace(spec, overhead=dict(overheads[spec.runtime_class_name]))
    of_containers, of_pods = limits.get("Container", LimitRangeItem()), limits.get("Pod", LimitRangeItem())
    whole = None if spec.resources is None else _filled(spec.resources, of_pods)
    spec = msgspec.structs.replace(
        spec,
        containers=_filled_all(spec.containers, of_containers),
        init_containers=_filled_all(spec.init_containers, of_containers),
        resources=whole,
    )
    return msgspec.structs.replace(pod_set, template=msgspec.structs.replace(pod_set.template, spec=spec))


def refusal(pod_sets: Sequence[PodSet], limits: Summary) -> str:
    """Say what is wrong with the requests of a Workload; nothing if all is well."""
    if found := [each for number, one in enumerate(pod_sets) for each in _above_limits(one.template.spec, number)]:
        return f"resources validation failed: {_aggregate(found)}"
    if found := [each for number, one in enumerate(pod_sets) for each in _off_range(one.template.spec, number, limits)]:
        return f"resources didn't satisfy LimitRange constraints: {_aggregate(found)}"
    return ""


def _filled_all(containers: Iterable[Container], item: LimitRangeItem) -> tuple[Container, ...]:
    return tuple(msgspec.structs.replace(one, resources=_filled(one.resources, item)) for one in containers)


def _filled(resources: Resources, item: LimitRangeItem) -> Resources:
    limits = {**item.default, **resources.limits}
    return Resources(limits=limits, requests={**limits, **item.default_request, **resources.requests})


def _merged(one: Listed, other: Listed, *, keep: object) -> dict[str, Quantity]:
    merged = {**one, **other}
    for name in one.keys() & other.keys():
        is_less = amount(name, one[name]) < amount(name, other[name])
        merged[name] = one[name] if is_less == (keep is min) else other[name]
    return merged


def _above_limits(spec: PodSpec, number: int) -> Iterator[str]:
    for path, resources in _parts(spec, number):
        if names := _greater(resources.requests, resources.limits):
            yield _invalid(path, names, ABOVE_LIMIT)


def _off_range(spec: PodSpec, number: int, limits: Summary) -> Iterator[str]:
    for path, resources in _parts(spec, number, with_whole=False):
        least = _merged(resources.requests, resources.limits, keep=min)
        most = _merged(resources.requests, resources.limits, keep=max)
        yield from _out_of(limits.get("Container", LimitRangeItem()), path, least, most)
    if "Pod" in limits:
        total = _plain(spec.needs())
        yield from _out_of(limits["Pod"], _path(number), total, total)


def _out_of(item: LimitRangeItem, path: str, least: Listed, most: Listed) -> Iterator[str]:
    if names := _greater(most, item.max):
        yield _invalid(path, names, ABOVE_MAX)
    if names := _greater(item.min, least):
        yield _invalid(path, names, BELOW_MIN)


def _parts(spec: PodSpec, number: int, *, with_whole: bool = True) -> Iterator[tuple[str, Resources]]:
    for field, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for index, container in enumerate(containers):
            yield f"{_path(number)}.{field}[{index}]", container.resources
    if with_whole and spec.resources is not None:
        yield f"{_path(number)}.resources", spec.resources


def _path(number: int) -> str:
    return f"spec.podSets[{number}].template.spec"


def _greater(some: Listed, than: Listed) -> list[str]:
    return sorted(name for name in some.keys() & than.keys() if amount(name, some[name]) > amount(name, than[name]))


def _plain(needs: Amounts) -> dict[str, Quantity]:
    return {name: str(value) for name, value in needs.items()}


def _invalid(path: str, names: Sequence[str], why: str) -> str:
    return f"{path}: Invalid value: {json.dumps(names, separators=(',', ':'))}: {why}"


def _aggregate(found: Sequence[str]) -> str:
    """Return several refusals as Go joins them."""
    told = [*dict.fromkeys(found)]
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]"
