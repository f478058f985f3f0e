"""Rights follow the configuration of the hub's Kueue: nobody keeps a list of kinds."""

import pytest

from fleetqueue.api.kueue_configuration import ELASTIC_JOBS, ORCHESTRATED_PREEMPTION, Configuration
from fleetqueue.api.kueue_installation import KueuePod
from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.controllers.credentials.worker_rules import JobKind, rights_for
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.builders import kueue_deployment, kueue_pod
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

SHIPPED = (
    "batch/job",
    "kubeflow.org/mpijob",
    "ray.io/rayjob",
    "ray.io/raycluster",
    "ray.io/rayservice",
    "jobset.x-k8s.io/jobset",
    "workload.codeflare.dev/appwrapper",
    "trainer.kubeflow.org/trainjob",
    "pod",
    "deployment",
    "statefulset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
)
"""The frameworks of Kueue 0.19.2's own configuration."""
FOO = "Foo.v1.example.com"


def at_work(world, **settings):
    return managed(Manager(world.hub, world.room(**settings).controllers))


def allowed(worker):
    role = worker.api.get(ClusterRole, "fleetqueue-multikueue")
    return {resource for rule in role.rules for resource in rule["resources"]} - {
        "workloads",
        "workloads/status",
        "clusterqueues",
        "localqueues",
        "namespaces",
    }


def verbs(worker, resource):
    role = worker.api.get(ClusterRole, "fleetqueue-multikueue")
    return {verb for rule in role.rules if resource in rule["resources"] for verb in rule["verbs"]}


@pytest.mark.parametrize(
    ("configurations", "kinds", "unknown"),
    [
        pytest.param([Configuration()], ["batch/job"], (), id="Kueue's default"),
        pytest.param(
            [Configuration(frameworks=SHIPPED)], sorted(set(SHIPPED) - {"deployment"}), (), id="as Kueue is shipped"
        ),
        pytest.param(
            [Configuration(frameworks=("pod", "new.io/thing"))], ["pod"], ("new.io/thing",), id="one that nobody knows"
        ),
        pytest.param(
            [Configuration(external_frameworks=(FOO, "Bar.v1.example.com"))],
            [FOO, "batch/job"],
            ("Bar.v1.example.com",),
            id="external kinds, of which the hub serves one",
        ),
        pytest.param(
            [Configuration(frameworks=("pod",)), Configuration()],
            ["batch/job", "pod"],
            (),
            id="two: all of both",
        ),
    ],
)
def test_which_kinds_a_credential_is_for(configurations, kinds, unknown):
    rights = rights_for(configurations, {FOO: JobKind("example.com", "v1", "foos")})

    assert list(rights.kinds) == kinds
    assert rights.unknown == unknown
    assert {resource for rule in rights.rules for resource in rule.resources} >= {
        kind.resource for kind in rights.kinds.values()
    }


def test_a_gate_of_either_configuration_counts():
    both = rights_for([Configuration(gates=frozenset({ELASTIC_JOBS})), Configuration(gates=frozenset())], {})
    neither = rights_for([Configuration(gates=frozenset())], {})

    assert "patch" in both.rules[-1].verbs
    assert "patch" not in neither.rules[-1].verbs


async def test_every_kind_of_the_shipped_configuration_is_allowed(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    world.configure(*SHIPPED)

    async with at_work(world):
        await settle()

        assert allowed(worker) == {
            "jobs",
            "mpijobs",
            "rayjobs",
            "rayclusters",
            "rayservices",
            "jobsets",
            "appwrappers",
            "trainjobs",
            "pods",
            "statefulsets",
            "leaderworkersets",
        }
        assert world.token("c1")


async def test_a_changed_configuration_is_granted_and_proven_anew_with_the_same_token(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    world.configure("batch/job")

    async with at_work(world):
        await settle()
        token = world.token("c1")
        world.configure("batch/job", "pod", featureGates={ORCHESTRATED_PREEMPTION: True})
        await advance(5)

        assert allowed(worker) == {"jobs", "pods"}
        assert verbs(worker, "workloads/status") == {"patch", "update"}
        assert world.token("c1") == token
        assert world.said() == ["CredentialsIssued"]


async def test_the_configuration_of_a_helm_release_is_found(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    world.api.add(
        kueue_deployment(
            "r-kueue-controller-manager",
            config_map="r-kueue-manager-config",
            args=(f"--feature-gates={ELASTIC_JOBS}=false",),
        )
    )
    world.configure("batch/job", "statefulset", config_map="r-kueue-manager-config")

    async with at_work(world):
        await settle()

        assert allowed(worker) == {"jobs", "statefulsets"}
        assert "patch" not in verbs(worker, "jobs")


async def test_a_setting_counts_only_where_kueue_is_not_found(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world, job_kinds=("pod",)):
        await settle()
        without = allowed(worker)
        world.configure("batch/job")
        await advance(5)

        assert (without, allowed(worker)) == ({"pods"}, {"jobs"})


async def test_what_nobody_knows_does_not_stop_the_rest(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    world.configure(
        "batch/job",
        "new.io/thing",
        multiKueue={"externalFrameworks": [{"name": "Bar.v1.example.com"}, {"name": "odd"}]},
    )

    async with at_work(world):
        await settle()

        assert allowed(worker) == {"jobs"}
        assert world.token("c1")


async def test_an_external_kind_is_allowed_as_the_hub_serves_it(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    world.configure("batch/job", multiKueue={"externalFrameworks": [{"name": FOO}]})

    async with at_work(world):
        await settle()
        before = allowed(worker)
        resources = [{"name": "foos/status", "kind": "Foo"}, {"name": "foos", "kind": "Foo"}]
        world.api.answers["GET /apis/example.com/v1"] = {"kind": "APIResourceList", "resources": resources}
        await advance(400)

        assert (before, allowed(worker)) == ({"jobs"}, {"jobs", "foos"})


@pytest.mark.embedded_only("a real server has a clock of its own")
async def test_until_kueue_is_restarted_the_rights_are_for_what_runs_and_what_is_written(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    world.api.add(kueue_deployment())
    world.configure("batch/job", "pod")
    await advance(10)
    world.api.add(kueue_pod("one"))

    async with at_work(world):
        await advance(60)
        world.configure("batch/job", "statefulset")
        await advance(10)
        between = allowed(worker)
        world.api.remove(KueuePod, "one", "kueue-system")
        world.api.add(kueue_pod("two"))
        await advance(10)

        assert between == {"jobs", "pods", "statefulsets"}
        assert allowed(worker) == {"jobs", "statefulsets"}
        assert world.said() == ["CredentialsIssued"]


@pytest.mark.embedded_only("a real server has a clock of its own")
async def test_who_begins_after_a_change_takes_no_right_away_that_the_running_kueue_may_need(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    world.api.add(kueue_deployment())
    world.configure("batch/job", "pod")
    await advance(10)
    world.api.add(kueue_pod("one"))
    async with at_work(world):
        await settle()
    await advance(60)
    world.configure("batch/job")
    await advance(60)

    async with at_work(world.anew()):
        await advance(400)
        between = allowed(worker)
        world.api.remove(KueuePod, "one", "kueue-system")
        world.api.add(kueue_pod("two"))
        await advance(10)

        assert (between, allowed(worker)) == ({"jobs", "pods"}, {"jobs"})
