"""Works for the clusters that Placements choose."""

from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.work.settings import WorkHubSettings
from fleetqueue.embedded.ocm.work.wiring import hub_controllers
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

from .objects import config_map


def placement(selected, name="p"):
    return cluster.Placement.manifest(name, "ns", spec={}, status={"numberOfSelectedClusters": selected})


def decision(*clusters, group=0, name="p"):
    labels = {
        cluster.PLACEMENT_LABEL: name,
        cluster.DECISION_GROUP_INDEX_LABEL: str(group),
        cluster.DECISION_GROUP_NAME_LABEL: "",
    }
    decided = [{"clusterName": each, "reason": ""} for each in clusters]
    return cluster.PlacementDecision.manifest(
        f"{name}-decision-{group + 1}", "ns", labels=labels, status={"decisions": decided}
    )


def replica_set(strategy=None, data="1", **spec):
    ref = {"name": "p"} | ({"rolloutStrategy": strategy} if strategy else {})
    template = {"workload": {"manifests": [config_map(a=data)]}}
    return work.ManifestWorkReplicaSet.manifest(
        "set", "ns", labels={"team": "a"}, spec={"placementRefs": [ref], "manifestWorkTemplate": template, **spec}
    )


class Hub:
    def __init__(self, api):
        self.api = api
        api.namespace("c1", "c2", "c3")

    @asynccontextmanager
    async def manager(self):
        hub = Cluster("hub", Client(self.api))
        async with managed(Manager(hub, hub_controllers(hub, Metrics(), WorkHubSettings()))):
            await settle()
            yield

    def works(self):
        """The clusters that have a work, and what it says."""
        return {
            each.namespace: each.spec.workload.manifests[0]["data"]["a"] for each in self.api.list(work.ManifestWork)
        }

    def finish(self, *clusters):
        """Play the agents: all is applied, available, and no longer progresses."""
        for name in clusters:
            generation = self.api.get(work.ManifestWork, "set", name).metadata.generation
            said = {"Applied": True, "Available": True, "Progressing": False}
            conditions = [
                {**condition(kind, status), "observedGeneration": generation} for kind, status in said.items()
            ]
            self.api.change(work.ManifestWork, "set", name, status={"conditions": conditions})

    def said(self):
        conditions = self.api.get(work.ManifestWorkReplicaSet, "set", "ns").status.conditions
        return {each.type: (each.status, each.reason) for each in conditions}

    def status(self):
        return self.api.raw(work.ManifestWorkReplicaSet, "set", "ns")["status"]


@pytest.fixture
def fleet(api):
    return Hub(api)


async def test_each_chosen_cluster_gets_a_work(fleet):
    fleet.api.add(placement(2), decision("c1", "c2"), replica_set())
    async with fleet.manager():
        await advance(1)
        fleet.finish("c1", "c2")
        await advance(1)

    assert fleet.works() == {"c1": "1", "c2": "1"}
    made = fleet.api.get(work.ManifestWork, "set", "c1")
    assert made.metadata.labels == {"team": "a", work.REPLICA_SET_LABEL: "ns.set", work.PLACEMENT_NAME_LABEL: "p"}
    assert fleet.said() == {
        "PlacementVerified": ("True", "AsExpected"),
        "PlacementRolledOut": ("True", "Complete"),
        "ManifestworkApplied": ("True", "AsExpected"),
    }
    assert fleet.status()["summary"]["total"] == fleet.status()["summary"]["available"] == 2
    assert fleet.status()["placementSummary"][0]["availableDecisionGroups"] == "1 (2 / 2 clusters applied)"


async def test_works_have_the_empty_fields_that_go_writes(fleet):
    rule = {"type": "CEL", "condition": "Progressing", "celExpressions": ["true"]}
    asked = {"resourceIdentifier": {"resource": "configmaps", "name": "cm"}, "conditionRules": [rule]}
    made = replica_set()
    made["spec"]["manifestWorkTemplate"]["manifestConfigs"] = [asked]
    fleet.api.add(placement(1), decision("c1"), made)

    async with fleet.manager():
        await advance(1)

    [config] = fleet.api.raw(work.ManifestWork, "set", "c1")["spec"]["manifestConfigs"]
    assert config["resourceIdentifier"] == {"group": "", "resource": "configmaps", "name": "cm", "namespace": ""}
    assert config["conditionRules"] == [{**rule, "message": "", "messageExpression": ""}]


async def test_a_quiet_replica_set_is_written_about_no_more(fleet):
    fleet.api.add(placement(2), decision("c1", "c2"), replica_set())
    async with fleet.manager():
        await advance(5)
    fleet.api.writes.clear()

    async with fleet.manager():
        await advance(3600)

    assert fleet.api.writes == []


async def test_a_progressive_rollout_goes_on_when_the_cluster_before_is_done(fleet):
    fleet.api.add(placement(3), decision("c1", "c2", "c3"))
    fleet.api.add(replica_set({"type": "Progressive", "progressive": {"maxConcurrency": 1}}))
    seen = []
    async with fleet.manager():
        for name in ("c1", "c2", "c3"):
            await advance(1)
            seen.append(sorted(fleet.works()))
            fleet.finish(name)
        await advance(1)

    assert seen == [["c1"], ["c1", "c2"], ["c1", "c2", "c3"]]
    assert fleet.said()["PlacementRolledOut"] == ("True", "Complete")


async def test_groups_are_rolled_out_one_after_the_other(fleet):
    fleet.api.add(placement(3), decision("c1", "c2"), decision("c3", group=1))
    fleet.api.add(replica_set({"type": "ProgressivePerGroup"}))
    async with fleet.manager():
        await advance(1)
        first = sorted(fleet.works())
        fleet.finish("c1", "c2")
        await advance(1)

    assert first == ["c1", "c2"]
    assert sorted(fleet.works()) == ["c1", "c2", "c3"]


async def test_a_success_must_last_before_the_next_cluster(fleet):
    slow = {"type": "Progressive", "progressive": {"maxConcurrency": 1, "minSuccessTime": "5m"}}
    fleet.api.add(placement(2), decision("c1", "c2"), replica_set(slow))
    async with fleet.manager():
        await advance(1)
        fleet.finish("c1")
        await advance(280)
        before = sorted(fleet.works())
        await advance(30)

    assert before == ["c1"]
    assert sorted(fleet.works()) == ["c1", "c2"]


async def test_a_cluster_that_is_no_longer_chosen_loses_its_work(fleet):
    fleet.api.add(placement(2), decision("c1", "c2"), replica_set())
    async with fleet.manager():
        await advance(1)
        chosen = [{"clusterName": "c2", "reason": ""}]
        fleet.api.change(cluster.PlacementDecision, "p-decision-1", "ns", status={"decisions": chosen})
        await advance(1)

    assert sorted(fleet.works()) == ["c2"]


async def test_a_changed_template_changes_the_works(fleet):
    fleet.api.add(placement(2), decision("c1", "c2"), replica_set())
    async with fleet.manager():
        await advance(1)
        fleet.api.change(work.ManifestWorkReplicaSet, "set", "ns", spec=replica_set(data="2")["spec"])
        await advance(1)

    assert fleet.works() == {"c1": "2", "c2": "2"}


async def test_a_placement_that_is_missing_or_empty_is_told_of(fleet):
    fleet.api.add(replica_set())
    async with fleet.manager():
        await advance(1)
        missing = fleet.said()
        fleet.api.add(placement(0))
        await advance(1)

    assert missing["PlacementVerified"] == ("False", "PlacementDecisionNotFound")
    assert fleet.said()["PlacementVerified"] == ("False", "PlacementDecisionEmpty")
    assert fleet.said()["ManifestworkApplied"] == ("False", "PlacementDecisionEmpty")


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_a_deleted_replica_set_takes_its_works_along(fleet, policy):
    fleet.api.add(placement(2), decision("c1", "c2"), replica_set(cascadeDeletionPolicy=policy))
    async with fleet.manager():
        await advance(1)
        fleet.api.remove(work.ManifestWorkReplicaSet, "set", "ns")
        await advance(1)

    assert fleet.works() == {}
    assert fleet.api.get(work.ManifestWorkReplicaSet, "set", "ns") is None


async def test_a_write_that_fails_halfway_is_made_up_for(fleet):
    fleet.api.fail_on("create manifestworks/c2/*", errors.Unreachable("cut"), times=2)
    fleet.api.add(placement(2), decision("c1", "c2"), replica_set())

    async with fleet.manager():
        await advance(10)

    assert sorted(fleet.works()) == ["c1", "c2"]
