"""Kinds that a worker lacks are named before Kueue refuses the whole worker because of them."""

from fleetqueue.api import errors
from fleetqueue.api.fleetqueue import MISSING_KINDS
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

RAY = "GET /apis/ray.io/v1"
JOBSETS = "GET /apis/jobset.x-k8s.io/v1alpha2"


def at_work(world, **settings):
    return managed(Manager(world.hub, world.room(**settings).controllers))


def not_found(request):
    raise errors.NotFound("the server could not find the requested resource")


def missing(world):
    return world.secret("c1").metadata.annotations.get(MISSING_KINDS, "")


async def test_a_kind_that_the_worker_does_not_serve_is_named_and_the_credential_issued(world):
    world.add_cluster("c1")
    world.select("c1")
    world.configure("batch/job", "jobset.x-k8s.io/jobset", "ray.io/rayjob", "ray.io/rayservice", "pod", "statefulset")

    async with at_work(world):
        await settle()

        assert missing(world) == "the worker does not serve ray.io/rayjob, ray.io/rayservice"
        assert world.token("c1")
        assert sorted(world.said()) == ["CredentialsIssued", "KindsMissing"]
        assert "ConfigMap kueue-system/kueue-manager-config" in world.notes()


async def test_a_kind_that_is_served_in_another_version_only_is_missing(world):
    worker = world.add_cluster("c1")
    worker.api.answers[JOBSETS] = not_found
    world.select("c1")
    world.configure("batch/job", "jobset.x-k8s.io/jobset")

    async with at_work(world):
        await settle()

        assert missing(world) == "the worker does not serve jobset.x-k8s.io/jobset"


async def test_a_name_for_which_no_rights_can_be_given_is_named(world):
    world.add_cluster("c1")
    world.select("c1")
    world.configure("batch/job", multiKueue={"externalFrameworks": [{"name": "Bar.v1.example.com"}]})

    async with at_work(world):
        await settle()

        assert missing(world) == "there are no rights for Bar.v1.example.com, which nothing here knows"
        assert "KindsMissing" in world.said()


async def test_a_kind_that_comes_is_noticed_and_said_once(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    world.configure("batch/job", "ray.io/rayjob")

    async with at_work(world):
        await settle()
        token = world.token("c1")
        await advance(120)
        worker.api.answers[RAY] = {"resources": [{"name": "rayjobs"}, {"name": "rayjobs/status"}]}
        await advance(40)

        assert missing(world) == ""
        assert world.token("c1") == token
        assert sorted(world.said()) == ["CredentialsIssued", "KindsMissing", "KindsServed"]


async def test_while_a_kind_is_missing_nothing_is_written(world):
    world.add_cluster("c1")
    world.select("c1")
    world.configure("batch/job", "ray.io/rayjob")

    async with at_work(world):
        await settle()
        world.api.writes.clear()
        await advance(3600)

        assert world.api.writes == []


async def test_a_worker_that_does_not_tell_what_it_serves_gets_its_credential_all_the_same(world):
    def forbidden(request):
        raise errors.Forbidden("no discovery for you")

    worker = world.add_cluster("c1")
    worker.api.answers[JOBSETS] = forbidden
    world.select("c1")
    world.configure("batch/job", "jobset.x-k8s.io/jobset")

    async with at_work(world):
        await settle()

        assert world.token("c1")
        assert missing(world) == ""
