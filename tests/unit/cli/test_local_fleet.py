"""`fleetqueue up` before anything starts: which fleet is meant, and which options say nothing to it."""

import pytest

from fleetqueue.cli import fleets
from fleetqueue.cli.fleets import how_to_go_on
from fleetqueue.fleets import embedded_settings
from fleetqueue.lab.state import Ownership, write_json


@pytest.fixture
def started(monkeypatch):
    """What was started in the background."""
    found = []

    async def start(data_dir, settings, report):
        found.append(settings)

    monkeypatch.setattr(embedded_settings, "start_in_background", start)
    return found


def test_embedded_clusters_are_the_default(fleetqueue, started):
    result = fleetqueue("up", "--detach", "--workers", "2", "--ports-from", "7000", "--in-memory")

    assert result.code == 0, result.err
    assert started == [embedded_settings.EmbeddedSettings(workers=2, in_memory=True, ports_from=7000)]


def test_a_fleet_goes_on_as_it_was(fleetqueue, started, tmp_path):
    write_json(tmp_path / "fleet.json", {"workers": 5, "engine": "embedded", "in_memory": False})

    result = fleetqueue("up", "--detach", "--data-dir", str(tmp_path))

    assert result.code == 0, result.err
    assert started[0].workers == 5


def test_a_folder_with_something_else_in_it_is_refused_since_down_would_delete_it(fleetqueue, started, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")

    result = fleetqueue("up", "--detach", "--data-dir", str(tmp_path))

    assert result.code == 1
    assert "is not the folder of a fleet; choose an empty one with --data-dir" in result.err
    assert started == []


@pytest.mark.parametrize("command", [["up", "--detach"], ["demo", "1"]])
@pytest.mark.parametrize(("name", "why"), [("file", "it is a file"), ("file/fleet", "Not a directory")])
def test_a_folder_that_cannot_be_made_is_named_with_what_to_do(fleetqueue, started, tmp_path, command, name, why):
    (tmp_path / "file").touch()

    result = fleetqueue(*command, "--data-dir", str(tmp_path / name))

    assert result.code == 2
    assert f"{tmp_path / name} cannot be the folder of a fleet: {why}; choose another one" in result.err


def test_a_fleet_that_runs_is_told_before_any_start(fleetqueue, started, tmp_path):
    owner = Ownership(tmp_path)
    owner.take()

    result = fleetqueue("up", "--detach", "--data-dir", str(tmp_path))
    owner.release()

    assert result.code == 1
    assert result.err.startswith(f"error: the fleet in {tmp_path} is already run by process")
    assert started == []


def test_the_start_is_told_before_it_takes_time(fleetqueue, started, tmp_path):
    result = fleetqueue("up", "--detach", "--workers", "1")

    assert f"starting a hub and 1 worker in {tmp_path / 'state' / 'fleetqueue' / 'lab'}" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--ocm", "full"], "--ocm is for real clusters; they come with --engine kubernetes", id="OCM is not there"
        ),
        pytest.param(
            ["--engine", "kubernetes", "--in-memory"], "--in-memory is for embedded clusters", id="etcd has a disk"
        ),
        pytest.param(
            ["--engine", "kubernetes", "--ports-from", "7000"],
            "--ports-from is for embedded clusters",
            id="real clusters have many ports",
        ),
        pytest.param(["--engine", "kubernetes", "--workers", "51"], "51 real workers are more than", id="too many"),
    ],
)
def test_an_option_of_the_other_engine_is_refused(fleetqueue, arguments, message):
    result = fleetqueue("up", *arguments)

    assert result.code == 2
    assert message in result.err


def test_a_folder_with_a_real_fleet_means_real_clusters(fleetqueue, tmp_path):
    write_json(tmp_path / "fleet.json", {"workers": 3, "ocm": "full"})

    result = fleetqueue("up", "--in-memory", "--data-dir", str(tmp_path))

    assert "--in-memory is for embedded clusters" in result.err


def test_who_started_a_fleet_is_told_how_to_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(fleets, "folder", lambda data_dir: tmp_path / "elsewhere")

    text = how_to_go_on(tmp_path, is_detached=True, is_bare=True)

    assert f"export KUBECONFIG={tmp_path}/kubeconfig" in text
    assert "kubectl --context cluster1 create job hello" in text
    assert f"fleetqueue down --data-dir {tmp_path}" in text
    assert len(text.splitlines()) < 10


def test_who_started_a_fleet_is_given_the_link_of_its_dashboard(tmp_path):
    write_json(tmp_path / "dashboard.json", {"port": 21000, "token": "t"})

    text = how_to_go_on(tmp_path, is_detached=True)

    assert "Its dashboard: http://127.0.0.1:21000/#token=t" in text


def test_a_folder_with_a_space_is_printed_as_a_shell_reads_it(tmp_path):
    text = how_to_go_on(tmp_path / "my fleet", is_detached=True)

    assert f"export KUBECONFIG='{tmp_path}/my fleet/kubeconfig'" in text
    assert f"fleetqueue down --data-dir '{tmp_path}/my fleet'" in text
