"""What is mounted in a pod follows its object, as on a kubelet."""

import asyncio
import base64

import pytest

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap, Secret, ServiceAccount
from fleetqueue.client import Client
from fleetqueue.embedded.nodes.mounted_files import SYNC_SECONDS, mounted_objects
from fleetqueue.embedded.nodes.programs import Programs
from fleetqueue.fleets.faults import FaultyDoor, Way
from fleetqueue.fleets.pods.transports import AccountDoor
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time

TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"


LIFE = 600
"""Seconds until the part ends by itself, to be started again."""


class Part:
    """A program that remembers its places, and looks at each start."""

    def __init__(self):
        self.places = []
        self.starts = lambda context: None

    async def __call__(self, context):
        self.places.append(context)
        self.starts(context)
        await asyncio.sleep(LIFE)


@pytest.fixture
def part():
    return Part()


@pytest.fixture
async def started(env, part):
    """A pod of our part, with a secret, a ConfigMap and one file of it alone."""
    client = env.client
    await client.create(ServiceAccount.resource, ServiceAccount.manifest("default", "default"))
    await client.create(Secret.resource, Secret.manifest("hub", "default", data=encoded(crt="one", key="uno")))
    await client.create(ConfigMap.resource, ConfigMap.manifest("settings", "default", data={"a": "one"}))
    programs = Programs({"part": part}, reach=lambda account: Client(AccountDoor(env.server, account)))
    mounts = [
        {"name": "hub", "mountPath": "/hub"},
        {"name": "settings", "mountPath": "/settings"},
        {"name": "settings", "mountPath": "/alone", "subPath": "a"},
    ]
    volumes = [
        {"name": "hub", "secret": {"secretName": "hub"}},
        {"name": "settings", "projected": {"sources": [{"configMap": {"name": "settings"}}]}},
    ]
    async with env.running(env.kubelet(programs=programs)):
        container = {"image": "part", "volumeMounts": mounts}
        await env.pod(node="node", container=container, volumes=volumes, serviceAccountName="default")
        yield part.places[0]


def encoded(**texts):
    return {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}


async def test_a_changed_secret_shows_after_a_while_all_of_it_at_once(env, started):
    await env.change(Secret, "hub", data=encoded(crt="two"))
    await env.change(Secret, "hub", data=encoded(key="dos"))
    before = started.text("/hub/crt"), started.text("/hub/key")
    await advance(SYNC_SECONDS)

    assert before == ("one", "uno")
    assert (started.text("/hub/crt"), started.text("/hub/key")) == ("two", "dos")


async def test_a_changed_config_map_shows_but_not_where_one_file_is_mounted_alone(env, started):
    await env.change(ConfigMap, "settings", data={"a": "two", "b": "new"})
    await advance(SYNC_SECONDS)

    assert (started.text("/settings/a"), started.text("/settings/b")) == ("two", "new")
    assert started.text("/alone") == "one"


async def test_the_token_is_changed_in_its_file_too(started):
    first = started.text(TOKEN)
    await advance(3600)

    assert started.text(TOKEN) == started.account.token != first


async def test_what_was_mounted_stays_where_its_object_has_gone(env, started):
    await env.delete(Secret, "hub")
    await env.change(ConfigMap, "settings", data={"a": "two"})
    await advance(SYNC_SECONDS)

    assert started.text("/hub/crt") == "one"


async def test_an_object_that_comes_back_shows(env, started):
    await env.delete(Secret, "hub")
    await env.client.create(Secret.resource, Secret.manifest("hub", "default", data=encoded(crt="back")))
    await advance(SYNC_SECONDS)

    assert started.text("/hub/crt") == "back"


async def test_a_server_that_cannot_be_asked_is_asked_again(env, started):
    way = Way()
    env.cluster.client.door = FaultyDoor(env.door, way)
    way.fail_on("get secrets/*", errors.Unreachable("cut"), times=1)
    await env.change(Secret, "hub", data=encoded(crt="two"))
    await advance(SYNC_SECONDS)
    first = started.text("/hub/crt")
    await advance(SYNC_SECONDS)

    assert (first, started.text("/hub/crt")) == ("one", "two")


async def test_a_container_that_is_started_again_finds_the_new_files(env, part, started):
    seen = []
    part.starts = lambda context: seen.append(context.text("/hub/crt"))
    await env.change(Secret, "hub", data=encoded(crt="two"))
    await advance(LIFE)

    assert seen == ["two"]


async def test_a_file_that_was_mounted_alone_is_another_one_only_at_the_next_start(env, part, started):
    seen = []
    part.starts = lambda context: seen.append(context.text("/alone"))
    await env.change(ConfigMap, "settings", data={"a": "two"})
    await advance(LIFE - 1)
    before = started.text("/alone")
    await advance(1)

    assert (before, seen) == ("one", ["two"])


async def test_a_pod_that_mounts_nothing_that_changed_sees_the_same_files(env, started):
    files = started.files
    await env.change(Secret, "hub", metadata={"labels": {"a": "b"}})
    await env.client.create(Secret.resource, Secret.manifest("other", "default", data=encoded(crt="x")))
    await advance(SYNC_SECONDS)

    assert started.files is files


async def test_a_program_can_wait_until_a_file_is_another_one(env, started):
    changed = asyncio.create_task(started.until_changed("/hub/crt"))
    await env.change(ConfigMap, "settings", data={"a": "two"})
    await advance(SYNC_SECONDS)
    before = changed.done()
    await env.change(Secret, "hub", data=encoded(crt="two"))
    await advance(SYNC_SECONDS)

    assert (before, changed.done()) == (False, True)


def test_a_pod_mounts_objects_also_by_projection():
    sources = [{"serviceAccountToken": {"path": "token"}}, {"secret": {"name": "s"}}, {"configMap": {"name": "c"}}]
    volumes = [{"name": "a", "secret": {"secretName": "t"}}, {"name": "b", "projected": {"sources": sources}}]

    found = mounted_objects({"spec": {"volumes": [*volumes, {"name": "c", "emptyDir": {}}]}})

    assert list(found) == [("Secret", "t"), ("Secret", "s"), ("ConfigMap", "c")]
