"""The client `lightkube` against an embedded cluster and a real one."""

import contextlib
from pathlib import Path

import httpx2 as httpx
import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.authentication_v1 import TokenRequestSpec
from lightkube.models.core_v1 import NodeStatus
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.authentication_v1 import SelfSubjectReview
from lightkube.resources.core_v1 import ConfigMap, Namespace, Node, ServiceAccount, ServiceAccountToken
from lightkube.resources.rbac_authorization_v1 import RoleBinding
from lightkube.types import CascadeType, PatchType

from .eventually import eventually
from .following import Follower, Gone, Seen
from .kinds import definition, may_view

GROUP = "lightkube.test.io"
Widget = create_namespaced_resource(GROUP, "v1", "Widget", "widgets")


def connected(kubeconfig):
    config = KubeConfig.from_file(kubeconfig) if isinstance(kubeconfig, Path) else kubeconfig
    return Client(config, field_manager="lightkube", trust_env=False)


@pytest.fixture
def client(cluster):
    with connected(cluster.kubeconfig) as client:
        yield client


@pytest.fixture
def space(client):
    """A namespace of the test's own."""
    name = client.create(Namespace(metadata=ObjectMeta(generateName="t-"))).metadata.name
    yield name
    with connected(client.config) as again:
        again.delete(Namespace, name)


def config_map(name, space, data=None, **metadata):
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=space, **metadata), data=data)


def names(found):
    return [item.metadata.name for item in found if item.metadata.name != "kube-root-ca.crt"]


# Objects


def test_an_object_is_made_read_replaced_and_deleted(client, space):
    made = client.create(config_map("a", space, {"k": "1"}))
    made.data["k"] = "2"
    replaced = client.replace(made)
    found = client.get(ConfigMap, "a", namespace=space)
    client.delete(ConfigMap, "a", namespace=space)

    assert found.data == {"k": "2"}
    assert found.metadata.resourceVersion == replaced.metadata.resourceVersion
    with pytest.raises(ApiError) as gone:
        client.get(ConfigMap, "a", namespace=space)
    assert (gone.value.status.code, gone.value.status.reason) == (404, "NotFound")


@pytest.mark.parametrize(
    ("form", "patch"),
    [
        (PatchType.STRATEGIC, {"data": {"k": None, "more": "2"}}),
        (PatchType.MERGE, {"data": {"k": None, "more": "2"}}),
        (
            PatchType.JSON,
            [{"op": "remove", "path": "/data/k"}, {"op": "add", "path": "/data/more", "value": "2"}],
        ),
    ],
    ids=["strategic", "merge", "json"],
)
def test_patches(client, space, form, patch):
    client.create(config_map("a", space, {"k": "1", "stays": "1"}))

    patched = client.patch(ConfigMap, "a", patch, namespace=space, patch_type=form)

    assert patched.data == {"stays": "1", "more": "2"}


def test_a_list_comes_in_pages_and_by_selectors(client, space):
    for number in range(5):
        client.create(config_map(f"c{number}", space, labels={"odd": str(number % 2)}))

    paged = client.list(ConfigMap, namespace=space, chunk_size=2, labels={"odd": ["0", "1"]})
    odd = client.list(ConfigMap, namespace=space, labels={"odd": "1"})
    one = client.list(ConfigMap, namespace=space, fields={"metadata.name": "c3"})
    everywhere = client.list(ConfigMap, namespace="*", fields={"metadata.namespace": space}, labels={"odd": "1"})

    assert names(paged) == ["c0", "c1", "c2", "c3", "c4"]
    assert int(paged.resourceVersion) > 0
    assert (names(odd), names(one), names(everywhere)) == (["c1", "c3"], ["c3"], ["c1", "c3"])


def test_apply_on_the_server_keeps_owners_apart(client, space):
    def apply(manager, **options):
        data = options.pop("data")
        return client.apply(config_map("a", space, data), field_manager=manager, **options)

    first = apply("one", data={"k": "1", "mine": "1"})
    again = apply("one", data={"k": "1", "mine": "1"})
    apply("two", data={"other": "2"})
    with pytest.raises(ApiError) as refused:
        apply("two", data={"k": "2", "other": "2"})
    dropped = apply("one", data={"k": "1"})
    forced = apply("two", data={"k": "2"}, force=True)

    assert first.metadata.resourceVersion == again.metadata.resourceVersion
    assert (refused.value.status.code, refused.value.status.details.causes[0].field) == (409, ".data.k")
    assert dropped.data == {"k": "1", "other": "2"}
    assert forced.data == {"k": "2"}


def test_the_status_is_a_part_of_its_own(client):
    client.create(Node(metadata=ObjectMeta(name="lightkube")))
    try:
        status = Node.Status(metadata=ObjectMeta(name="lightkube"), status=NodeStatus(capacity={"gpu.io/a": "4"}))
        client.apply(status)
        ignored = client.patch(Node, "lightkube", {"status": {"capacity": {"gpu.io/a": "8"}}})
    finally:
        client.delete(Node, "lightkube")

    assert ignored.status.capacity == {"gpu.io/a": "4"}


@pytest.mark.parametrize(
    ("cascade", "survives"),
    [(CascadeType.FOREGROUND, False), (CascadeType.BACKGROUND, False), (CascadeType.ORPHAN, True)],
    ids=["foreground", "background", "orphan"],
)
def test_deleting_decides_what_becomes_of_dependents(client, space, cascade, survives):
    owner = client.create(config_map("owner", space))
    reference = OwnerReference("v1", "ConfigMap", "owner", owner.metadata.uid, blockOwnerDeletion=True)
    client.create(config_map("child", space, ownerReferences=[reference]))

    client.delete(ConfigMap, "owner", namespace=space, cascade=cascade)

    wanted = ["child"] if survives else []
    eventually(lambda: names(client.list(ConfigMap, namespace=space)) == wanted)


# Custom kinds


@pytest.fixture
def widgets(client):
    """A custom kind that this client makes."""
    made = client.create(CustomResourceDefinition.from_dict(definition(GROUP)))
    client.wait(CustomResourceDefinition, made.metadata.name, for_conditions=["Established"])
    yield
    client.delete(CustomResourceDefinition, made.metadata.name)
    fields = {"metadata.name": made.metadata.name}
    eventually(lambda: not list(client.list(CustomResourceDefinition, fields=fields)))


def test_a_custom_kind_lives_as_any_other(client, widgets, space):
    def widget(name, **body):
        return Widget(metadata=ObjectMeta(name=name, namespace=space), **body)

    made = client.create(widget("w", spec={"size": 1}))
    client.patch(Widget.Status, "w", {"status": {"ready": True}}, namespace=space, patch_type=PatchType.MERGE)
    body = {"spec": {"size": 2}, "status": {"ready": False}}
    client.patch(Widget, "w", body, namespace=space, patch_type=PatchType.MERGE)
    applied = client.apply(widget("v", spec={"size": 3}))
    with pytest.raises(ApiError) as invalid:
        client.create(widget("x", spec={"size": 0}))
    listed = list(client.list(Widget, namespace=space))

    assert made["spec"] == {"size": 1, "color": "red"}
    assert applied.metadata.generation == 1
    assert [(item["spec"]["size"], item.get("status")) for item in listed] == [(3, None), (2, {"ready": True})]
    assert (invalid.value.status.code, invalid.value.status.details.causes[0].field) == (422, "spec.size")


# Errors


def test_refusals_are_exceptions_with_the_status_of_the_server(client, space):
    made = client.create(config_map("a", space))
    client.patch(ConfigMap, "a", {"data": {"k": "1"}}, namespace=space)

    with pytest.raises(ApiError) as taken:
        client.create(config_map("a", space))
    with pytest.raises(ApiError) as stale:
        client.replace(made)
    with pytest.raises(ApiError) as invalid:
        client.create(config_map("Not A Name", space))
    with pytest.raises(ApiError) as nowhere:
        client.create(config_map("a", "nowhere"))

    errors = (taken, stale, invalid, nowhere)
    assert [(error.value.status.code, error.value.status.reason) for error in errors] == [
        (409, "AlreadyExists"),
        (409, "Conflict"),
        (422, "Invalid"),
        (404, "NotFound"),
    ]


def test_a_service_account_is_known_by_its_token(client, space, with_token):
    client.create(ServiceAccount(metadata=ObjectMeta(name="robot", namespace=space)))
    client.create(RoleBinding.from_dict(may_view("robot", space)))
    spec = TokenRequestSpec(audiences=[], expirationSeconds=600)
    request = ServiceAccountToken(metadata=ObjectMeta(), spec=spec)
    token = client.create(request, "robot", namespace=space).status.token

    with connected(with_token(token)) as robot:
        listed = names(robot.list(ConfigMap, namespace=space))
        review = robot.create(SelfSubjectReview())
        with pytest.raises(ApiError) as forbidden:
            robot.create(config_map("a", space))
    with connected(with_token("nonsense")) as stranger, pytest.raises(ApiError) as unknown:
        stranger.get(ConfigMap, "a", namespace=space)

    assert listed == []
    assert review.status.userInfo.username == f"system:serviceaccount:{space}:robot"
    assert (forbidden.value.status.code, unknown.value.status.code) == (403, 401)


# Watches


@pytest.fixture
def follower(client, space):
    followed = {"namespace": space, "labels": {"followed": "yes"}}

    def seen(kind, item):
        return Seen(kind, item.metadata.name, item.metadata.resourceVersion)

    def events(version):
        # After a clean end this client asks again by itself, from the version that it saw last.
        with contextlib.closing(client.watch(ConfigMap, resource_version=version, **followed)) as watching:
            try:
                for kind, item in watching:
                    yield seen(kind, item)
            except ApiError as error:
                raise Gone if error.status.code == 410 else error from error

    def listed():
        found = client.list(ConfigMap, **followed)
        return [seen("ADDED", item) for item in found], found.resourceVersion

    return Follower(events, listed, (httpx.TransportError,))


def test_a_watch_goes_on_across_a_restart(cluster, client, space, follower):
    labels = {"followed": "yes"}
    client.create(config_map("before", space, labels=labels))
    with follower:
        client.create(config_map("first", space, labels=labels))
        follower.until("first")
        cluster.restart()
        with connected(cluster.kubeconfig) as writer:  # the old one looks only now and then whether the server has gone
            writer.patch(ConfigMap, "first", {"data": {"k": "1"}}, namespace=space)
            writer.delete(ConfigMap, "before", namespace=space)
            last = writer.create(config_map("last", space, labels=labels))
        seen = follower.until("last")

    if cluster.remembers:
        expected = [("ADDED", "before"), ("ADDED", "first"), ("MODIFIED", "first"), ("DELETED", "before")]
        assert [(event.type, event.name) for event in seen] == [*expected, ("ADDED", "last")]
        assert follower.lists == 1
    assert seen[-1].version == last.metadata.resourceVersion


def test_a_version_that_is_forgotten_is_gone(cluster, client, space):
    old = client.create(config_map("a", space)).metadata.resourceVersion
    client.create(config_map("b", space))
    cluster.forget()

    with connected(cluster.kubeconfig) as again, pytest.raises(ApiError, match="too old resource version") as gone:
        next(again.watch(ConfigMap, namespace=space, resource_version=old))

    assert (gone.value.status.code, gone.value.status.reason) == (410, "Expired")
