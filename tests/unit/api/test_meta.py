"""Views read whatever an API server sends; manifests are what is written."""

import importlib
import pkgutil
from datetime import UTC, datetime

import msgspec
import pytest

from fleetqueue import api
from fleetqueue.api.core_v1 import Node, Pod, Secret, secret
from fleetqueue.api.kueue_v1beta2 import AdmissionCheck, Workload
from fleetqueue.api.meta import Object, key_of, split_key, without_nulls


def kinds():
    """Every kind of every module of the room."""
    modules = [importlib.import_module(f"fleetqueue.api.{found.name}") for found in pkgutil.iter_modules(api.__path__)]
    found = {kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}
    return sorted(
        (kind for kind in found if issubclass(kind, Object) and kind is not Object), key=lambda kind: kind.__name__
    )


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_an_object_with_nothing_but_a_name_can_be_read(kind):
    obj = kind.view(kind.manifest("x"))

    assert obj.name == "x"
    assert not obj.is_deleting


def test_absent_fields_read_as_empty():
    check = AdmissionCheck.view({"metadata": {"name": "ac"}})

    assert (check.namespace, check.uid, check.metadata.generation) == ("", "", 0)
    assert (check.metadata.labels, check.metadata.finalizers) == ({}, ())
    assert (check.spec.controller_name, check.spec.parameters, check.status.conditions) == ("", None, ())


def test_nulls_read_as_empty():
    raw = {
        "metadata": {"name": "w", "namespace": "ns", "labels": None, "creationTimestamp": None, "finalizers": None},
        "spec": {"podSets": None, "queueName": None},
        "status": {
            "conditions": [{"type": "Finished", "status": "True", "lastTransitionTime": None}],
            "admission": None,
        },
    }

    workload = Workload.view(raw)

    assert workload.metadata.labels == {}
    assert workload.spec.pod_sets == ()
    assert workload.is_finished
    assert workload.status.admission is None


def test_a_null_inside_free_form_data_survives_where_nothing_else_is_null():
    raw = Workload.manifest("w", "ns", spec={"podSets": [{"name": "main", "template": {"spec": {"nodeName": None}}}]})

    assert Workload.view(raw).spec.pod_sets[0]["template"] == {"spec": {"nodeName": None}}


def test_reading_does_not_change_what_was_read():
    raw = {"metadata": {"name": "ac", "labels": None}, "spec": {"parameters": None}}

    AdmissionCheck.view(raw)

    assert raw == {"metadata": {"name": "ac", "labels": None}, "spec": {"parameters": None}}


def test_a_wrong_type_is_an_error():
    with pytest.raises(msgspec.ValidationError):
        AdmissionCheck.view({"metadata": {"name": "ac"}, "spec": {"controllerName": 5}})


def test_fields_that_nobody_models_are_ignored():
    assert AdmissionCheck.view({"metadata": {"name": "ac", "new": 1}, "more": []}).name == "ac"


def test_camel_case_names_and_times_are_read():
    metadata = {
        "name": "x",
        "resourceVersion": "7",
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}],
    }

    node = Node.view({"metadata": metadata})

    assert node.metadata.resource_version == "7"
    assert node.metadata.deletion_timestamp == datetime(2026, 1, 1, tzinfo=UTC)
    assert node.is_deleting
    assert node.metadata.owner_references[0].controller


def test_a_view_cannot_be_changed():
    node = Node.view(Node.manifest("n"))

    with pytest.raises(AttributeError):
        node.spec = None


def test_two_objects_never_share_what_they_were_given_by_default():
    one, other = Node.view(Node.manifest("a")), Node.view(Node.manifest("b"))

    assert one.metadata.labels is not other.metadata.labels


def test_an_object_names_itself_in_messages():
    assert str(Pod.view(Pod.manifest("p", "ns"))) == 'Pod "ns/p"'
    assert str(Node.view(Node.manifest("n"))) == 'Node "n"'


@pytest.mark.parametrize(("namespace", "name", "key"), [("ns", "x", "ns/x"), ("", "x", "x")])
def test_keys_can_be_split_again(namespace, name, key):
    assert key_of(namespace, name) == key
    assert split_key(key) == (namespace, name)


def test_trim_drops_managed_fields_and_leaves_the_original_alone():
    raw = {"metadata": {"name": "x", "managedFields": [1]}, "spec": {"a": 1}}

    trimmed = Node.trim(raw)

    assert "managedFields" not in trimmed["metadata"]
    assert "managedFields" in raw["metadata"]


def test_a_manifest_has_only_what_was_given():
    assert Secret.manifest("s", "ns", data={"a": "Yg=="}) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "ns"},
        "data": {"a": "Yg=="},
    }


def test_a_manifest_carries_labels_and_annotations():
    metadata = Node.manifest("n", labels={"a": "1"}, annotations={"b": "2"})["metadata"]

    assert metadata == {"name": "n", "labels": {"a": "1"}, "annotations": {"b": "2"}}


def test_a_secret_is_written_encoded_and_read_decoded():
    written = secret("s", "ns", {"kubeconfig": "naïve: yes"}, labels={"a": "1"})

    read = Secret.view(written)

    assert read.text("kubeconfig") == "naïve: yes"
    assert read.text("other") is None
    assert written["type"] == "Opaque"
    assert read.metadata.labels == {"a": "1"}


def test_bytes_that_are_no_text_can_be_read_and_are_marked():
    assert Secret.view(Secret.manifest("s", "ns", data={"kubeconfig": "YYH/"})).text("kubeconfig") == "a\ufffd\ufffd"


def test_without_nulls_reaches_every_depth():
    assert without_nulls({"a": None, "b": [{"c": None, "d": [None, 1]}]}) == {"b": [{"d": [None, 1]}]}
