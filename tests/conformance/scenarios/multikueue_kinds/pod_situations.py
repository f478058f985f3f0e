"""The situations of what Kubernetes runs itself, by its pods: single pods, groups of them, and sets that make them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.run_times import RUN_FOR

from ..kueue_integrations.form import KINDS, MAKERS  # noqa: TID252 - these objects are made of the same words
from ..world import Described  # noqa: TID252
from .situations import DRAINED, NO_WORKER, OPENED, PRIORITY_CLASS, made, on_one

NOTES = {RUN_FOR: "1000s"}
"""Pods run on: how they end is written by hand."""


@dataclass(frozen=True)
class Thing:
    """What is admitted as one."""

    what: str
    make: Callable[..., list[Manifest]]
    """Makes its objects, with more labels."""
    parts: tuple[str, ...]
    workload: str = "a"


def _made(word: str, name: str, said: Described) -> list[Manifest]:
    return [{"apiVersion": KINDS[word].resource.api_version, **one} for one in MAKERS[word](name, said)]


def _pod(labels: Manifest) -> list[Manifest]:
    return _made("pod", "a", {"labels": labels, "annotations": NOTES})


def _group(labels: Manifest, names: str = "ab") -> list[Manifest]:
    said = {"group": "g", "of": 2, "labels": labels, "annotations": NOTES}
    return [one for name in names for one in _made("pod", name, said)]


def _set(word: str, **more: Any) -> Callable[..., list[Manifest]]:
    def make(labels: Manifest) -> list[Manifest]:
        template = {"metadata": {"annotations": NOTES}}
        return _made(word, "a", {"replicas": 2, "labels": labels, "template": template, **more})

    return make


POD = Thing("Pod", _pod, ("pod a",))
GROUP = Thing("group of pods", _group, ("pod a", "pod b"), "g")
STATEFUL_SET = Thing("StatefulSet", _set("statefulset", spec={"podManagementPolicy": "Parallel"}), ("statefulset a",))
LEADER_WORKER_SET = Thing("LeaderWorkerSet", _set("leaderworkerset"), ("leaderworkerset a",))


KNOWN: dict[str, Described] = {
    "a Pod is deactivated": {
        "why": "a hub's pod that has lost its copy says again that it waits at the gate",
        "at": ["hub.pod.a.phase", "hub.pod.a.says"],
    },
    "a worker evicts a Pod and another takes it": {
        "why": "the hub sees that the worker evicts the copy; Kueue's hub looks a second later, when it has gone",
        "at": ["hub.events.Workload workload of a", "hub.workloads.workload of a.status.conditions.Evicted"],
    },
    "a pod of a group is deleted on its worker": {
        "why": "a pod of a group with a prebuilt Workload is let go when deleted, and sent anew; Kueue holds it",
        "at": [
            "cluster1.pod.b.is deleted",
            "cluster1.workloads.g.status.conditions.PodsReady",
            "hub.workloads.g.status.conditions.PodsReady",
        ],
    },
}
"""Where ours ends otherwise, by the scenario's name."""


def pods() -> Iterator[Described]:
    for each in _of_pods():
        yield {**each, "differs": KNOWN[each["name"]]} if each["name"] in KNOWN else each


def _of_pods() -> Iterator[Described]:
    yield from _life(POD)
    yield from _ends(POD)
    yield from _goes(GROUP)
    yield from _ends(GROUP)
    yield on_one("a group of pods that lacks one", made(*_group({}, names="a")))
    for where, client in (("the hub", "hub"), ("its worker", "cluster1")):
        gone = {"delete": [f"{client} pod b"], "wait": 6}
        yield on_one(f"a pod of a group is deleted on {where}", made(*_group({})), gone)


def sets() -> Iterator[Described]:
    """Return those of sets; without its operator, a LeaderWorkerSet has no pods whose end Kueue would wait for."""
    yield from _life(STATEFUL_SET)
    for name, count in (("grows", 3), ("shrinks", 1)):
        resized = {"patch": {"hub statefulset a": {"spec": {"replicas": count}}}, "wait": 6}
        yield on_one(f"a StatefulSet {name} while it runs", made(*STATEFUL_SET.make({})), resized)
    yield on_one("a StatefulSet that makes its pods one by one", made(*_set("statefulset")({})))
    yield from _goes(LEADER_WORKER_SET)
    yield _loses_its_copy(LEADER_WORKER_SET)


def _goes(thing: Thing) -> Iterator[Described]:
    """Return what does not take anything away from a worker."""
    what, step = thing.what, made(*thing.make({}))
    here = [f"hub {part}" for part in thing.parts]
    yield on_one(f"a {what} goes to the worker with quota", step)
    yield {"name": f"nobody has quota for a {what}", "quota": NO_WORKER, "steps": [step]}
    yield on_one(f"a {what} is deleted while it runs", step, {"delete": here, "wait": 6})
    raised = {"patch": {target: {"metadata": {"labels": {PRIORITY_CLASS: "@high"}}} for target in here}}
    low = made(*thing.make({PRIORITY_CLASS: "@low"}))
    of_class = on_one(f"a {what} gets another priority class while it runs", low, raised)
    yield {**of_class, "classes": {"low": 1, "high": 10}}


def _life(thing: Thing) -> Iterator[Described]:
    what, step = thing.what, made(*thing.make({}))
    yield from _goes(thing)
    inactive = {"patch": {f"hub workload {thing.workload}": {"spec": {"active": False}}}, "wait": 6}
    yield on_one(f"a {what} is deactivated", step, inactive)
    yield _loses_its_copy(thing)
    yield on_one(
        f"a worker evicts a {what} and another takes it",
        step,
        {"patch": {"cluster2 cq q": OPENED}},
        {"patch": {"cluster1 cq q": DRAINED}, "wait": 6},
    )


def _loses_its_copy(thing: Thing) -> Described:
    gone = {"delete": [f"cluster1 {part}" for part in thing.parts], "wait": 6}
    return on_one(f"the copy of a {thing.what} is deleted on its worker", made(*thing.make({})), gone)


def _ends(thing: Thing) -> Iterator[Described]:
    for name, phase in (("ends", "Succeeded"), ("fails", "Failed")):
        ended = [{"patch": {f"cluster1 {part}": {"status": {"phase": phase}}}} for part in thing.parts]
        yield on_one(f"a {thing.what} {name}", made(*thing.make({})), *ended)
