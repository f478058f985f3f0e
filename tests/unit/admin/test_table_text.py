"""Listings: columns for people, everything for programs."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from fleetqueue.admin.table_text import age, lines, text, written

ROWS = [
    {"name": "cluster1", "hub_accepted": True, "clusters": ["a", "b"], "more": {"x": 1}},
    {"name": "c2", "hub_accepted": False, "clusters": [], "more": {}},
]


def test_columns_are_as_wide_as_their_widest_cell():
    assert lines(ROWS, ("name", "hub_accepted", "clusters")) == [
        "NAME       HUB ACCEPTED   CLUSTERS",
        "cluster1   True           a,b",
        "c2         False          -",
    ]


LINKS = [
    {"kind": "MultiKueueConfig", "name": "gpu", "says": "lists gpu-spot-cluster2, gpu-spot-cluster3"},
    {"kind": "Placement", "name": "kueue-system/gpu", "says": "chose cluster2, cluster3"},
]


def test_a_table_that_is_too_wide_keeps_names_whole_and_continues_texts_in_their_column():
    assert lines(LINKS, ("kind", "name", "says"), width=56) == [
        "KIND              NAME              SAYS",
        "MultiKueueConfig  gpu               lists",
        "                                    gpu-spot-cluster2,",
        "                                    gpu-spot-cluster3",
        "Placement         kueue-system/gpu  chose cluster2,",
        "                                    cluster3",
    ]


def test_where_no_room_is_left_a_name_is_broken_at_its_hyphen():
    assert lines(LINKS, ("kind", "says"), width=33) == [
        "KIND              SAYS",
        "MultiKueueConfig  lists gpu-spot-",
        "                  cluster2, gpu-",
        "                  spot-cluster3",
        "Placement         chose cluster2,",
        "                  cluster3",
    ]


@pytest.mark.parametrize(
    ("output", "read"),
    [pytest.param("json", json.loads, id="json"), pytest.param("yaml", yaml.safe_load, id="yaml")],
)
def test_programs_get_every_field(output, read):
    assert read(written(ROWS, ("name",), output)) == ROWS


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_programs_get_times_as_kubernetes_writes_them(output):
    listing = written([{"created": datetime(2026, 1, 1, tzinfo=UTC)}], (), output)

    assert yaml.safe_load(listing.replace('"', "'")) == [{"created": "2026-01-01T00:00:00Z"}]


def test_an_empty_table_says_so():
    told = "no clusters; bring one in with `fleetqueue join`"

    assert written([], ("name",), "table", empty=told) == told


def test_an_empty_listing_for_programs_is_a_list():
    assert json.loads(written([], ("name",), "json")) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(None, "-", id="nothing"),
        pytest.param("", "-", id="empty"),
        pytest.param(0, "0", id="zero is something"),
        pytest.param(False, "False", id="false"),
        pytest.param(["a", None], "a,-", id="a list"),
    ],
)
def test_text(value, expected):
    assert text(value) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(0, "0s", id="now"),
        pytest.param(116, "116s", id="as the walkthroughs show it"),
        pytest.param(120, "2m", id="two minutes"),
        pytest.param(553, "9m13s", id="minutes with seconds"),
        pytest.param(22 * 60, "22m", id="minutes alone"),
        pytest.param(5 * 3600 + 120, "5h2m", id="hours with minutes"),
        pytest.param(30 * 3600, "30h", id="hours alone"),
        pytest.param(3 * 86400, "3d", id="days"),
    ],
)
def test_age(seconds, expected):
    now = datetime(2026, 1, 5, tzinfo=UTC)

    assert age(now - timedelta(seconds=seconds), now) == expected
