"""Some requests are not counted, and some count as other resources."""

import pytest

from fleetqueue.api.quantity import parse_all
from fleetqueue.embedded.kueue.scheduling.amounts import requests
from fleetqueue.embedded.kueue.scheduling.counted_resources import counted
from fleetqueue.embedded.kueue.settings import ResourceSettings, ResourceTransformation

SLICE, MEMORY, LICENSE = "example.com/mig-1g", "example.com/gpu-memory", "example.com/license"


def becomes(outputs, **more):
    return ResourceTransformation(parse_all(outputs), **more)


def found(asked, excluded=(), **transformations):
    known = {SLICE if name == "slice" else name: each for name, each in transformations.items()}
    return requests(counted(parse_all(asked), ResourceSettings(excluded, known)))


@pytest.mark.parametrize(
    ("asked", "excluded", "left"),
    [
        pytest.param({"cpu": "1", SLICE: "2"}, (), {"cpu": 1000, SLICE: 2}, id="nothing is left out"),
        pytest.param({"cpu": "1", SLICE: "2"}, ("example.com/",), {"cpu": 1000}, id="a prefix"),
        pytest.param({"cpu": "1", SLICE: "2"}, ("other/", "cp"), {SLICE: 2}, id="one of several prefixes"),
        pytest.param({"cpu": "1"}, ("example.com/",), {"cpu": 1000}, id="nobody asks for it"),
    ],
)
def test_what_is_left_out(asked, excluded, left):
    assert found(asked, excluded) == left


@pytest.mark.parametrize(
    ("asked", "transformations", "left"),
    [
        pytest.param(
            {"cpu": "1", SLICE: "2"},
            {"slice": becomes({MEMORY: "5Gi"})},
            {"cpu": 1000, SLICE: 2, MEMORY: 10 * 2**30},
            id="what is retained counts too",
        ),
        pytest.param(
            {SLICE: "2"}, {"slice": becomes({MEMORY: "5Gi"}, replaces=True)}, {MEMORY: 10 * 2**30}, id="replaced"
        ),
        pytest.param({"cpu": "1", SLICE: "2"}, {"slice": becomes({}, replaces=True)}, {"cpu": 1000}, id="ignored"),
        pytest.param({"cpu": "1"}, {"slice": becomes({MEMORY: "5Gi"})}, {"cpu": 1000}, id="nobody asks for it"),
        pytest.param(
            {SLICE: "2", MEMORY: "1Gi"},
            {"slice": becomes({MEMORY: "5Gi"}, replaces=True)},
            {MEMORY: 11 * 2**30},
            id="added to what is asked for",
        ),
        pytest.param(
            {"cpu": "4", SLICE: "2"},
            {"slice": becomes({LICENSE: "3"}, multiply_by="cpu")},
            {"cpu": 4000, SLICE: 2, LICENSE: 24},
            id="times another resource, but not itself",
        ),
        pytest.param(
            {SLICE: "2"},
            {"slice": becomes({LICENSE: "3"}, multiply_by="cpu", replaces=True)},
            {LICENSE: 6},
            id="times a resource that nobody asks for",
        ),
        pytest.param(
            {SLICE: "2", "cpu": "2500m"},
            {"slice": becomes({LICENSE: "1"}), "cpu": becomes({LICENSE: "1"}, replaces=True)},
            {SLICE: 2, LICENSE: 5},
            id="two that stand for one, rounded up at the end",
        ),
        pytest.param(
            {SLICE: "2", "cpu": "1"},
            {"slice": becomes({LICENSE: "3"}), "cpu": becomes({LICENSE: "-2"}, replaces=True)},
            {SLICE: 2, LICENSE: 4},
            id="less than nothing takes something off another output",
        ),
        pytest.param(
            {SLICE: "2", LICENSE: "5"},
            {"slice": becomes({LICENSE: "-1"})},
            {SLICE: 2, LICENSE: 5},
            id="but nothing off what is asked for",
        ),
    ],
)
def test_what_stands_for_something_else(asked, transformations, left):
    assert found(asked, **transformations) == left


def test_what_is_left_out_is_not_multiplied_by():
    transformation = becomes({LICENSE: "3"}, multiply_by="cpu", replaces=True)

    assert found({"cpu": "4", SLICE: "2"}, ("cpu",), slice=transformation) == {LICENSE: 6}
