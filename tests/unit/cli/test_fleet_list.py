"""The fleets on this machine, listed."""

import json
import shutil

import pytest

from fleetqueue.lab.folders import known_folders, remember
from fleetqueue.lab.state import Ownership, write_json

EMBEDDED = {"workers": 2, "engine": "embedded", "scenario": "multikueue"}


@pytest.fixture
def state(tmp_path, monkeypatch):
    """The folder of the user's fleets."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "fleetqueue"


def test_where_there_is_no_fleet_the_next_step_is_told(fleetqueue, state):
    assert fleetqueue("list").out == "no fleets; start one with `fleetqueue up`\n"
    assert json.loads(fleetqueue("list", "-o", "json").out) == []


def test_every_fleet_is_listed_with_what_it_is_made_of(fleetqueue, state, tmp_path):
    write_json(state / "lab" / "fleet.json", EMBEDDED)
    write_json(tmp_path / "far" / "fleet.json", {"workers": 3})
    remember(tmp_path / "far")

    lines = fleetqueue("list").out.splitlines()

    assert [line.split()[:4] for line in lines] == [
        ["NAME", "ENGINE", "STATE", "WORKERS"],
        ["far", "kubernetes", "stopped", "3"],
        ["lab", "embedded", "stopped", "2"],
    ]
    assert lines[1].endswith(str(tmp_path / "far"))


def test_a_fleet_that_a_program_holds_is_up(fleetqueue, state):
    write_json(state / "demo" / "fleet.json", EMBEDDED)
    owner = Ownership(state / "demo")
    owner.take()

    lines = fleetqueue("list").out.splitlines()
    owner.release()

    assert lines[1].split()[:3] == ["demo", "embedded", "up"]
    assert fleetqueue("list").out.splitlines()[1].split()[:3] == ["demo", "embedded", "stopped"]


def test_programs_get_the_time_of_the_start(fleetqueue, state):
    write_json(state / "lab" / "fleet.json", EMBEDDED)

    (row,) = json.loads(fleetqueue("list", "-o", "json").out)

    assert row["started"].endswith("Z")
    assert (row["name"], row["folder"]) == ("lab", str(state / "lab"))


def test_a_broken_fleet_is_listed_as_such(fleetqueue, state):
    (state / "lab").mkdir(parents=True)
    (state / "lab" / "fleet.json").write_text("{")

    assert fleetqueue("list").out.splitlines()[1].split()[:4] == ["lab", "-", "broken", "-"]


def test_a_fleet_that_is_gone_is_forgotten(state, tmp_path):
    write_json(tmp_path / "far" / "fleet.json", EMBEDDED)
    remember(tmp_path / "far")
    remember(tmp_path / "far")
    assert known_folders() == [tmp_path / "far"]

    shutil.rmtree(tmp_path / "far")

    assert known_folders() == []
    assert list((state / ".elsewhere").iterdir()) == []


def test_a_state_folder_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))

    remember(tmp_path / "far")

    assert known_folders() == []
