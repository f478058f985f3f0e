"""What an agent puts onto its worker, and what it says of it."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.api.core_v1 import ConfigMap, Namespace, Secret
from fleetqueue.testing.virtual_time import advance, settle

from .objects import CLUSTER, config_map, config_of

APPLIED = ("True", "AppliedManifestComplete", "Apply manifest complete")


async def test_objects_of_a_work_are_applied_and_available(stage):
    stage.post(config_map(a="1"), Namespace.manifest("made"))

    async with stage.agent():
        await advance(1)

    assert stage.worker.get(ConfigMap, "cm", "default").data == {"a": "1"}
    assert stage.said() == {
        "Applied": ("True", "AppliedManifestWorkComplete", "Apply manifest work complete"),
        "Available": ("True", "ResourcesAvailable", "All resources are available"),
    }
    assert stage.said_of(0) == {
        "Applied": APPLIED,
        "Available": ("True", "ResourceAvailable", "Resource is available"),
        "StatusFeedbackSynced": ("True", "NoStatusFeedbackSynced", ""),
    }
    metas = [each.resource_meta for each in stage.work().status.resource_status.manifests]
    assert [(each.ordinal, each.resource, each.namespace, each.name) for each in metas] == [
        (0, "configmaps", "default", "cm"),
        (1, "namespaces", "", "made"),
    ]


async def test_objects_belong_to_the_record_of_the_work(stage):
    stage.post(config_map())

    async with stage.agent():
        await advance(1)

    applied, made = stage.applied(), stage.worker.get(ConfigMap, "cm", "default")
    assert [(each.kind, each.name, each.uid, each.controller) for each in made.metadata.owner_references] == [
        ("AppliedManifestWork", applied.name, applied.uid, False)
    ]
    assert applied.metadata.finalizers == (work.APPLIED_WORK_FINALIZER,)
    assert applied.spec.manifest_work_name == "w"
    assert applied.spec.agent_id == applied.spec.hub_hash
    assert [(each.resource, each.version, each.name, each.uid) for each in applied.status.applied_resources] == [
        ("configmaps", "v1", "cm", made.uid)
    ]


async def test_a_work_that_failed_for_long_and_asks_for_something_else_is_tried_soon_again(stage):
    stage.post(config_map(namespace="late"))

    async with stage.agent():
        await advance(1800)
        stage.change(workload={"manifests": [config_map(namespace="late", a="2")]})
        await advance(1)
        stage.worker.namespace("late")
        await advance(5)

    assert stage.worker.get(ConfigMap, "cm", "late").data == {"a": "2"}


async def test_a_quiet_work_is_written_about_no_more(stage):
    stage.post(config_map(a="1"))

    async with stage.agent():
        await advance(30)
        stage.hub.writes.clear()
        stage.worker.writes.clear()
        await stage.pass_minutes(30)

    assert stage.hub.writes == []
    assert stage.worker.writes == []


async def test_another_agent_finds_nothing_to_do(stage):
    stage.post(config_map(a="1"))
    async with stage.agent():
        await advance(30)
    stage.hub.writes.clear()
    stage.worker.writes.clear()

    async with stage.agent():
        await advance(30)

    assert stage.hub.writes == []
    assert stage.worker.writes == []


async def test_a_changed_work_changes_its_objects_and_dates_the_conditions_anew(stage):
    stage.post(config_map(a="1"))
    async with stage.agent():
        await advance(60)

        stage.change(workload={"manifests": [config_map(b="2")]})
        await advance(1)

    assert stage.worker.get(ConfigMap, "cm", "default").data == {"b": "2"}
    [applied] = [each for each in stage.work().status.conditions if each.type == "Applied"]
    assert applied.observed_generation == stage.work().metadata.generation == 2


async def test_an_object_that_the_work_no_longer_names_is_deleted(stage):
    stage.post(config_map("one"), config_map("two"))
    async with stage.agent():
        await advance(1)

        stage.change(workload={"manifests": [config_map("two")]})
        await advance(1)

    assert stage.worker.get(ConfigMap, "one", "default") is None
    assert [each.name for each in stage.applied().status.applied_resources] == ["two"]
    assert len(stage.work().status.resource_status.manifests) == 1


async def test_an_object_that_somebody_deletes_is_missed_within_seconds_and_made_again_within_minutes(stage):
    stage.post(config_map())
    async with stage.agent():
        await advance(1)
        stage.worker.remove(ConfigMap, "cm", "default")
        await advance(20)
        missed = stage.said()["Available"]
        await stage.pass_minutes(7)

    assert missed == ("False", "ResourcesNotAvailable", "1 of 1 resources are not available")
    assert stage.worker.get(ConfigMap, "cm", "default") is not None
    assert stage.said()["Available"][0] == "True"


async def test_a_change_by_somebody_else_is_taken_back_within_minutes(stage):
    stage.post(config_map(a="1"))
    async with stage.agent():
        await advance(1)
        stage.worker.change(ConfigMap, "cm", "default", data={"a": "2"}, metadata={"labels": {"theirs": "yes"}})
        await stage.pass_minutes(7)

    assert stage.worker.get(ConfigMap, "cm", "default").data == {"a": "1"}
    assert stage.worker.get(ConfigMap, "cm", "default").metadata.labels == {"theirs": "yes"}


async def test_a_kind_that_the_worker_does_not_serve_fails_alone(stage):
    unknown = {"apiVersion": "example.com/v1", "kind": "Unknown", "metadata": {"name": "x", "namespace": "default"}}
    stage.post(unknown, config_map())

    async with stage.agent():
        await advance(30)

    message = 'Failed to apply manifest: the server doesn\'t have a resource type "Unknown"'
    assert stage.said_of(0) == {
        "Applied": ("False", "AppliedManifestFailed", message),
        "Available": ("Unknown", "IncompleteResourceMeta", "Resource meta is incomplete"),
    }
    assert stage.said_of(1)["Applied"] == APPLIED
    assert stage.said()["Applied"] == ("False", "AppliedManifestWorkFailed", "Failed to apply manifest work")
    assert stage.said()["Available"] == ("Unknown", "ResourcesStatusUnknown", "1 of 2 resources have unknown status")


async def test_a_namespace_that_comes_later_lets_the_object_in(stage):
    stage.post(config_map(namespace="later"))
    async with stage.agent():
        await advance(1)
        first = stage.said_of()["Applied"]
        stage.worker.namespace("later")
        await advance(120)

    assert first == ("False", "AppliedManifestFailed", 'Failed to apply manifest: namespaces "later" not found')
    assert stage.said_of()["Applied"] == APPLIED


async def test_a_write_that_fails_halfway_is_made_up_for(stage):
    stage.post(config_map("one"), config_map("two"))
    stage.worker.fail_on("create configmaps/default/two", errors.Unreachable("cut"), times=1)
    stage.hub.fail_on(f"patch manifestworks/{CLUSTER}/w/status", errors.Unreachable("cut"), times=1)

    async with stage.agent():
        await advance(60)

    assert stage.said()["Applied"][0] == "True"
    assert len(stage.applied().status.applied_resources) == 2


async def test_secrets_are_applied_from_text_and_made_anew_when_their_type_changes(stage):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
    stage.post({**secret, "stringData": {"a": "text"}})
    async with stage.agent():
        await advance(1)
        first = stage.worker.get(Secret, "s", "default")

        stage.change(workload={"manifests": [{**secret, "type": "example.com/other", "data": {"b": "eA=="}}]})
        await advance(1)

    second = stage.worker.get(Secret, "s", "default")
    assert first.text("a") == "text"
    assert (second.type, second.data) == ("example.com/other", {"b": "eA=="})
    assert second.uid != first.uid


# Strategies


def strategy(kind, **more):
    return [config_of("configmaps", "*", updateStrategy={"type": kind, **more})]


async def test_create_only_leaves_what_is_there_but_owns_it(stage):
    stage.worker.add(config_map(theirs="1"))
    stage.post(config_map(ours="1"), manifestConfigs=strategy("CreateOnly"))

    async with stage.agent():
        await advance(1)

    found = stage.worker.get(ConfigMap, "cm", "default")
    assert found.data == {"theirs": "1"}
    assert [each.name for each in found.metadata.owner_references] == [stage.applied().name]


async def test_read_only_writes_nothing_and_tells_whether_it_is_there(stage):
    stage.post(config_map(ours="1"), manifestConfigs=strategy("ReadOnly"))

    async with stage.agent():
        await advance(1)

    assert stage.worker.get(ConfigMap, "cm", "default") is None
    assert stage.said_of() == {
        "Applied": APPLIED,
        "Available": ("False", "ResourceNotAvailable", "Resource is not available"),
    }


async def test_server_side_apply_merges_with_what_others_manage(stage):
    stage.worker.add(config_map(theirs="1"))
    stage.post(config_map(ours="1"), manifestConfigs=strategy("ServerSideApply"))

    async with stage.agent():
        await advance(1)

    assert stage.worker.get(ConfigMap, "cm", "default").data == {"theirs": "1", "ours": "1"}
    fields = stage.worker.raw(ConfigMap, "cm", "default")["metadata"]["managedFields"]
    assert ("work-agent", "Apply") in [(each["manager"], each["operation"]) for each in fields]


async def test_server_side_apply_says_who_manages_a_field_and_takes_it_only_by_force(stage):
    stage.worker.add(config_map(a="theirs"))
    stage.post(config_map(a="ours"), manifestConfigs=strategy("ServerSideApply"))
    async with stage.agent():
        await advance(5)
        refused = stage.said_of()["Applied"]
        force = {"force": True}
        stage.change(manifestConfigs=strategy("ServerSideApply", serverSideApply=force))
        await advance(5)

    assert refused[:2] == ("False", "AppliedManifestFailed")
    assert refused[2].startswith("Failed to apply manifest: Apply failed with 1 conflict: conflict with ")
    assert stage.worker.get(ConfigMap, "cm", "default").data == {"a": "ours"}


async def test_fields_that_are_left_to_the_worker_are_set_only_at_first(stage):
    ignored = [{"condition": "OnSpokePresent", "jsonPaths": [".data.a"]}]
    config = strategy("ServerSideApply", serverSideApply={"force": True, "ignoreFields": ignored})
    stage.post(config_map(a="first", b="1"), manifestConfigs=config)
    async with stage.agent():
        await advance(5)
        made = stage.worker.get(ConfigMap, "cm", "default").data
        stage.worker.change(ConfigMap, "cm", "default", data={"a": "theirs"})
        stage.change(workload={"manifests": [config_map(a="second", b="2")]})
        await advance(5)

    assert made == {"a": "first", "b": "1"}
    assert stage.worker.get(ConfigMap, "cm", "default").data == {"a": "theirs", "b": "2"}


# Executors


def executor(name="runner"):
    return {"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "default", "name": name}}}


async def test_an_executor_that_may_not_is_asked_again_after_a_minute(stage):
    stage.post(config_map(), executor=executor())
    reviews = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews"
    stage.worker.answers[reviews] = {"status": {"allowed": False}}
    async with stage.agent():
        await advance(5)
        refused = stage.said_of()["Applied"][2]
        stage.worker.answers[reviews] = {"status": {"allowed": True}}
        await advance(50)
        still = stage.said()["Applied"][0]
        await advance(15)

    where = "not allowed to apply the resource  configmaps, default cm, will try again in 1m0s"
    assert refused == f"Failed to apply manifest: {where}"
    assert still == "False"
    assert stage.said()["Applied"][0] == "True"


@pytest.mark.embedded_only("time is that of the test")
async def test_works_are_applied_side_by_side(stage):
    stage.worker.seconds_per_request = 1.0
    for number in range(10):
        stage.post(config_map(f"cm-{number}"), name=f"w-{number}")

    async with stage.agent():
        await advance(30)
        await settle()

    assert all(stage.said(f"w-{number}")["Applied"][0] == "True" for number in range(10))
