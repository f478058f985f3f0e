"""What is refused in the annotations by which a pod template asks for a topology."""

import pytest

from fleetqueue.embedded.kueue.webhooks.topology_rules import group_faults, request_faults, slice_faults

PREFIX = "kueue.x-k8s.io/podset-"
LAYERS = f"a[{PREFIX}slice-required-topology-constraints]"


def annotated(**words):
    return {f"{PREFIX}{name.replace('_', '-')}": value for name, value in words.items()}


def layers(text):
    return annotated(slice_required_topology_constraints=text)


@pytest.mark.parametrize(
    ("annotations", "problems"),
    [
        pytest.param({}, [], id="nothing is asked for"),
        pytest.param(
            annotated(required_topology="rack", slice_required_topology="host", slice_size="2"), [], id="all is well"
        ),
        pytest.param(layers('[{"topology": "a", "size": 4}, {"topology": "b", "size": 2}]'), [], id="two layers"),
        pytest.param(
            annotated(required_topology="a", preferred_topology="b"),
            [
                f'a: Invalid value: must not contain more than one topology annotation: ["{PREFIX}required-topology", '
                f'"{PREFIX}preferred-topology", "{PREFIX}unconstrained-topology"]'
            ],
            id="two at once",
        ),
        pytest.param(
            annotated(unconstrained_topology="maybe"),
            [f'a[{PREFIX}unconstrained-topology]: Invalid value: "maybe": must be a boolean value'],
            id="no boolean",
        ),
        pytest.param(
            annotated(preferred_topology="a", group_name="12"),
            [f'a[{PREFIX}group-name]: Invalid value: "12": must not be a number'],
            id="a group called like a number",
        ),
        pytest.param(
            annotated(group_name="g", slice_required_topology="r", slice_size="1"),
            [
                f"a[{PREFIX}group-name]: Forbidden: may not be set when '{PREFIX}slice-size' is specified",
                f"a[{PREFIX}group-name]: Forbidden: may not be set when '{PREFIX}slice-required-topology' is specified",
                f"a[{PREFIX}group-name]: Forbidden: may not be set when neither '{PREFIX}preferred-topology' nor "
                f"'{PREFIX}required-topology' is specified",
            ],
            id="a group that has slices and no level",
        ),
        pytest.param(
            annotated(slice_size="0"),
            [
                f'a[{PREFIX}slice-size]: Invalid value: "0": must be greater than or equal to 1',
                f"a[{PREFIX}slice-size]: Forbidden: may not be set when '{PREFIX}slice-required-topology' is not "
                "specified",
            ],
            id="empty slices of no level",
        ),
        pytest.param(
            annotated(slice_required_topology="r"),
            [f"a[{PREFIX}slice-size]: Required value: must be set when '{PREFIX}slice-required-topology' is specified"],
            id="slices of no size",
        ),
        pytest.param(
            annotated(slice_required_topology="r", slice_size="two"),
            [f'a[{PREFIX}slice-size]: Invalid value: "two": must be a numeric value'],
            id="slices of a size that is no number",
        ),
        pytest.param(
            layers("[") | annotated(group_name="g", required_topology="r"),
            [
                f"a[{PREFIX}group-name]: Forbidden: may not be set when '{PREFIX}slice-required-topology-constraints' "
                "is specified",
                f'{LAYERS}: Invalid value: "[": must be a valid JSON array: unexpected end of JSON input',
            ],
            id="layers that are no JSON, in a group",
        ),
        pytest.param(
            layers("null"),
            [f'{LAYERS}: Invalid value: "null": topology constraints must contain between 1 and 3 entries'],
            id="no layers",
        ),
        pytest.param(
            layers('[{"topology": "a", "size": 5}, {"topology": "a", "size": 2}, {"topology": "c"}]'),
            [
                f"{LAYERS}[2].size: Invalid value: 0: must be greater than or equal to 1",
                f'{LAYERS}[1].topology: Duplicate value: "a (also at index 0)"',
                f"{LAYERS}[1].size: Invalid value: 2: must evenly divide the parent layer size 5",
            ],
            id="layers that do not fit into each other",
        ),
    ],
)
def test_what_is_refused_in_a_template(annotations, problems):
    assert [*request_faults("a", annotations)] == problems


def test_a_level_that_is_no_label_is_refused():
    (problem,) = request_faults("a", annotated(required_topology="no label!"))

    assert problem.startswith(f'a[{PREFIX}required-topology]: Invalid value: "no label!": name part must consist of')


@pytest.mark.parametrize(
    ("annotations", "problems"),
    [
        pytest.param(annotated(slice_size="3"), [], id="as large as the set"),
        pytest.param(
            annotated(slice_size="4"),
            [f'a[{PREFIX}slice-size]: Invalid value: "4": must not be greater than pod set count 3'],
            id="larger",
        ),
        pytest.param(
            layers('[{"topology": "a", "size": 4}]'),
            [f"{LAYERS}: Invalid value: 4: must not be greater than pod set count 3"],
            id="a layer that is larger",
        ),
        pytest.param(layers("["), [], id="what cannot be read is told elsewhere"),
    ],
)
def test_slices_fit_into_their_set(annotations, problems):
    assert [*slice_faults("a", annotations, 3)] == problems


def member(name, count=1, group="g", **request):
    return {"name": name, "count": count, "topologyRequest": {"podSetGroupName": group, **request}}


@pytest.mark.parametrize(
    ("members", "problems"),
    [
        pytest.param([member("a", required="r"), member("b", 4, required="r")], [], id="a leader and its workers"),
        pytest.param(
            [member("a", required="r")],
            [
                f'pa[{PREFIX}group-name]: Invalid value: "g": can only define groups of exactly 2 pod sets, got: 1 pod '
                "set(s)"
            ],
            id="a group of one",
        ),
        pytest.param(
            [member("a", 2, required="r"), member("b", 4, required="r")],
            [
                f'p{name}[{PREFIX}group-name]: Invalid value: "g": can only define groups where at least one pod set '
                "has only 1 replica, got: 2 replica(s) and 4 replica(s) in the group"
                for name in "ab"
            ],
            id="nobody leads",
        ),
        pytest.param(
            [member("a", required="r"), member("b", preferred="r")],
            [
                f"p{name}: Invalid value: must specify '{PREFIX}required-topology' or '{PREFIX}preferred-topology' "
                f"topology consistent with 'p{other}' in group 'g'"
                for name, other in ("ab", "ba")
            ],
            id="they ask for different places",
        ),
    ],
)
def test_what_is_refused_in_groups(members, problems):
    assert [*group_faults([*members, {"name": "c", "count": 9}], {"a": "pa", "b": "pb"})] == problems
