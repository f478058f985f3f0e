"""What annotations of a pod template say of where its pods are to run."""

import pytest

from fleetqueue.embedded.kueue.jobs.topology_requests import UnreadableRequest, topology_request

PREFIX = "kueue.x-k8s.io/podset-"
LAYERS = '[{"topology": "block", "size": 8}, {"Topology": "rack", "size": 4, "more": 1}]'


def annotated(**words):
    return {f"{PREFIX}{name.replace('_', '-')}": value for name, value in words.items()}


@pytest.mark.parametrize(
    ("annotations", "request_"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param(annotated(required_topology="rack"), {"required": "rack"}, id="one domain"),
        pytest.param(annotated(preferred_topology="rack"), {"preferred": "rack"}, id="few domains"),
        pytest.param(annotated(unconstrained_topology="t"), {"unconstrained": True}, id="any domains"),
        pytest.param(annotated(unconstrained_topology="false"), {"unconstrained": False}, id="not even any"),
        pytest.param(
            annotated(required_topology="a", preferred_topology="b", unconstrained_topology="?"),
            {"required": "a"},
            id="the strictest counts",
        ),
        pytest.param(
            annotated(slice_required_topology="rack", slice_size="+4"),
            {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 4},
            id="slices alone",
        ),
        pytest.param(annotated(slice_required_topology="rack"), {}, id="slices without a size"),
        pytest.param(
            annotated(preferred_topology="block", slice_required_topology_constraints=LAYERS),
            {
                "preferred": "block",
                "podsetSliceRequiredTopologyConstraints": [
                    {"topology": "block", "size": 8},
                    {"topology": "rack", "size": 4},
                ],
            },
            id="slices of slices",
        ),
        pytest.param(
            annotated(preferred_topology="b", group_name="g"), {"preferred": "b", "podSetGroupName": "g"}, id="a group"
        ),
        pytest.param(
            annotated(unconstrained_topology="true", group_name="g"),
            {"unconstrained": True},
            id="a group that asks for no level is none",
        ),
    ],
)
def test_what_is_asked_for(annotations, request_):
    assert topology_request(annotations) == request_


def test_how_pods_are_numbered_is_said_also_where_no_level_is_asked_for():
    assert topology_request({}, podIndexLabel="index", subGroupCount=2) == {
        "podIndexLabel": "index",
        "subGroupCount": 2,
    }


@pytest.mark.parametrize(
    ("annotations", "why"),
    [
        (annotated(unconstrained_topology="yes"), 'strconv.ParseBool: parsing "yes": invalid syntax'),
        (
            annotated(slice_required_topology="r", slice_size="x"),
            'strconv.ParseInt: parsing "x": invalid syntax',
        ),
        (
            annotated(slice_required_topology="r", slice_size="2147483648"),
            'strconv.ParseInt: parsing "2147483648": value out of range',
        ),
        (
            annotated(slice_required_topology_constraints="[]"),
            "topology constraints must contain between 1 and 3 entries: got 0",
        ),
        (
            annotated(slice_required_topology_constraints="[}"),
            "failed to parse multi-layer topology constraints annotation: invalid character '}' looking for beginning "
            "of value",
        ),
        (
            annotated(slice_required_topology_constraints='{"size": 1}'),
            "failed to parse multi-layer topology constraints annotation: json: cannot unmarshal object into Go value "
            "of type []v1beta2.PodsetSliceRequiredTopologyConstraint",
        ),
        (
            annotated(slice_required_topology_constraints='[{"topology": "a", "size": 1.5}]'),
            "failed to parse multi-layer topology constraints annotation: json: cannot unmarshal number 1.5 into Go "
            "struct field PodsetSliceRequiredTopologyConstraint.size of type int32",
        ),
        (
            annotated(slice_required_topology_constraints='[{"topology": 1}]'),
            "failed to parse multi-layer topology constraints annotation: json: cannot unmarshal number into Go "
            "struct field PodsetSliceRequiredTopologyConstraint.topology of type string",
        ),
    ],
)
def test_what_cannot_be_read_is_told_in_the_words_of_go(annotations, why):
    with pytest.raises(UnreadableRequest) as refused:
        topology_request(annotations)

    assert str(refused.value) == why
