"""What the cluster makes of a pod template before it is queued, and what is wrong with the result.

As in a real cluster: a RuntimeClass adds its overhead, a LimitRange its defaults, and a limit without a request is one.

Mirrors: Kueue pkg/workload/resources.go, pkg/util/limitrange
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from fleetqueue.api.core_v1 import Container, PodSpec, ResourceRequirements
from fleetqueue.api.pod_limits import LimitRange, LimitRangeItem
from fleetqueue.api.pod_templates import PodSet
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
    by_type: dict[str, LimitRangeItem] = {}
    for item in (item for limit_range in ranges for item in limit_range.spec.limits):
        known = by_type.get(item.type, LimitRangeItem(type=item.type))
        by_type[item.type] = LimitRangeItem(
            type=item.type,
            max=_merged(known.max, item.max, keep=min),
            min=_merged(known.min, item.min, keep=max),
            default={**item.default, **known.default},
            default_request={**item.default_request, **known.default_request},
        )
    return by_type


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
    if problems := [
        problem for number, one in enumerate(pod_sets) for problem in _above_limits(one.template.spec, number)
    ]:
        return f"resources validation failed: {_aggregate(problems)}"
    if problems := [
        problem for number, one in enumerate(pod_sets) for problem in _off_range(one.template.spec, number, limits)
    ]:
        return f"resources didn't satisfy LimitRange constraints: {_aggregate(problems)}"
    return ""


def _filled_all(containers: Iterable[Container], item: LimitRangeItem) -> tuple[Container, ...]:
    return tuple(msgspec.structs.replace(one, resources=_filled(one.resources, item)) for one in containers)


def _filled(resources: ResourceRequirements, item: LimitRangeItem) -> ResourceRequirements:
    limits = {**item.default, **resources.limits}
    return ResourceRequirements(limits=limits, requests={**limits, **item.default_request, **resources.requests})


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
        total = _plain(spec.requests())
        yield from _out_of(limits["Pod"], _path(number), total, total)


def _out_of(item: LimitRangeItem, path: str, least: Listed, most: Listed) -> Iterator[str]:
    if names := _greater(most, item.max):
        yield _invalid(path, names, ABOVE_MAX)
    if names := _greater(item.min, least):
        yield _invalid(path, names, BELOW_MIN)


def _parts(spec: PodSpec, number: int, *, with_whole: bool = True) -> Iterator[tuple[str, ResourceRequirements]]:
    for field, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for index, container in enumerate(containers):
            yield f"{_path(number)}.{field}[{index}]", container.resources
    if with_whole and spec.resources is not None:
        yield f"{_path(number)}.resources", spec.resources


def _path(number: int) -> str:
    return f"spec.podSets[{number}].template.spec"


def _greater(quantities: Listed, than: Listed) -> list[str]:
    return sorted(
        name for name in quantities.keys() & than.keys() if amount(name, quantities[name]) > amount(name, than[name])
    )


def _plain(needs: Amounts) -> dict[str, Quantity]:
    return {name: str(value) for name, value in needs.items()}


def _invalid(path: str, names: Sequence[str], why: str) -> str:
    return f"{path}: Invalid value: {json.dumps(names, separators=(',', ':'))}: {why}"


def _aggregate(problems: Sequence[str]) -> str:
    """Return several refusals as Go joins them."""
    unique_problems = [*dict.fromkeys(problems)]
    return unique_problems[0] if len(unique_problems) == 1 else f"[{', '.join(unique_problems)}]"
