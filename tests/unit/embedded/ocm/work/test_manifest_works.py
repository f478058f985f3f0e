"""What an agent puts onto its worker, and what it says of it."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.api.core_v1 import ConfigMap, Namespace, Secret
from fleetqueue.testing.virtual_time import advance, settle

from .objects import CLUSTER, config_map

APPLIED = ("True", "AppliedManifestComplete", "Apply manifest complete")


async def test_objects_of_a_work_are_applied_and_available(env):
    env.post(config_map(a="1"), Namespace.manifest("made"))

    async with env.agent():
        await advance(1)

    assert env.worker.get(ConfigMap, "cm", "default").data == {"a": "1"}
    assert env.said() == {
        "Applied": ("True", "AppliedManifestWorkComplete", "Apply manifest work complete"),
        "Available": ("True", "ResourcesAvailable", "All resources are available"),
    }
    assert env.said_of(0) == {
        "Applied": APPLIED,
        "Available": ("True", "ResourceAvailable", "Resource is available"),
        "StatusFeedbackSynced": ("True", "NoStatusFeedbackSynced", ""),
    }
    metas = [each.resource_meta for each in env.work().status.resource_status.manifests]
    assert [(each.ordinal, each.resource, each.namespace, each.name) for each in metas] == [
        (0, "configmaps", "default", "cm"),
        (1, "namespaces", "", "made"),
    ]


async def test_nothing_is_said_of_a_work_without_manifests(env):
    env.post()

    async with env.agent():
        await advance(1)

    assert "status" not in env.hub.raw(work.ManifestWork, "w", CLUSTER)


async def test_objects_belong_to_the_record_of_the_work(env):
    env.post(config_map())

    async with env.agent():
        await advance(1)

    applied, made = env.applied(), env.worker.get(ConfigMap, "cm", "default")
    assert [(each.kind, each.name, each.uid, each.controller) for each in made.metadata.owner_references] == [
        ("AppliedManifestWork", applied.name, applied.uid, False)
    ]
    assert applied.metadata.finalizers == (work.APPLIED_WORK_FINALIZER,)
    assert applied.spec.manifest_work_name == "w"
    assert applied.spec.agent_id == applied.spec.hub_hash
    assert [(each.resource, each.version, each.name, each.uid) for each in applied.status.applied_resources] == [
        ("configmaps", "v1", "cm", made.uid)
    ]


async def test_a_work_that_failed_for_long_and_asks_for_something_else_is_tried_soon_again(env):
    env.post(config_map(namespace="late"))

    async with env.agent():
        await advance(1800)
        env.change(workload={"manifests": [config_map(namespace="late", a="2")]})
        await advance(1)
        env.worker.namespace("late")
        await advance(5)

    assert env.worker.get(ConfigMap, "cm", "late").data == {"a": "2"}


async def test_a_quiet_work_is_written_about_no_more(env):
    env.post(config_map(a="1"))

    async with env.agent():
        await advance(30)
        env.hub.writes.clear()
        env.worker.writes.clear()
        await env.pass_minutes(30)

    assert env.hub.writes == []
    assert env.worker.writes == []


async def test_another_agent_finds_nothing_to_do(env):
    env.post(config_map(a="1"))
    async with env.agent():
        await advance(30)
    env.hub.writes.clear()
    env.worker.writes.clear()

    async with env.agent():
        await advance(30)

    assert env.hub.writes == []
    assert env.worker.writes == []


async def test_a_changed_work_changes_its_objects_and_dates_the_conditions_anew(env):
    env.post(config_map(a="1"))
    async with env.agent():
        await advance(60)

        env.change(workload={"manifests": [config_map(b="2")]})
        await advance(1)

    assert env.worker.get(ConfigMap, "cm", "default").data == {"b": "2"}
    [applied] = [each for each in env.work().status.conditions if each.type == "Applied"]
    assert applied.observed_generation == env.work().metadata.generation == 2


async def test_an_object_that_the_work_no_longer_names_is_deleted(env):
    env.post(config_map("one"), config_map("two"))
    async with env.agent():
        await advance(1)

        env.change(workload={"manifests": [config_map("two")]})
        await advance(1)

    assert env.worker.get(ConfigMap, "one", "default") is None
    assert [each.name for each in env.applied().status.applied_resources] == ["two"]
    assert len(env.work().status.resource_status.manifests) == 1


async def test_an_object_that_somebody_deletes_is_missed_within_seconds_and_made_again_within_minutes(env):
    env.post(config_map())
    async with env.agent():
        await advance(1)
        env.worker.remove(ConfigMap, "cm", "default")
        await advance(20)
        missed = env.said()["Available"]
        await env.pass_minutes(7)

    assert missed == ("False", "ResourcesNotAvailable", "1 of 1 resources are not available")
    assert env.worker.get(ConfigMap, "cm", "default") is not None
    assert env.said()["Available"][0] == "True"


async def test_a_change_by_somebody_else_is_taken_back_within_minutes(env):
    env.post(config_map(a="1"))
    async with env.agent():
        await advance(1)
        env.worker.change(ConfigMap, "cm", "default", data={"a": "2"}, metadata={"labels": {"theirs": "yes"}})
        await env.pass_minutes(7)

    assert env.worker.get(ConfigMap, "cm", "default").data == {"a": "1"}
    assert env.worker.get(ConfigMap, "cm", "default").metadata.labels == {"theirs": "yes"}


async def test_a_kind_that_the_worker_does_not_serve_fails_alone(env):
    unknown = {"apiVersion": "example.com/v1", "kind": "Unknown", "metadata": {"name": "x", "namespace": "default"}}
    env.post(unknown, config_map())

    async with env.agent():
        await advance(30)

    message = 'Failed to apply manifest: the server doesn\'t have a resource type "Unknown"'
    assert env.said_of(0) == {
        "Applied": ("False", "AppliedManifestFailed", message),
        "Available": ("Unknown", "IncompleteResourceMeta", "Resource meta is incomplete"),
    }
    assert env.said_of(1)["Applied"] == APPLIED
    assert env.said()["Applied"] == ("False", "AppliedManifestWorkFailed", "Failed to apply manifest work")
    assert env.said()["Available"] == ("Unknown", "ResourcesStatusUnknown", "1 of 2 resources have unknown status")


async def test_a_namespace_that_comes_later_lets_the_object_in(env):
    env.post(config_map(namespace="later"))
    async with env.agent():
        await advance(1)
        first = env.said_of()["Applied"]
        env.worker.namespace("later")
        await advance(120)

    assert first == ("False", "AppliedManifestFailed", 'Failed to apply manifest: namespaces "later" not found')
    assert env.said_of()["Applied"] == APPLIED


async def test_a_write_that_fails_halfway_is_made_up_for(env):
    env.post(config_map("one"), config_map("two"))
    env.worker.fail_on("create configmaps/default/two", errors.Unreachable("cut"), times=1)
    env.hub.fail_on(f"patch manifestworks/{CLUSTER}/w/status", errors.Unreachable("cut"), times=1)

    async with env.agent():
        await advance(60)

    assert env.said()["Applied"][0] == "True"
    assert len(env.applied().status.applied_resources) == 2


async def test_secrets_are_applied_from_text_and_made_anew_when_their_type_changes(env):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
    env.post({**secret, "stringData": {"a": "text"}})
    async with env.agent():
        await advance(1)
        first = env.worker.get(Secret, "s", "default")

        env.change(workload={"manifests": [{**secret, "type": "example.com/other", "data": {"b": "eA=="}}]})
        await advance(1)

    second = env.worker.get(Secret, "s", "default")
    assert first.text("a") == "text"
    assert (second.type, second.data) == ("example.com/other", {"b": "eA=="})
    assert second.uid != first.uid


@pytest.mark.embedded_only("time is that of the test")
async def test_works_are_applied_side_by_side(env):
    env.worker.seconds_per_request = 1.0
    for number in range(10):
        env.post(config_map(f"cm-{number}"), name=f"w-{number}")

    async with env.agent():
        await advance(30)
        await settle()

    assert all(env.said(f"w-{number}")["Applied"][0] == "True" for number in range(10))
