"""Queue scenarios that chance wrote: trees of queues with any rules, Workloads of any size and priority.

Each Workload arrives in a round of its own, so that the order is the same on both sides.
"""

import random

from ..world import Described  # noqa: TID252 - what the rooms share stands above them

NUMBER = 40
ARRIVALS = 6
LEFT_OUT = (32,)
"""Where several victims give their quota back at once, Kueue itself ends now one way and now another."""
DIFFERENT = {24: ("w2",), 34: ("w2", "w3")}
"""Whose reason to wait is older than Kueue's, by the seed."""
NEWER = (
    "Where a Cohort object stands above, Kueue tries all that wait again whenever a ClusterQueue's status changes; "
    "so what they say is newer. Ours tries them when there may be more to be had."
)


def generated() -> list[Described]:
    return [_scenario(seed) for seed in range(NUMBER) if seed not in LEFT_OUT]


def _scenario(seed: int) -> Described:
    chance = random.Random(seed)
    flavors = ["default"] if chance.random() < 0.6 else ["one", "two"]
    cohorts, places = _tree(chance, flavors)
    queues = {name: _queue(chance, flavors, chance.choice(places)) for name in "qrs"[: chance.randint(2, 3)]}
    names = [f"w{number}" for number in range(ARRIVALS)]
    return {
        "name": f"by chance {seed}",
        **({"differs": _older(DIFFERENT[seed])} if seed in DIFFERENT else {}),
        "flavors": {name: {} for name in flavors},
        "cohorts": cohorts,
        "queues": queues,
        "arrive": [{name: _workload(chance, [*queues])} for name in names],
        "then": [{"release": "all"}, {"finish": [chance.choice(names)]}, {"release": "all"}],
    }


def _older(workloads: tuple[str, ...]) -> Described:
    return {"why": NEWER, "at": [f"workloads.{name}.status.conditions.QuotaReserved" for name in workloads]}


def _tree(chance: random.Random, flavors: list[str]) -> tuple[Described, list[str]]:
    """Return cohorts and where queues may stand: alone, in one cohort, or in branches of one."""
    form = chance.choice(["alone", "flat", "flat", "branches", "branches"])
    if form == "alone":
        return {}, [""]
    if form == "flat":
        return {}, ["c"]
    cohorts: Described = {name: {"parent": "trunk"} for name in ("left", "right")}
    for said in cohorts.values():
        if chance.random() < 0.4:
            said["quota"] = _quota(chance, flavors, least=0, has_parent=True)
    if chance.random() < 0.4:
        cohorts["trunk"] = {"quota": _quota(chance, flavors, least=0, has_parent=False)}
    return cohorts, ["left", "right", "trunk"]


def _queue(chance: random.Random, flavors: list[str], cohort: str) -> Described:
    said: Described = {"quota": _quota(chance, flavors, least=1, has_parent=bool(cohort))}
    if cohort:
        said["cohort"] = cohort
    if chance.random() < 0.25:
        said["strategy"] = "StrictFIFO"
    if chance.random() < 0.7:
        said["preemption"] = _preemption(chance)
    if len(flavors) > 1 and chance.random() < 0.6:
        words = ("MayStopSearch", "TryNextFlavor")
        said["fungibility"] = {"whenCanBorrow": chance.choice(words), "whenCanPreempt": chance.choice(words)}
    return said


def _quota(chance: random.Random, flavors: list[str], *, least: int, has_parent: bool) -> Described:
    return {name: {"cpu": _cpus(chance, least=least, has_parent=has_parent)} for name in flavors}


def _cpus(chance: random.Random, *, least: int, has_parent: bool) -> Described:
    said: Described = {"nominal": chance.randint(least, 5)}
    if has_parent and chance.random() < 0.3:
        said["borrow"] = chance.randint(0, 3)
    if has_parent and chance.random() < 0.3:
        said["lend"] = chance.randint(0, said["nominal"])
    return said


def _preemption(chance: random.Random) -> Described:
    said: Described = {
        "withinClusterQueue": chance.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
        "reclaimWithinCohort": chance.choice(["Never", "LowerPriority", "Any"]),
    }
    if said["reclaimWithinCohort"] != "Never" and chance.random() < 0.4:
        said["borrowWithinCohort"] = {"policy": "LowerPriority"}
        if chance.random() < 0.5:
            said["borrowWithinCohort"]["maxPriorityThreshold"] = chance.choice([0, 10])
    return said


def _workload(chance: random.Random, queues: list[str]) -> Described:
    said: Described = {
        "queue": chance.choice(queues),
        "cpu": chance.randint(1, 5),
        "priority": 10 * chance.randint(0, 3),
    }
    if chance.random() < 0.2:
        said |= {"cpu": 1, "count": chance.randint(2, 6), "minCount": 1}
    return said
