"""The official Python client, `kubernetes`, against an embedded cluster and a real one."""

import json

import pytest
import urllib3
from kubernetes import client, config, dynamic, watch
from kubernetes.client import ApiException

from .eventually import eventually
from .following import Follower, Gone, Seen
from .kinds import config_map, definition, may_view, node, widget

GROUP = "kubernetes.test.io"


@pytest.fixture
def api(cluster):
    with config.new_client_from_config(str(cluster.kubeconfig)) as api:
        yield api
        pools = api.rest_client.pool_manager.pools
        for key in pools.keys():
            pools[key].close()  # else they stay open for as long as an error of theirs is remembered


@pytest.fixture
def core(api):
    return client.CoreV1Api(api)


@pytest.fixture
def space(core):
    """A namespace of the test's own."""
    name = core.create_namespace({"metadata": {"generateName": "t-"}}).metadata.name
    yield name
    core.delete_namespace(name)


def names(found):
    return [item.metadata.name for item in found.items if item.metadata.name != "kube-root-ca.crt"]


def status_of(error):
    """Return what the server said, which the client's exception carries as text."""
    return json.loads(error.value.body)


# Objects


def test_an_object_is_made_read_replaced_and_deleted(core, space):
    made = core.create_namespaced_config_map(space, config_map("a", k="1"))
    made.data["k"] = "2"
    replaced = core.replace_namespaced_config_map("a", space, made)
    found = core.read_namespaced_config_map("a", space)
    core.delete_namespaced_config_map("a", space)

    assert made.metadata.uid
    assert found.data == {"k": "2"}
    assert found.metadata.resource_version == replaced.metadata.resource_version
    with pytest.raises(ApiException) as gone:
        core.read_namespaced_config_map("a", space)
    assert (gone.value.status, gone.value.reason, status_of(gone)["reason"]) == (404, "Not Found", "NotFound")


def test_a_model_of_the_client_travels_there_and_back(api, space):
    container = client.V1Container(
        name="c", image="i", resources=client.V1ResourceRequirements(requests={"cpu": "100m"})
    )
    template = client.V1PodTemplateSpec(spec=client.V1PodSpec(containers=[container], restart_policy="Never"))
    job = client.V1Job(metadata=client.V1ObjectMeta(name="j"), spec=client.V1JobSpec(template=template, suspend=True))
    made = client.BatchV1Api(api).create_namespaced_job(space, job)

    assert made.spec.template.spec.containers[0].resources.requests == {"cpu": "100m"}
    assert made.spec.completion_mode == "NonIndexed"
    assert made.metadata.creation_timestamp.tzinfo is not None


def test_patches_are_of_the_form_that_they_look_like(core, space):
    core.create_namespaced_config_map(space, config_map("a", k="1"))

    core.patch_namespaced_config_map("a", space, {"data": {"more": "2"}})
    core.patch_namespaced_config_map("a", space, [{"op": "remove", "path": "/data/k"}])
    merged = core.patch_namespaced_config_map(
        "a", space, {"data": {"more": None, "k": "3"}}, _content_type="application/merge-patch+json"
    )

    assert merged.data == {"k": "3"}


def test_a_list_comes_in_pages_and_by_selectors(core, space):
    for number in range(5):
        core.create_namespaced_config_map(space, config_map(f"c{number}", labels={"odd": str(number % 2)}))
    pages = [core.list_namespaced_config_map(space, limit=2, label_selector="odd")]
    while token := pages[-1].metadata._continue:
        pages.append(core.list_namespaced_config_map(space, limit=2, label_selector="odd", _continue=token))
    odd = core.list_namespaced_config_map(space, label_selector="odd in (1)")
    one = core.list_namespaced_config_map(space, field_selector="metadata.name=c3")

    assert [names(page) for page in pages] == [["c0", "c1"], ["c2", "c3"], ["c4"]]
    assert len({page.metadata.resource_version for page in pages}) == 1
    assert (names(odd), names(one)) == (["c1", "c3"], ["c3"])


def test_apply_on_the_server_keeps_owners_apart(api, space):
    maps = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")

    def apply(manager, **data):
        return maps.server_side_apply(body=config_map("a", **data), namespace=space, field_manager=manager)

    first = apply("one", k="1", mine="1")
    again = apply("one", k="1", mine="1")
    both = apply("two", other="2")
    with pytest.raises(dynamic.exceptions.ConflictError) as refused:
        apply("two", k="2", other="2")
    dropped = apply("one", k="1")

    assert first.metadata.resourceVersion == again.metadata.resourceVersion
    assert both.data.to_dict() == {"k": "1", "mine": "1", "other": "2"}
    assert 'conflict with "one"' in refused.value.summary()
    assert dropped.data.to_dict() == {"k": "1", "other": "2"}


def test_the_status_is_a_part_of_its_own(core):
    core.create_node(node("kubernetes-client"))
    try:
        after = core.patch_node_status("kubernetes-client", {"status": {"capacity": {"gpu.io/a": "4"}}})
        ignored = core.patch_node("kubernetes-client", {"status": {"capacity": {"gpu.io/a": "8"}}})
    finally:
        core.delete_node("kubernetes-client")

    assert after.status.capacity == {"gpu.io/a": "4"}
    assert ignored.status.capacity == {"gpu.io/a": "4"}


@pytest.mark.parametrize(("policy", "survives"), [("Foreground", False), ("Background", False), ("Orphan", True)])
def test_deleting_decides_what_becomes_of_dependents(core, space, policy, survives):
    owner = core.create_namespaced_config_map(space, config_map("owner"))
    reference = {"name": "owner", "uid": owner.metadata.uid, "blockOwnerDeletion": True}
    core.create_namespaced_config_map(space, config_map("child", owner=reference))

    core.delete_namespaced_config_map("owner", space, body=client.V1DeleteOptions(propagation_policy=policy))

    wanted = ["child"] if survives else []
    eventually(lambda: names(core.list_namespaced_config_map(space)) == wanted)
    if survives:
        assert not core.read_namespaced_config_map("child", space).metadata.owner_references


# Custom kinds


@pytest.fixture
def widgets(api):
    """A custom kind that this client makes."""
    definitions = client.ApiextensionsV1Api(api)
    definitions.create_custom_resource_definition(definition(GROUP))
    name = f"widgets.{GROUP}"

    def is_established():
        conditions = definitions.read_custom_resource_definition(name).status.conditions or []
        return any(one.type == "Established" and one.status == "True" for one in conditions)

    eventually(is_established)
    yield
    definitions.delete_custom_resource_definition(name)
    eventually(lambda: not definitions.list_custom_resource_definition(field_selector=f"metadata.name={name}").items)


def test_a_custom_kind_lives_as_any_other(api, widgets, space):
    objects = client.CustomObjectsApi(api)
    where = (GROUP, "v1", space, "widgets")

    made = objects.create_namespaced_custom_object(*where, widget(GROUP, "w", size=1))
    objects.patch_namespaced_custom_object_status(*where, "w", {"status": {"ready": True}})
    objects.patch_namespaced_custom_object(*where, "w", {"spec": {"size": 2}, "status": {"ready": False}})
    listed = objects.list_namespaced_custom_object(*where)
    with pytest.raises(ApiException) as invalid:
        objects.create_namespaced_custom_object(*where, widget(GROUP, "v", size=0))
    found = dynamic.DynamicClient(api).resources.get(api_version=f"{GROUP}/v1", kind="Widget").get("w", space)

    assert made["spec"] == {"size": 1, "color": "red"}
    assert [(item["spec"]["size"], item["status"]) for item in listed["items"]] == [(2, {"ready": True})]
    assert invalid.value.status == 422
    assert status_of(invalid)["details"]["causes"][0]["field"] == "spec.size"
    assert found.metadata.generation == 2


# Errors


def test_refusals_are_exceptions_with_the_status_of_the_server(api, core, space):
    made = core.create_namespaced_config_map(space, config_map("a"))
    core.patch_namespaced_config_map("a", space, {"data": {"k": "1"}})

    with pytest.raises(ApiException) as taken:
        core.create_namespaced_config_map(space, config_map("a"))
    with pytest.raises(ApiException) as stale:
        core.replace_namespaced_config_map("a", space, made)
    with pytest.raises(ApiException) as invalid:
        core.create_namespaced_config_map(space, config_map("Not A Name"))
    with pytest.raises(ApiException) as malformed:
        core.list_namespaced_config_map(space, label_selector="a in")
    with pytest.raises(dynamic.exceptions.NotFoundError):
        dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap").get("nothing", space)

    assert [(error.value.status, status_of(error)["reason"]) for error in (taken, stale, invalid, malformed)] == [
        (409, "AlreadyExists"),
        (409, "Conflict"),
        (422, "Invalid"),
        (400, "BadRequest"),
    ]


def test_a_service_account_is_known_by_its_token(api, core, space, with_token):
    core.create_namespaced_service_account(space, {"metadata": {"name": "robot"}})
    client.RbacAuthorizationV1Api(api).create_namespaced_role_binding(space, may_view("robot", space))
    request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=600))
    token = core.create_namespaced_service_account_token("robot", space, request).status.token

    with config.new_client_from_config(str(with_token(token))) as robots:
        robot = client.CoreV1Api(robots)
        listed = robot.list_namespaced_config_map(space)
        review = client.AuthenticationV1Api(robots).create_self_subject_review(client.V1SelfSubjectReview())
        with pytest.raises(ApiException) as forbidden:
            robot.create_namespaced_config_map(space, config_map("a"))
    with config.new_client_from_config(str(with_token("nonsense"))) as strangers:
        with pytest.raises(ApiException) as unknown:
            client.CoreV1Api(strangers).list_namespaced_config_map(space)

    assert names(listed) == []
    assert review.status.user_info.username == f"system:serviceaccount:{space}:robot"
    assert (forbidden.value.status, unknown.value.status) == (403, 401)


# Watches


@pytest.fixture
def follower(core, space):
    def seen(kind, item):
        return Seen(kind, item.metadata.name, item.metadata.resource_version)

    def events(version):
        watching = watch.Watch()
        try:
            options = {"resource_version": version, "timeout_seconds": 60, "label_selector": "followed"}
            for event in watching.stream(core.list_namespaced_config_map, space, **options):
                yield seen(event["type"], event["object"])
        except ApiException as error:
            raise Gone if error.status == 410 else error from error
        finally:
            watching.stop()

    def listed():
        page = core.list_namespaced_config_map(space, label_selector="followed")
        return [seen("ADDED", item) for item in page.items], page.metadata.resource_version

    return Follower(events, listed, (urllib3.exceptions.HTTPError,))


def test_a_watch_goes_on_across_a_restart(cluster, core, space, follower):
    labels = {"followed": "yes"}
    core.create_namespaced_config_map(space, config_map("before", labels=labels))
    with follower:
        core.create_namespaced_config_map(space, config_map("first", labels=labels))
        follower.until("first")
        cluster.restart()
        core.patch_namespaced_config_map("first", space, {"data": {"k": "1"}})
        core.delete_namespaced_config_map("before", space)
        core.create_namespaced_config_map(space, config_map("last", labels=labels))
        seen = follower.until("last")

    if cluster.remembers:
        expected = [("ADDED", "before"), ("ADDED", "first"), ("MODIFIED", "first"), ("DELETED", "before")]
        assert [(event.type, event.name) for event in seen] == [*expected, ("ADDED", "last")]
        assert follower.lists == 1
    assert seen[-1] == ("ADDED", "last", core.read_namespaced_config_map("last", space).metadata.resource_version)


def test_a_version_that_is_forgotten_is_gone(cluster, core, space):
    old = core.create_namespaced_config_map(space, config_map("a")).metadata.resource_version
    core.create_namespaced_config_map(space, config_map("b"))
    cluster.forget()

    with pytest.raises(ApiException) as gone:
        for _ in watch.Watch().stream(core.list_namespaced_config_map, space, resource_version=old, timeout_seconds=30):
            pass

    assert gone.value.status == 410
    assert "Expired: too old resource version" in gone.value.reason
