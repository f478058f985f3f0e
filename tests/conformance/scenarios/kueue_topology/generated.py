"""Topology scenarios that chance wrote: trees of nodes of any size, Workloads that ask for any level, nodes that fail.

The seeds were fixed before there was an implementation. Each Workload arrives in a round of its own, so that the order
is the same on both sides.
"""

import random

from ..world import Described  # noqa: TID252 - what the rooms share stands above them

NUMBER = 44
ARRIVALS = 5
TAINT = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
TOLERATION = {"key": "dedicated", "operator": "Exists"}


def generated() -> list[Described]:
    return [_scenario(seed) for seed in range(NUMBER)]


def _scenario(seed: int) -> Described:
    chance = random.Random(seed)
    levels = chance.choice([["block", "rack", "host"]] * 4 + [["rack", "host"], ["block", "rack"]])
    nodes = _nodes(chance, levels)
    preempts = chance.random() < 0.4
    names = [f"w{number}" for number in range(ARRIVALS)]
    workloads = {name: _workload(chance, levels, preempts=preempts) for name in names}
    quota = {"cpu": chance.choice([12, 100, 100]), "memory": "1000Gi"}
    return {
        "name": f"by chance {seed}",
        "levels": levels,
        "nodes": nodes,
        "pods": _pods(chance, nodes),
        "queues": {
            "q": {
                "quota": {"default": quota},
                **({"preemption": {"withinClusterQueue": "LowerPriority"}} if preempts else {}),
            }
        },
        "arrive": [{name: said} for name, said in workloads.items()],
        "then": [
            {"release": "all"},
            {"nodes": {chance.choice([*nodes]): chance.choice([{"ready": False}, {"cordoned": True}, None])}},
            {"release": "all"},
            {"finish": [chance.choice(names)]},
        ],
    }


def _nodes(chance: random.Random, levels: list[str]) -> Described:
    """Return a tree of nodes: some larger than others, some tainted, some that cannot be used now."""
    nodes: Described = {}
    for block in range(1, chance.randint(1, 3) + 1):
        for rack in range(1, chance.randint(1, 3) + 1):
            for _ in range(chance.randint(1, 3)):
                place = f"b{block}/r{block}{rack}" if "block" in levels else f"r{block}{rack}"
                nodes[f"x{len(nodes) + 1}"] = {"at": place, **_node(chance)}
    return nodes


def _node(chance: random.Random) -> Described:
    said: Described = {"cpu": chance.choice([2, 4, 4, 4, 6, 8])}
    if chance.random() < 0.2:
        said["memory"] = "2Gi"
    if chance.random() < 0.15:
        said["pods"] = chance.randint(1, 3)
    if chance.random() < 0.15:
        said["taints"] = [TAINT]
    if chance.random() < 0.15:
        said["labels"] = {"disk": "ssd"}
    if chance.random() < 0.1:
        said |= chance.choice([{"ready": False}, {"cordoned": True}])
    return said


def _pods(chance: random.Random, nodes: Described) -> Described:
    """Return what others run there, which leaves less on some nodes."""
    return {f"p-{name}": {"node": name, "cpu": chance.randint(1, 2)} for name in nodes if chance.random() < 0.2}


def _workload(chance: random.Random, levels: list[str], *, preempts: bool) -> Described:
    said: Described = {"cpu": chance.randint(1, 3), "memory": chance.choice(["256Mi", "256Mi", "1Gi"])}
    said["count"] = chance.randint(1, 8)
    form = chance.choice(["required", "required", "preferred", "preferred", "unconstrained", "implied", "slices"])
    if form in ("required", "preferred"):
        said[form] = chance.choice(levels)
    elif form == "unconstrained":
        said["unconstrained"] = True
    elif form == "slices":
        said |= _slices(chance, levels)
    if preempts:
        said["priority"] = 10 * chance.randint(0, 3)
    template: Described = {}
    if chance.random() < 0.4:
        template["tolerations"] = [TOLERATION]
    if chance.random() < 0.1:
        template["nodeSelector"] = {"disk": "ssd"}
    return {**said, **({"template": template} if template else {})}


def _slices(chance: random.Random, levels: list[str]) -> Described:
    """Return slices at a level, sometimes of slices below it, in a domain of some level above."""
    upper = chance.randrange(len(levels) - 1)
    inner = chance.randint(1, 2)
    size = inner * chance.randint(1, 3)
    slices = {levels[upper + 1]: size}
    if upper + 2 < len(levels) and inner > 1:
        slices[levels[upper + 2]] = inner
    said: Described = {"cpu": 1, "count": size * chance.randint(1, 3), "slices": slices}
    if chance.random() < 0.7:
        said[chance.choice(["required", "preferred"])] = levels[upper]
    return said
