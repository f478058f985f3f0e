"""Scenarios that nobody thought of: drawn from a seed, so that they are the same in every run.

What is left out is what the real controller decides by chance or what never ends: a negative weight of Steady, scores
that expire just now, two add-on scores of which both have expired.
"""

import random

from ..world import Described  # noqa: TID252 - what the rooms share stands above them

NUMBER = 64
LABELS = {"region": ("eu", "us", "asia"), "gpu": ("t4", "a100"), "tier": ("1", "2", "3")}
CLAIMS = {"zone": ("one", "two"), "platform.example.io": ("AWS", "GCP", "None")}
KEYS = ("gpu", "maintenance", "cluster.example.io/old")
EFFECTS = ("NoSelect", "PreferNoSelect", "NoSelectIfNew")
BUILT_IN = ("Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory")


def generated() -> list[Described]:
    return [Drawer(random.Random(seed)).scenario(f"generated {seed}") for seed in range(NUMBER)]


class Drawer:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.may_expire = chance.random() < 0.3

    def scenario(self, name: str) -> Described:
        names = [f"c{number}" for number in range(1, self.chance.randint(3, 9))]
        return {
            "name": name,
            "clusters": {each: self.cluster() for each in names},
            "placements": {"p": self.placement(len(names))},
            "steps": [self.step(names) for _ in range(self.chance.choice((0, 1, 1, 2, 3)))],
        }

    def cluster(self) -> Described:
        drawn: Described = {"labels": self.some(LABELS), "claims": self.some(CLAIMS)}
        if self.maybe(0.3):
            drawn["taints"] = [self.taint() for _ in range(self.chance.randint(1, 2))]
        if self.maybe(0.7):
            drawn["allocatable"] = self.amounts()
        if self.maybe(0.2):
            drawn["capacity"] = {"cpu": "64"}
        if self.maybe(0.7):
            drawn["scores"] = {"usage": self.scores()}
        return drawn

    def some(self, pool: dict[str, tuple[str, ...]]) -> dict[str, str]:
        return {key: self.chance.choice(values) for key, values in pool.items() if self.maybe(0.7)}

    def taint(self) -> Described:
        drawn = {"key": self.chance.choice(KEYS), "effect": self.chance.choice(EFFECTS)}
        if self.maybe(0.5):
            drawn["value"] = self.chance.choice(("a", "b"))
        if self.maybe(0.7):
            drawn["timeAdded"] = "-1m"
        return drawn

    def amounts(self) -> Described:
        cpus = (f"{self.chance.randint(1, 64)}", f"{self.chance.randint(500, 9000)}m", self.chance.randint(1, 32))
        memory = (f"{self.chance.randint(1, 256)}Gi", f"{self.chance.randint(1000, 90000)}Mi", "32G")
        return {"cpu": self.chance.choice(cpus), "memory": self.chance.choice(memory)}

    def scores(self) -> Described:
        drawn: Described = {name: self.chance.randint(-100, 100) for name in ("gpu", "cpu") if self.maybe(0.9)}
        if self.maybe(0.5):
            drawn["validUntil"] = "-1m" if self.may_expire and self.maybe(0.5) else "+1h"
        return drawn

    def placement(self, clusters: int) -> Described:
        drawn: Described = {"prioritizerPolicy": self.policy()}
        if self.maybe(0.7):
            drawn["numberOfClusters"] = self.chance.randint(0, clusters + 1)
        if self.maybe(0.6):
            drawn["predicates"] = [self.predicate() for _ in range(self.chance.randint(1, 2))]
        if self.maybe(0.6):
            drawn["tolerations"] = [self.toleration() for _ in range(self.chance.randint(1, 3))]
        if self.maybe(0.4):
            drawn["decisionStrategy"] = {"groupStrategy": self.groups()}
        return drawn

    def policy(self) -> Described:
        wanted = [
            {"scoreCoordinate": {"builtIn": name}, "weight": self.weight(name)}
            for name in self.chance.sample(BUILT_IN, self.chance.randint(0, 3))
        ]
        for score in self.chance.sample(("gpu", "cpu"), self.chance.randint(0, 1 if self.may_expire else 2)):
            add_on = {"type": "AddOn", "addOn": {"resourceName": "usage", "scoreName": score}}
            wanted.append({"scoreCoordinate": add_on, "weight": self.weight(score)})
        return {"mode": self.chance.choice(("Additive", "Exact")), "configurations": wanted}

    def weight(self, name: str) -> int:
        return self.chance.randint(0 if name == "Steady" else -10, 10)

    def predicate(self) -> Described:
        selector: Described = {}
        if self.maybe(0.7):
            selector["labelSelector"] = {"matchExpressions": [self.term(LABELS)]}
        if self.maybe(0.3):
            selector["claimSelector"] = {"matchExpressions": [self.term(CLAIMS)]}
        if self.maybe(0.3):
            selector["celSelector"] = {"celExpressions": [self.expression()]}
        return {"requiredClusterSelector": selector}

    def term(self, pool: dict[str, tuple[str, ...]]) -> Described:
        key = self.chance.choice(list(pool))
        operator = self.chance.choice(("In", "NotIn", "Exists", "DoesNotExist"))
        if operator in ("Exists", "DoesNotExist"):
            return {"key": key, "operator": operator}
        return {"key": key, "operator": operator, "values": self.chance.sample(pool[key], self.chance.randint(1, 2))}

    def expression(self) -> str:
        score = self.chance.randint(-100, 100)
        return self.chance.choice(
            (
                'managedCluster.metadata.labels["region"] in ["eu", "asia"]',
                'has(managedCluster.metadata.labels.tier) && int(managedCluster.metadata.labels["tier"]) >= 2',
                f'managedCluster.scores("usage").exists(s, s.name == "gpu" && s.value > {score})',
                'quantity(managedCluster.status.allocatable["cpu"]).isGreaterThan(quantity("8"))',
                'managedCluster.status.clusterClaims.all(c, c.value != "one")',
            )
        )

    def toleration(self) -> Described:
        drawn: Described = {"operator": self.chance.choice(("Exists", "Equal"))}
        if drawn["operator"] == "Equal" or self.maybe(0.8):
            drawn["key"] = self.chance.choice(KEYS)
        if drawn["operator"] == "Equal":
            drawn["value"] = self.chance.choice(("a", "b"))
        if self.maybe(0.3):
            drawn["effect"] = self.chance.choice(EFFECTS)
        if self.maybe(0.3):
            drawn["tolerationSeconds"] = self.chance.choice((10, 3600))
        return drawn

    def groups(self) -> Described:
        drawn: Described = {"clustersPerDecisionGroup": self.chance.choice((1, 2, 3, "30%", "50%", "100%"))}
        if self.maybe(0.6):
            term = self.term(LABELS)
            drawn["decisionGroups"] = [
                {"groupName": "first", "groupClusterSelector": {"labelSelector": {"matchExpressions": [term]}}},
                {
                    "groupName": "second",
                    "groupClusterSelector": {"claimSelector": {"matchExpressions": [self.term(CLAIMS)]}},
                },
            ]
        return drawn

    def step(self, names: list[str]) -> Described:
        name = self.chance.choice(names)
        changes: tuple[Described, ...] = (
            {"clusters": {name: {"labels": self.some(LABELS)}}},
            {"clusters": {name: {"scores": {"usage": self.scores()}}}},
            {"clusters": {name: {"allocatable": self.amounts()}}},
            {"clusters": {name: {"taints": [self.taint()]}}},
            {"clusters": {name: {"taints": []}}},
            {"clusters": {name: {"set": None}}},
            {"clusters": {"c0": self.cluster()}},
            {"placements": {"p": {"numberOfClusters": self.chance.randint(1, len(names))}}},
        )
        return self.chance.choice(changes)

    def maybe(self, share: float) -> bool:
        return self.chance.random() < share
