"""The documents with which clients find their way."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.scheme import Resource
from fleetqueue.embedded.apiserver.kinds.schema import ANY
from fleetqueue.embedded.apiserver.registry.served import Served

WIDGETS = Served(
    Resource("test.io", "v1", "Widget", "widgets"),
    ANY,
    list_kind="WidgetList",
    singular="widget",
    short_names=("wd",),
    subresources=("status",),
    is_custom=True,
)


@pytest.fixture
def resources(server):
    return server.resources


@pytest.fixture
def discovery(server):
    return server.handler.non_resource_paths.discovery


def names(document):
    return [resource["name"] for resource in document["resources"]]


def test_the_core_has_one_version(discovery):
    assert discovery.document("/api")["versions"] == ["v1"]


def test_every_group_names_its_versions(discovery):
    groups = {group["name"]: group for group in discovery.document("/apis")["groups"]}

    assert groups["batch"]["preferredVersion"] == {"groupVersion": "batch/v1", "version": "v1"}
    assert "" not in groups


def test_a_group_alone(discovery):
    assert discovery.document("/apis/batch")["versions"] == [{"groupVersion": "batch/v1", "version": "v1"}]


def test_a_version_lists_its_resources_and_their_parts(discovery):
    document = discovery.document("/apis/batch/v1")

    jobs = next(resource for resource in document["resources"] if resource["name"] == "jobs")
    assert names(document) == ["cronjobs", "cronjobs/status", "jobs", "jobs/status"]
    assert (jobs["kind"], jobs["namespaced"], jobs["singularName"], jobs["categories"]) == ("Job", True, "job", ["all"])


def test_a_part_of_another_kind_says_its_group(discovery):
    parts = {part["name"]: part for part in discovery.document("/apis/apps/v1")["resources"]}

    scale = parts["deployments/scale"]
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")


def test_a_custom_kind_comes_and_goes(discovery, resources):
    resources.add(WIDGETS)
    assert names(discovery.document("/apis/test.io/v1")) == ["widgets", "widgets/status"]
    resources.remove("test.io", "widgets")

    with pytest.raises(errors.NotFound):
        discovery.document("/apis/test.io/v1")


@pytest.mark.parametrize("path", ["/apis/nobody", "/apis/batch/v9", "/api/v2", "/apis/a/b/c"])
def test_what_is_not_served_is_not_found(discovery, path):
    with pytest.raises(errors.NotFound, match="the server could not find the requested resource"):
        discovery.document(path)
