"""What a client takes, and what it gets."""

import pytest

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.http.media_types import Accepted, body_type, negotiated

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
TABLE = f"{JSON};as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "accepted"),
    [
        pytest.param("", Accepted(), id="who says nothing gets JSON"),
        pytest.param("*/*", Accepted(), id="who takes anything gets JSON"),
        pytest.param(YAML, Accepted(YAML), id="YAML"),
        pytest.param(f"{PROTOBUF},{JSON}", Accepted(), id="typed Go clients take JSON too"),
        pytest.param(f"{PROTOBUF}, */*", Accepted(), id="controller-runtime takes anything"),
        pytest.param(f"{JSON};q=0.2, {YAML};q=0.9", Accepted(YAML), id="what is liked better"),
        pytest.param("text/html, */*;q=0.8", Accepted(), id="a browser"),
        pytest.param(f"{JSON};stream=watch", Accepted(), id="a stream of JSON"),
        pytest.param(TABLE, Accepted(JSON, "Table"), id="a table"),
        pytest.param(
            f"{TABLE},{JSON};as=Table;v=v1beta1;g=meta.k8s.io,{JSON}",
            Accepted(JSON, "Table"),
            id="what kubectl get sends",
        ),
        pytest.param(
            f"{JSON};as=Table;v=v1beta1;g=meta.k8s.io",
            Accepted(JSON, "Table", "v1beta1"),
            id="a table of an old version",
        ),
        pytest.param(
            f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Accepted(JSON, "PartialObjectMetadata"),
            id="a metadata informer",
        ),
        pytest.param(
            f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,{JSON}", Accepted(), id="aggregated discovery"
        ),
        pytest.param(
            f"{JSON};as=Nothing;v=v1;g=meta.k8s.io,{JSON}", Accepted(), id="a form that is not there is passed over"
        ),
    ],
)
def test_negotiated(accept, accepted):
    assert negotiated(accept) == accepted


@pytest.mark.parametrize(
    ("accept", "options", "message"),
    [
        pytest.param(PROTOBUF, {}, "only the following", id="only protobuf"),
        pytest.param("text/plain", {}, "406: Not Acceptable", id="a type that nobody writes"),
        pytest.param(f"{JSON};as=Table;v=v2;g=meta.k8s.io", {}, "only the following", id="a table of no version"),
        pytest.param(YAML, {"is_stream": True}, "application/json;stream=watch", id="a stream of YAML"),
        pytest.param(TABLE, {"has_forms": False}, "only the following", id="a table of reviews"),
    ],
)
def test_what_nobody_can_write_is_not_acceptable(accept, options, message):
    with pytest.raises(errors.ApiError, match=message) as caught:
        negotiated(accept, **options)

    assert (caught.value.code, caught.value.reason) == (406, "NotAcceptable")


def test_the_type_of_a_body_is_without_parameters_and_json_by_itself():
    assert body_type("Application/JSON; charset=utf-8") == JSON
    assert body_type("") == JSON
