"""What becomes of an object that is there when a manifest is applied."""

import pytest

from fleetqueue.embedded.ocm.work.appliers import go_text, remove_field, without_creation_times
from fleetqueue.embedded.ocm.work.merging import merged, merged_owners, new, removing, required

OWNER = {"apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork", "name": "w", "uid": "u"}
OTHER = {**OWNER, "name": "other", "uid": "o"}


def obj(kind, api_version="v1", owners=(), labels=None, **body):
    metadata = {"name": "x", "namespace": "ns", "ownerReferences": list(owners)}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


@pytest.mark.parametrize(
    ("have", "want", "result"),
    [
        pytest.param(
            obj("ConfigMap", owners=[OWNER], data={"a": "1"}),
            obj("ConfigMap", data={"b": "2"}),
            {"data": {"b": "2"}},
            id="data are replaced",
        ),
        pytest.param(
            obj("ConfigMap", owners=[OWNER], data={"a": "1"}), obj("ConfigMap"), {}, id="data that are not wanted go"
        ),
        pytest.param(
            obj("Pod", owners=[OWNER], spec={"nodeName": "n"}),
            obj("Pod", spec={}),
            {"spec": {"nodeName": "n"}},
            id="pods stay",
        ),
        pytest.param(
            obj("Secret", owners=[OWNER], type="Opaque", data={"a": "eA=="}),
            obj("Secret", stringData={"b": "x"}),
            {"type": "Opaque", "data": {"b": "eA=="}},
            id="a secret from text",
        ),
        pytest.param(
            obj("Role", "rbac.authorization.k8s.io/v1", owners=[OWNER], rules=[1]),
            obj("Role", "rbac.authorization.k8s.io/v1", rules=[2]),
            {"rules": [2]},
            id="rules are replaced",
        ),
        pytest.param(
            obj("Widget", "example.com/v1", owners=[OWNER], spec={"a": 1, "b": 2}, status={"s": 1}),
            obj("Widget", "example.com/v1", spec={"a": 3}),
            {"spec": {"a": 3}},
            id="any other kind is replaced as a whole",
        ),
    ],
)
def test_content(have, want, result):
    target = merged(have, required(want, OWNER))

    assert {name: each for name, each in target.items() if name not in ("apiVersion", "kind", "metadata")} == result


def test_an_object_that_is_as_wanted_stays_the_same():
    have = obj(
        "Widget", "example.com/v1", owners=[OTHER, OWNER], labels={"theirs": "1", "a": "b"}, spec={"a": 1}, status={}
    )

    assert merged(have, required(obj("Widget", "example.com/v1", labels={"a": "b"}, spec={"a": 1}), OWNER)) == have


def test_labels_are_merged_and_those_that_end_in_a_dash_are_taken_away():
    target = merged(
        obj("ConfigMap", labels={"a": "1", "b": "1"}), required(obj("ConfigMap", labels={"a-": "", "c": "1"}), OWNER)
    )

    assert target["metadata"]["labels"] == {"b": "1", "c": "1"}


@pytest.mark.parametrize(
    ("have", "want", "owners"),
    [
        pytest.param([], OWNER, [OWNER], id="a new one"),
        pytest.param([OTHER], OWNER, [OTHER, OWNER], id="one more"),
        pytest.param([{**OWNER, "uid": "old"}], OWNER, [OWNER], id="the same one, made anew"),
        pytest.param([OTHER, OWNER], removing(OWNER), [OTHER], id="one less"),
        pytest.param([OTHER], removing(OWNER), [OTHER], id="one less that is not there"),
    ],
)
def test_owners(have, want, owners):
    assert merged_owners(have, [want]) == owners


def test_a_new_object_has_no_marks_that_take_away():
    made = new(required(obj("ConfigMap", labels={"a-": "", "b": "1"}), removing(OWNER)))

    assert made["metadata"] == {"name": "x", "namespace": "ns", "labels": {"b": "1"}}


def test_text_and_bytes_of_a_secret_must_not_contradict_each_other():
    with pytest.raises(ValueError, match=r'Secret.stringData\["a"\] conflicts with Secret.data\["a"\]'):
        required(obj("Secret", data={"a": "eQ=="}, stringData={"a": "x"}), OWNER)


def test_a_document_is_written_as_go_does():
    document = {"b": [1, "x", {"c": None}], "a": True}

    assert go_text(document) == "map[a:true b:[1 x map[c:<nil>]]]"


def test_creation_times_that_are_null_are_left_out():
    document = {
        "metadata": {"creationTimestamp": None, "name": "x"},
        "spec": {"t": {"metadata": {"creationTimestamp": None}}},
    }

    assert without_creation_times(document) == {"metadata": {"name": "x"}, "spec": {"t": {"metadata": {}}}}


def test_a_field_is_taken_away_wherever_its_path_leads():
    document = {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]}}

    remove_field('.spec.containers[?(@.name=="a")].image', document)

    assert document["spec"]["containers"] == [{"name": "a"}, {"name": "b", "image": "y"}]
