"""Scenarios of fair sharing that chance wrote: trees of queues with any weights, one that takes all, and a crowd.

Each Workload arrives in a round of its own, so that the order is the same on both sides. Few victims give their quota
back in a round: where several do, Kueue itself ends now one way and now another.
"""

import random

from ..world import Described  # noqa: TID252 - what the rooms share stands above them

NUMBER = 24
ARRIVALS = 6
STRATEGIES = ("both", "both", "final", "initial")


def generated() -> list[Described]:
    return [_scenario(seed) for seed in range(NUMBER)]


def _scenario(seed: int) -> Described:
    chance = random.Random(seed)
    flavors = ["default"] if chance.random() < 0.7 else ["one", "two"]
    cohorts, places = _tree(chance)
    queues = {name: _queue(chance, flavors, chance.choice(places)) for name in "qrst"[: chance.randint(3, 4)]}
    queues["z"] = {"cohort": places[-1], "quota": {name: {"cpu": chance.randint(6, 10)} for name in flavors}}
    names = [f"w{number}" for number in range(ARRIVALS)]
    waits = chance.random() < 0.5
    room = sum(said["cpu"] for queue in queues.values() for said in _plain(queue["quota"]))
    first = [{"all": {"queue": "z", "cpu": 1, "count": room, "minCount": 1, "priority": 100}}] if waits else []
    return {
        "name": f"by chance {seed}",
        "configuration": chance.choice(STRATEGIES),
        "flavors": {name: {} for name in flavors},
        "cohorts": cohorts,
        "queues": queues,
        "arrive": [*first, *({name: _workload(chance, [*queues][:-1])} for name in names)],
        "then": [
            *([{"finish": ["all"]}] if waits else ()),
            *({"release": names[at : at + 2]} for at in range(0, ARRIVALS, 2)),
        ],
    }


def _plain(quota: Described) -> list[Described]:
    return [
        {"cpu": each["cpu"]["nominal"] if isinstance(each["cpu"], dict) else each["cpu"]} for each in quota.values()
    ]


def _tree(chance: random.Random) -> tuple[Described, list[str]]:
    """Return cohorts and where queues may stand: in one cohort, or in branches of one."""
    if chance.random() < 0.5:
        return {}, ["c"]
    cohorts: Described = {name: {"parent": "trunk"} for name in ("left", "right")}
    for said in cohorts.values():
        if chance.random() < 0.5:
            said["weight"] = _weight(chance)
    return cohorts, ["left", "right", "trunk"]


def _weight(chance: random.Random) -> str:
    return chance.choice(["0", "0.5", "2", "3", "10"])


def _queue(chance: random.Random, flavors: list[str], cohort: str) -> Described:
    said: Described = {"cohort": cohort, "quota": {name: {"cpu": _cpus(chance)} for name in flavors}}
    if chance.random() < 0.5:
        said["weight"] = _weight(chance)
    if chance.random() < 0.2:
        said["strategy"] = "StrictFIFO"
    if chance.random() < 0.7:
        said["preemption"] = {
            "withinClusterQueue": chance.choice(["Never", "LowerPriority"]),
            "reclaimWithinCohort": chance.choice(["Never", "LowerPriority", "Any", "Any"]),
        }
    return said


def _cpus(chance: random.Random) -> Described:
    said: Described = {"nominal": chance.randint(0, 3)}
    if chance.random() < 0.2:
        said["borrow"] = chance.randint(1, 4)
    if chance.random() < 0.2:
        said["lend"] = chance.randint(0, said["nominal"])
    return said


def _workload(chance: random.Random, queues: list[str]) -> Described:
    return {"queue": chance.choice(queues), "cpu": chance.randint(1, 4), "priority": 10 * chance.randint(0, 2)}
