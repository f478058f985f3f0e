"""Kinds that are known by their names only."""

import pytest

from fleetqueue.api.external_kinds import kind_of, parsed
from fleetqueue.api.scheme import Resource


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Foo.v1.example.com", ("Foo", "v1", "example.com")),
        ("Foo.v1.io", ("Foo", "v1", "io")),
        ("Foo.v1", None),
        ("Foo", None),
        (".v1.io", None),
        ("", None),
    ],
)
def test_a_name_says_kind_version_and_group(name, parts):
    assert parsed(name) == parts


def test_of_an_object_of_such_a_kind_the_metadata_is_read():
    resource = Resource("example.com", "v1", "Foo", "foos")
    raw = {"metadata": {"name": "f", "namespace": "ns"}, "spec": {"any": "thing"}}

    assert kind_of(resource).view(raw).key == "ns/f"
    assert kind_of(resource).resource == resource
    assert kind_of(resource) is kind_of(Resource("example.com", "v1", "Foo", "foos"))
