"""Protobuf bodies become the JSON that Go would write, and damaged ones become a BadRequest."""

import struct

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.kinds import protobuf
from fleetqueue.embedded.apiserver.kinds.wire import DEEPEST


def varint(number):
    number &= 2**64 - 1
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, *values):
    """Encode one field: a number as a varint, text and bytes and messages with their length."""
    if len(values) == 1 and isinstance(values[0], int):
        return varint(number << 3) + varint(values[0])
    content = b"".join(value.encode() if isinstance(value, str) else value for value in values)
    return varint(number << 3 | 2) + varint(len(content)) + content


def envelope(api_version, kind, *fields):
    return b"k8s\0" + field(1, field(1, api_version), field(2, kind)) + field(2, *fields)


def pod(*spec):
    """Encode a pod named a whose spec has these fields."""
    return envelope("v1", "Pod", field(1, field(1, "a")), field(2, *spec))


def container(*fields):
    return field(2, field(1, "c"), *fields)


def decode(body, kind="Pod", version="v1", group=""):
    return protobuf.decode(body, group, version, kind)


def config_map(*fields):
    return decode(envelope("v1", "ConfigMap", *fields), kind="ConfigMap")


def spec_of(*fields):
    return decode(pod(*fields))["spec"]


def test_an_empty_object_has_what_go_always_writes():
    body = envelope("v1", "Pod")

    assert decode(body) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {},
        "spec": {"containers": None},
        "status": {},
    }


def test_a_body_that_does_not_say_its_type_is_what_the_path_says():
    body = b"k8s\0" + field(2, field(1, field(1, "a")))

    found = decode(body, kind="Lease", version="v1", group="coordination.k8s.io")

    assert (found["apiVersion"], found["kind"], found["metadata"]) == ("coordination.k8s.io/v1", "Lease", {"name": "a"})


def test_a_body_that_says_another_type_is_decoded_as_that():
    found = decode(envelope("apps/v1", "Deployment"), kind="Pod")

    assert (found["apiVersion"], found["kind"]) == ("apps/v1", "Deployment")


def test_a_zero_that_travelled_is_left_out_unless_it_is_pointed_to():
    host_network, active_deadline, node_name = field(11, 0), field(5, 0), field(10, "")

    assert spec_of(host_network, active_deadline, node_name) == {"containers": None, "activeDeadlineSeconds": 0}


def test_an_inlined_message_stands_in_the_object_itself():
    empty_dir = field(2, field(2))
    volume = field(1, field(1, "v"), empty_dir)

    assert spec_of(volume)["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_maps_keep_empty_values_and_bytes_are_base64():
    entries = [field(1, "k"), field(1, "l") + field(2, ""), field(1, "m") + field(2, b"\x00\xff")]

    found = decode(envelope("v1", "Secret", *(field(2, entry) for entry in entries)), kind="Secret")

    assert found["data"] == {"k": "", "l": "", "m": "AP8="}


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [
        pytest.param((), {}, id="no time at all"),
        pytest.param((field(1, -62135596800),), {}, id="the zero time"),
        pytest.param((field(1, 0),), {"creationTimestamp": "1970-01-01T00:00:00Z"}, id="the epoch"),
        pytest.param(
            (field(1, 1700000000), field(2, 999)),
            {"creationTimestamp": "2023-11-14T22:13:20Z"},
            id="whole seconds only",
        ),
    ],
)
def test_times(timestamp, shown):
    assert config_map(field(1, field(8, *timestamp)))["metadata"] == shown


def test_a_condition_without_a_time_says_null():
    condition = field(2, field(1, "Ready"), field(2, "True"))

    found = decode(envelope("v1", "Pod", field(3, condition)))["status"]

    assert found["conditions"] == [
        {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": None}
    ]


def test_micro_times_have_six_digits():
    renew_time = field(4, field(1, 1700000000), field(2, 1234567))

    found = decode(
        envelope("coordination.k8s.io/v1", "Lease", field(2, renew_time)), "Lease", group="coordination.k8s.io"
    )

    assert found["spec"]["renewTime"] == "2023-11-14T22:13:20.001234Z"


def test_quantities_are_canonical():
    limits = field(8, field(1, field(1, "cpu"), field(2, field(1, "0.5"))))

    assert spec_of(container(limits))["containers"][0]["resources"] == {"limits": {"cpu": "500m"}}


@pytest.mark.parametrize(
    ("port", "shown"),
    [
        pytest.param((), 0, id="nothing is zero"),
        pytest.param((field(1, 0), field(2, 8080)), 8080, id="a number"),
        pytest.param((field(1, 1), field(2, 5), field(3, "http")), "http", id="a name"),
    ],
)
def test_a_port_is_a_number_or_a_name(port, shown):
    probe = field(10, field(1, field(2, field(2, *port))))

    assert spec_of(container(probe))["containers"][0]["livenessProbe"]["httpGet"] == {"port": shown}


def test_extra_values_are_lists_within_a_map():
    extra = field(5, field(1, "k"), field(2, field(1, "x"), field(1, "y")))
    body = envelope("authorization.k8s.io/v1", "SubjectAccessReview", field(2, extra))

    found = decode(body, "SubjectAccessReview", group="authorization.k8s.io")

    assert found["spec"] == {"extra": {"k": ["x", "y"]}}


def test_numbers_may_travel_together_or_alone():
    both = field(4, 1) + field(4, varint(2) + varint(-3))
    pod_security = field(14, both)

    assert spec_of(pod_security)["securityContext"] == {"supplementalGroups": [1, 2, -3]}


def test_managed_fields_are_json_within_protobuf():
    entry = field(17, field(1, "m"), field(7, field(1, b'{"f:data":{}}')))

    assert config_map(field(1, entry))["metadata"]["managedFields"] == [{"manager": "m", "fieldsV1": {"f:data": {}}}]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        pytest.param(b'{"a": 1.5}', {"a": 1.5}, id="json"),
        pytest.param(envelope("v1", "Namespace"), None, id="an envelope within the envelope"),
    ],
)
def test_an_object_within_an_object(raw, shown):
    found = decode(
        envelope("apps/v1", "ControllerRevision", field(2, field(1, raw)), field(3, 7)),
        "ControllerRevision",
        group="apps",
    )

    nested = {"apiVersion": "v1", "kind": "Namespace", "metadata": {}, "spec": {}, "status": {}}
    assert found["data"] == (shown or nested)
    assert found["revision"] == 7


def schema_of(*fields):
    """Decode a CRD whose schema has these fields."""
    version = field(7, field(4, field(1, *fields)))
    body = envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, version))
    found = decode(body, "CustomResourceDefinition", group="apiextensions.k8s.io")
    return found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        pytest.param(varint(9 << 3 | 1) + struct.pack("<d", 3.0), {"maximum": 3}, id="a whole float is written so"),
        pytest.param(varint(9 << 3 | 1) + struct.pack("<d", 0.5), {"maximum": 0.5}, id="a broken float"),
        pytest.param(field(8, field(1, b'{"a":[1]}')), {"default": {"a": [1]}}, id="a default is any JSON"),
        pytest.param(field(20, field(1, b"null")), {"enum": [None]}, id="an enum may allow null"),
        pytest.param(field(30, field(1, 1)), {"additionalProperties": True}, id="anything more is allowed"),
        pytest.param(field(30), {"additionalProperties": False}, id="nothing more is allowed"),
        pytest.param(field(30, field(2, field(5, "string"))), {"additionalProperties": {"type": "string"}}, id="texts"),
        pytest.param(field(24, field(1, field(5, "string"))), {"items": {"type": "string"}}, id="items of one sort"),
    ],
)
def test_json_schemas(fields, shown):
    assert schema_of(fields) == shown


def test_a_field_from_the_future_is_skipped():
    unknown = (
        field(9999, "text") + field(9998, 5) + varint(9997 << 3 | 5) + b"1234" + varint(9996 << 3 | 1) + b"12345678"
    )
    group = varint(9995 << 3 | 3) + field(1, 1) + varint(9995 << 3 | 4)

    assert config_map(unknown, group, field(5, 1)) == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}


def test_text_that_is_no_utf8_gets_a_mark_for_each_bad_byte():
    assert config_map(field(1, field(1, b"a\xe6\xbc")))["metadata"]["name"] == "a\ufffd\ufffd"


def test_a_message_in_two_parts_is_one():
    assert config_map(field(1, field(1, "a")), field(1, field(3, "ns")))["metadata"] == {"name": "a", "namespace": "ns"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            b"", "the object provided is unrecognized (must be of type Pod): empty data (<empty>)", id="nothing"
        ),
        pytest.param(
            b'{"kind": "Pod"}',
            "the object provided is unrecognized (must be of type Pod): provided data does not appear to be a protobuf "
            'message, expected prefix [107 56 115 0] ({"kind": "Pod"})',
            id="JSON",
        ),
        pytest.param(
            b"k8s\0",
            "the object provided is unrecognized (must be of type Pod): empty body (6b387300)",
            id="only magic",
        ),
        pytest.param(
            b"k8s\0\n\xff",
            "the object provided is unrecognized (must be of type Pod): unexpected EOF (6b3873000aff)",
            id="a broken envelope",
        ),
        pytest.param(
            envelope("v1", "Pid"),
            'Pid in version "v1" cannot be handled as a Pod: no kind "Pid" is registered for version "v1" in scheme '
            '"pkg/runtime/scheme.go:111"',
            id="an unknown kind",
        ),
        pytest.param(
            envelope("v1", "Pod", b"\x12\x05"),
            'Pod in version "v1" cannot be handled as a Pod: unexpected EOF',
            id="the object ends too early",
        ),
    ],
)
def test_refusals_have_the_words_of_a_real_server(body, message):
    with pytest.raises(errors.BadRequest) as caught:
        decode(body)

    assert (caught.value.message, caught.value.reason, caught.value.code) == (message, "BadRequest", 400)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(field(2, 1), "wrong wireType = 0 for field Spec", id="a number where a message belongs"),
        pytest.param(b"\x00\x00", "proto: Pod: illegal tag 0", id="field zero"),
        pytest.param(b"\x0c", "proto: Pod: wiretype end group for non-group", id="a group that never began"),
        pytest.param(varint(99 << 3 | 3), "unexpected EOF", id="a group that never ends"),
        pytest.param(varint(99 << 3 | 6), "proto: illegal wireType 6", id="no such wire type"),
        pytest.param(b"\xff" * 11, "proto: integer overflow", id="a number that does not end"),
        pytest.param(b"\x0a" + varint(-1), "proto: negative length", id="a negative length"),
        pytest.param(b"\x0a" + varint(2**40), "unexpected EOF", id="a length beyond the body"),
        pytest.param(field(99, b"")[:-1] + varint(2**40), "unexpected EOF", id="a skipped length beyond the body"),
        pytest.param(
            field(2, container(field(8, field(1, field(2, field(1, "x")))))), "quantities must match", id="cpu: x"
        ),
        pytest.param(field(1, field(8, field(1, 2**60))), "years 1 to 9999", id="a time that no calendar has"),
        pytest.param(field(1, field(17, field(7, field(1, "{")))), "invalid JSON", id="broken JSON within"),
    ],
)
def test_malformed_objects_are_refused_with_the_reason(content, why):
    with pytest.raises(errors.BadRequest, match=why):
        decode(envelope("v1", "Pod", content))


def test_nesting_without_end_is_refused():
    fields = b""
    for _ in range(DEEPEST):
        fields = field(28, fields)  # not: a schema within a schema

    with pytest.raises(errors.BadRequest, match="exceeded max depth"):
        schema_of(fields)


@given(st.binary(max_size=300))
def test_any_bytes_are_an_object_or_a_bad_request(content):
    try:
        found = decode(envelope("v1", "Pod", content))
    except errors.BadRequest:
        return
    orjson.dumps(found)


@given(st.data())
def test_a_damaged_pod_is_an_object_or_a_bad_request(data):
    limits = field(8, field(1, field(1, "cpu"), field(2, field(1, "1"))))
    body = bytearray(pod(container(limits, field(10, field(1, field(2, field(2, field(2, 80))))))))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(4, len(body) - 1))] = data.draw(st.integers(0, 255))

    try:
        found = decode(bytes(body))
    except errors.BadRequest:
        return
    orjson.dumps(found)
