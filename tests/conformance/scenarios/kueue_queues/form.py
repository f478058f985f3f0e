"""The YAML form of a queue scenario, and the objects that it stands for.

    name: the second waits until the first has finished
    differs: {why: _, at: [_]}                      # where ours is known to end otherwise; checked to be still so
    flavors: {default: {nodeLabels: {...}}}         # by default one: `default`, without anything
    checks: {slow: {active: false}}                 # AdmissionChecks; active by default
    cohorts: {trunk: {parent: top, quota: {default: {cpu: 4}}}}
    queues:                                         # each has a LocalQueue of its name in the scenario's namespace
      q: {cohort: trunk, quota: {default: {cpu: 4, gpu: {nominal: 2, borrow: 1, lend: 1}}}, preemption: {...}}
      r: {groups: [{default: {cpu: 4}}, {fast: {gpu: 1}}], checks: [slow], strategy: StrictFIFO, stop: Hold}
      s: {weight: 2, mode: UsageBasedAdmissionFairSharing, quota: {default: {cpu: 4}}}   # or of a cohort
    limits: {small: [{type: Container, max: {cpu: 1}}]}   # LimitRanges
    runtimes: {slow: {cpu: 500m}}                   # RuntimeClasses: their overheads
    local: {q: {stop: Hold}, more: {queue: q, weight: 2}} # what is said of LocalQueues
    labels: {team: a}                               # of the namespace
    arrive:                                         # Workloads: one round for each of these
      - a: {queue: q, cpu: 1, count: 2, minCount: 1, priority: 10, template: {nodeSelector: {...}}}
      - {b: {cpu: 1}, c: {sets: {driver: {cpu: 1}, worker: {cpu: 1, count: 3}}}}
    then:                                           # rounds of changes; null deletes
      - finish: [a]                                 # if it runs
      - release: [b]                                # an evicted one gives its quota back, as its job would do
      - release: all                                # all who are evicted
      - queues: {q: {quota: {default: {cpu: 8}}}}
      - wait: 3

Every name gets the prefix of its scenario; it is cut off what comes out.
"""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.pod_limits import LimitRange, RuntimeClass
from fleetqueue.api.scheme import Manifest

from ..running import Objects, changes, keyed, merged  # noqa: TID252 - what the rooms share stands above them
from ..world import Described  # noqa: TID252
from .doing import Step

KINDS = ("flavors", "checks", "cohorts", "queues", "limits", "runtimes", "local", "labels", "workloads")
SAID = ("queue", "count", "minCount", "priority", "template", "limits", "sets", "active")
"""What is said of a Workload that is no request."""
GPU = "nvidia.com/gpu"


def steps(described: Described, prefix: str, make: "type[Maker] | None" = None) -> Iterator[Step]:
    """Return the rounds of one scenario, of objects that a maker makes."""
    make = make or Maker
    state = {**make.at_first, **{kind: described[kind] for kind in make.kinds if kind in described}}
    objects: Objects = {}
    rounds = [{}, *({"workloads": some} for some in described.get("arrive", ())), *described.get("then", ())]
    for each in rounds:
        state = merged(state, {kind: each[kind] for kind in make.kinds if kind in each})
        objects, before = make(prefix, state).objects(), objects
        yield Step(
            changes(before, objects),
            finish=[prefix + name for name in each.get("finish", ())],
            release=None if (some := each.get("release", ())) == "all" else [prefix + name for name in some],
            wait=each.get("wait", 0.0),
        )


def namespace(prefix: str) -> str:
    return f"{prefix}ns"


class Maker:
    """Makes the objects of one scenario."""

    kinds: ClassVar = KINDS
    at_first: ClassVar[Described] = {"flavors": {"default": {}}, "workloads": {}}

    def __init__(self, prefix: str, state: Described) -> None:
        self.prefix = prefix
        self.state = state

    def objects(self) -> Objects:
        made = [self._namespace(), *self._flavors(), *self._checks(), *self._cohorts(), *self._queues()]
        made += [*self._limits(), *self._runtimes(), *self._local_queues(), *self._workloads()]
        return keyed([*made, *self.further()])

    def further(self) -> Iterable[tuple[Any, Manifest]]:
        """Return what only some rooms have."""
        return ()

    def _namespace(self) -> tuple[Any, Manifest]:
        return Namespace, Namespace.manifest(namespace(self.prefix), labels=self.state.get("labels"))

    def _flavors(self) -> Iterator[tuple[Any, Manifest]]:
        for name, spec in self.state["flavors"].items():
            yield kueue.ResourceFlavor, kueue.ResourceFlavor.manifest(self.prefix + name, spec=spec)

    def _checks(self) -> Iterator[tuple[Any, Manifest]]:
        for name, said in self.state.get("checks", {}).items():
            condition = {
                "type": "Active",
                "status": str(said.get("active", True)),
                "reason": "ByTest",
                "message": "by test",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            spec = {"controllerName": said.get("controller", "example.com/by-test")}
            status = {"conditions": [condition]}
            yield (
                kueue.AdmissionCheck,
                kueue.AdmissionCheck.manifest(self.prefix + name, spec=spec, status=status),
            )

    def _cohorts(self) -> Iterator[tuple[Any, Manifest]]:
        for name, said in self.state.get("cohorts", {}).items():
            spec: Manifest = {"parentName": self.prefix + said["parent"]} if "parent" in said else {}
            if groups := self._groups(said):
                spec["resourceGroups"] = groups
            spec |= _weight(said)
            yield kueue.Cohort, kueue.Cohort.manifest(self.prefix + name, spec=spec)

    def _queues(self) -> Iterator[tuple[Any, Manifest]]:
        for name, said in self.state.get("queues", {}).items():
            spec: Manifest = {"namespaceSelector": said.get("selector", {}), "resourceGroups": self._groups(said)}
            names = {"strategy": "queueingStrategy", "stop": "stopPolicy", "fungibility": "flavorFungibility"}
            spec |= {field: said[word] for word, field in names.items() if word in said}
            spec |= _weight(said)
            if "mode" in said:
                spec["admissionScope"] = {"admissionMode": said["mode"]}
            if "cohort" in said:
                spec["cohortName"] = self.prefix + said["cohort"]
            if "preemption" in said:
                spec["preemption"] = said["preemption"]
            if "checks" in said:
                spec["admissionChecksStrategy"] = {"admissionChecks": [self._check(each) for each in said["checks"]]}
            yield kueue.ClusterQueue, kueue.ClusterQueue.manifest(self.prefix + name, spec=spec)

    def _check(self, said: Any) -> Manifest:
        if isinstance(said, str):
            return {"name": self.prefix + said}
        return {"name": self.prefix + said["name"], "onFlavors": [self.prefix + each for each in said["flavors"]]}

    def _groups(self, said: Described) -> list[Manifest]:
        groups = said.get("groups", [said["quota"]] if "quota" in said else [])
        return [self._group(flavors) for flavors in groups]

    def _group(self, flavors: Described) -> Manifest:
        covered = [_resource(name) for name in next(iter(flavors.values()))]
        return {
            "coveredResources": covered,
            "flavors": [
                {"name": self.prefix + name, "resources": [_quota(*each) for each in quota.items()]}
                for name, quota in flavors.items()
            ],
        }

    def _limits(self) -> Iterator[tuple[Any, Manifest]]:
        for name, items in self.state.get("limits", {}).items():
            yield LimitRange, LimitRange.manifest(self.prefix + name, namespace(self.prefix), spec={"limits": items})

    def _runtimes(self) -> Iterator[tuple[Any, Manifest]]:
        for name, overhead in self.state.get("runtimes", {}).items():
            said = {"handler": "by-test", "overhead": {"podFixed": overhead}}
            yield RuntimeClass, {**RuntimeClass.manifest(self.prefix + name), **said}

    def _local_queues(self) -> Iterator[tuple[Any, Manifest]]:
        said = self.state.get("local", {})
        for name in {**self.state.get("queues", {}), **said}:
            own = said.get(name, {})
            spec = {"clusterQueue": self.prefix + own.get("queue", name), "stopPolicy": own.get("stop", "None")}
            spec |= _weight(own)
            if not own.get("missing"):
                yield (
                    kueue.LocalQueue,
                    kueue.LocalQueue.manifest(self.prefix + name, namespace(self.prefix), spec=spec),
                )

    def _workloads(self) -> Iterator[tuple[Any, Manifest]]:
        for name, said in self.state["workloads"].items():
            sets = said.get("sets", {"main": {k: v for k, v in said.items() if k not in ("queue", "priority")}})
            queue = said.get("queue", next(iter(self.state.get("queues", {"q": {}}))))
            spec = {
                "queueName": self.prefix + queue,
                "active": said.get("active", True),
                "podSets": [self._pod_set(set_name, each) for set_name, each in sets.items()],
            }
            if "priority" in said:
                spec["priority"] = said["priority"]
            manifest = kueue.Workload.manifest(self.prefix + name, namespace(self.prefix), spec=spec)
            yield kueue.Workload, manifest

    def _pod_set(self, name: str, said: Described) -> Manifest:
        requests = {_resource(key): str(value) for key, value in said.items() if key not in SAID}
        resources: Manifest = {"requests": requests}
        if "limits" in said:
            resources["limits"] = {_resource(key): str(value) for key, value in said["limits"].items()}
        spec = {
            "containers": [{"name": "c", "image": "i", "resources": resources}],
            "restartPolicy": "Never",
            **said.get("template", {}),
        }
        if "runtimeClassName" in spec:
            spec["runtimeClassName"] = self.prefix + spec["runtimeClassName"]
        sized = {field: said[field] for field in ("minCount",) if field in said}
        return {"name": name, "count": said.get("count", 1), **sized, "template": {"spec": spec}}


def _resource(name: str) -> str:
    return GPU if name == "gpu" else name


def _quota(name: str, said: Any) -> Manifest:
    if not isinstance(said, dict):
        return {"name": _resource(name), "nominalQuota": str(said)}
    limits = {"borrow": "borrowingLimit", "lend": "lendingLimit"}
    quota = {"name": _resource(name), "nominalQuota": str(said["nominal"])}
    return quota | {field: str(said[word]) for word, field in limits.items() if word in said}


def _weight(said: Described) -> Manifest:
    return {"fairSharing": {"weight": str(said["weight"])}} if "weight" in said else {}
