"""Bodies, and the words in which a real server refuses them."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api import errors
from fleetqueue.api.requests import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH
from fleetqueue.embedded.apiserver.http.bodies import Expected, duplicate_fields, read_object, read_options, read_patch
from fleetqueue.embedded.apiserver.http.media_types import PROTOBUF, YAML

CONFIG_MAP = Expected("", "v1", "ConfigMap")
WIDGET = Expected("t.io", "v1", "Widget", is_custom=True)
STRATEGIC = "application/strategic-merge-patch+json"
UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "
NO_JSON = f"{UNRECOGNIZED}couldn't get version/kind; json parse error: "


def test_an_object_is_what_it_says_in_json_and_in_yaml():
    assert read_object(b'{"data":{"a":"1"}}', JSON, CONFIG_MAP).value == {"data": {"a": "1"}}
    assert read_object(b"data: {a: '1'}", YAML, CONFIG_MAP).value == {"data": {"a": "1"}}


def test_null_is_an_empty_object():
    assert read_object(b"null", JSON, CONFIG_MAP).value == {}


@pytest.mark.parametrize(
    ("content", "media_type", "message"),
    [
        pytest.param(b'{"a":', JSON, NO_JSON + 'unexpected end of JSON input ({"a":)', id="truncated"),
        pytest.param(b"", JSON, NO_JSON + "unexpected end of JSON input (<empty>)", id="nothing"),
        pytest.param(b"x", JSON, NO_JSON + "invalid character 'x' looking for beginning of value (78)", id="no JSON"),
        pytest.param(
            b'{"a' + b"b" * 40,
            JSON,
            NO_JSON + 'unexpected end of JSON input ({"abbbbbbbbbbbbbbbbbbbbbbbbbbb ...)',
            id="only its beginning is shown",
        ),
        pytest.param(
            b'{"kind":1}',
            JSON,
            NO_JSON + 'json: cannot unmarshal number into Go struct field .kind of type string ({"kind":1})',
            id="a kind that is no text",
        ),
        pytest.param(
            b'{"apiVersion":"a/b/c"}',
            JSON,
            UNRECOGNIZED + 'unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})',
            id="no version",
        ),
        pytest.param(
            b"a: b: c",
            YAML,
            UNRECOGNIZED + "yaml: mapping values are not allowed in this context (613a20623a2063)",
            id="no YAML",
        ),
        pytest.param(
            b"{}",
            PROTOBUF,
            UNRECOGNIZED
            + "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})",
            id="no protobuf",
        ),
    ],
)
def test_an_object_that_cannot_be_read(content, media_type, message):
    with pytest.raises(errors.BadRequest) as caught:
        read_object(content, media_type, CONFIG_MAP)

    assert caught.value.message == message


@pytest.mark.parametrize("text", ["[1]", '"s"', "1", "true"])
def test_what_is_no_object_has_no_kind(text):
    with pytest.raises(errors.BadRequest, match=r"cannot unmarshal .* into Go value of type struct"):
        read_object(text.encode(), JSON, CONFIG_MAP)


def test_a_custom_object_must_say_its_kind():
    with pytest.raises(errors.BadRequest, match=r"Object 'Kind' is missing in '\{\}'"):
        read_object(b"{}", JSON, WIDGET)


def test_another_type_is_unsupported():
    with pytest.raises(errors.ApiError, match="include: application/json, application/yaml") as caught:
        read_object(b"{}", "text/plain", CONFIG_MAP)

    assert (caught.value.code, caught.value.reason) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("levels", [300, 900, 5000])
def test_nesting_has_an_end_before_we_could_not_write_it_any_more(levels):
    with pytest.raises(errors.BadRequest, match="exceeded max depth"):
        read_object(b'{"a":' + b"[" * levels + b"]" * levels + b"}", JSON, CONFIG_MAP)


def test_text_that_is_no_unicode_gets_a_sign_as_in_go():
    assert read_object(b'{"a":"\xff"}', JSON, CONFIG_MAP).value == {"a": "\ufffd"}


# Patches


def test_an_apply_is_yaml_and_may_be_json():
    assert read_patch(b"a: 1", APPLY_PATCH).value == {"a": 1}
    assert read_patch(b'{"a": 1}', APPLY_PATCH).value == {"a": 1}


@pytest.mark.parametrize(
    ("content", "media_type", "message"),
    [
        (b'{"a":', MERGE_PATCH, "error decoding patch: unexpected end of JSON input"),
        (b'{"a":', JSON_PATCH, "error decoding patch: unexpected end of JSON input"),
        (b'{"a":', STRATEGIC, "unexpected end of JSON input"),
        (
            b"a: b: c",
            APPLY_PATCH,
            "error decoding YAML: error converting YAML to JSON: yaml: mapping values are not allowed in this context",
        ),
        (
            b"- 1",
            APPLY_PATCH,
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array"
            " into Go value of type map[string]interface {}",
        ),
    ],
)
def test_a_patch_that_cannot_be_read(content, media_type, message):
    with pytest.raises(errors.BadRequest) as caught:
        read_patch(content, media_type)

    assert caught.value.message == message


# Options of a deletion


def test_a_deletion_needs_no_options():
    assert read_options(b"", "text/plain") is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a":', "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (
            b'{"kind":"Pod","apiVersion":"v1"}',
            'no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
        ),
    ],
)
def test_options_that_cannot_be_read(content, message):
    with pytest.raises(errors.BadRequest) as caught:
        read_options(content, JSON)

    assert caught.value.message == message


# Anything


@given(st.binary(), st.sampled_from([JSON, YAML, PROTOBUF]))
def test_whatever_comes_is_read_or_refused(content, media_type):
    try:
        assert isinstance(read_object(content, media_type, CONFIG_MAP).value, dict)
    except errors.BadRequest:
        pass


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        pytest.param(b'{"a":1}', [], id="none"),
        pytest.param(b'{ "a" : 1 }', [], id="none, with spaces"),
        pytest.param(b'{"a":"\\u003c"}', [], id="none, with signs as Go writes them"),
        pytest.param(b'{"a":1,"a":2}', ["a"], id="at the top"),
        pytest.param(b'{"a":1,"a":2,"a":3}', ["a"], id="three times is told once"),
        pytest.param(b'{"data":{"a":1,"b":2,"a":3}}', ["data.a"], id="inside"),
        pytest.param(b'{"l":[{"x":1},{"x":1,"x":2}]}', ["l[1].x"], id="in a list"),
        pytest.param(b'{"a":{"b":1,"b":2},"c":{"d":1,"d":1}}', ["a.b", "c.d"], id="two"),
    ],
)
def test_found(text, paths):
    assert duplicate_fields(text, orjson.loads(text)) == [f'duplicate field "{path}"' for path in paths]


@given(st.recursive(st.integers(0, 9), lambda inner: st.dictionaries(st.sampled_from("abc"), inner), max_leaves=8))
def test_what_a_program_wrote_has_none(value):
    assert duplicate_fields(orjson.dumps(value), value) == []
