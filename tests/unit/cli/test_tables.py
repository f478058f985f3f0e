"""Listings: columns for people, everything for programs."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from fleetqueue.admin.table_text import age, lines, text
from fleetqueue.cli.options import Format
from fleetqueue.cli.tables import show

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


@pytest.mark.parametrize(
    ("output", "read"),
    [pytest.param(Format.JSON, json.loads, id="json"), pytest.param(Format.YAML, yaml.safe_load, id="yaml")],
)
def test_programs_get_every_field(capsys, output, read):
    show(ROWS, ("name",), output)

    assert read(capsys.readouterr().out) == ROWS


@pytest.mark.parametrize("output", [Format.JSON, Format.YAML])
def test_programs_get_times_as_kubernetes_writes_them(capsys, output):
    show([{"created": datetime(2026, 1, 1, tzinfo=UTC)}], (), output)

    assert yaml.safe_load(capsys.readouterr().out.replace('"', "'")) == [{"created": "2026-01-01T00:00:00Z"}]


def test_an_empty_table_says_so(capsys):
    show([], ("name",), Format.TABLE, empty="no clusters; bring one in with `fleetqueue join`")

    assert capsys.readouterr().out == "no clusters; bring one in with `fleetqueue join`\n"


def test_an_empty_listing_for_programs_is_a_list(capsys):
    show([], ("name",), Format.JSON)

    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param(None, "-", id="nothing"),
        pytest.param("", "-", id="empty"),
        pytest.param(0, "0", id="zero is something"),
        pytest.param(False, "False", id="false"),
        pytest.param(["a", None], "a,-", id="a list"),
    ],
)
def test_text(value, written):
    assert text(value) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
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
def test_age(seconds, written):
    now = datetime(2026, 1, 5, tzinfo=UTC)

    assert age(now - timedelta(seconds=seconds), now) == written
