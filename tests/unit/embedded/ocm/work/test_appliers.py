"""The ways to apply a manifest: created only, read only, or merged by the server."""

from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.testing.virtual_time import advance

from .objects import config_map, config_of

APPLIED = ("True", "AppliedManifestComplete", "Apply manifest complete")


def strategy(kind, **more):
    return [config_of("configmaps", "*", updateStrategy={"type": kind, **more})]


async def test_create_only_leaves_what_is_there_but_owns_it(env):
    env.worker.add(config_map(theirs="1"))
    env.post(config_map(ours="1"), manifestConfigs=strategy("CreateOnly"))

    async with env.agent():
        await advance(1)

    found = env.worker.get(ConfigMap, "cm", "default")
    assert found.data == {"theirs": "1"}
    assert [each.name for each in found.metadata.owner_references] == [env.applied().name]


async def test_read_only_writes_nothing_and_tells_whether_it_is_there(env):
    env.post(config_map(ours="1"), manifestConfigs=strategy("ReadOnly"))

    async with env.agent():
        await advance(1)

    assert env.worker.get(ConfigMap, "cm", "default") is None
    assert env.said_of() == {
        "Applied": APPLIED,
        "Available": ("False", "ResourceNotAvailable", "Resource is not available"),
    }


async def test_server_side_apply_merges_with_what_others_manage(env):
    env.worker.add(config_map(theirs="1"))
    env.post(config_map(ours="1"), manifestConfigs=strategy("ServerSideApply"))

    async with env.agent():
        await advance(1)

    assert env.worker.get(ConfigMap, "cm", "default").data == {"theirs": "1", "ours": "1"}
    fields = env.worker.raw(ConfigMap, "cm", "default")["metadata"]["managedFields"]
    assert ("work-agent", "Apply") in [(each["manager"], each["operation"]) for each in fields]


async def test_server_side_apply_says_who_manages_a_field_and_takes_it_only_by_force(env):
    env.worker.add(config_map(a="theirs"))
    env.post(config_map(a="ours"), manifestConfigs=strategy("ServerSideApply"))
    async with env.agent():
        await advance(5)
        refused = env.said_of()["Applied"]
        force = {"force": True}
        env.change(manifestConfigs=strategy("ServerSideApply", serverSideApply=force))
        await advance(5)

    assert refused[:2] == ("False", "AppliedManifestFailed")
    assert refused[2].startswith("Failed to apply manifest: Apply failed with 1 conflict: conflict with ")
    assert env.worker.get(ConfigMap, "cm", "default").data == {"a": "ours"}


async def test_fields_that_are_left_to_the_worker_are_set_only_at_first(env):
    ignored = [{"condition": "OnSpokePresent", "jsonPaths": [".data.a"]}]
    config = strategy("ServerSideApply", serverSideApply={"force": True, "ignoreFields": ignored})
    env.post(config_map(a="first", b="1"), manifestConfigs=config)
    async with env.agent():
        await advance(5)
        made = env.worker.get(ConfigMap, "cm", "default").data
        env.worker.change(ConfigMap, "cm", "default", data={"a": "theirs"})
        env.change(workload={"manifests": [config_map(a="second", b="2")]})
        await advance(5)

    assert made == {"a": "first", "b": "1"}
    assert env.worker.get(ConfigMap, "cm", "default").data == {"a": "theirs", "b": "2"}
