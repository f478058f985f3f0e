"""Files of a fleet: private, complete, and used by one process at a time."""

import pytest

from fleetqueue.lab.control import LONGEST, reachable
from fleetqueue.lab.errors import EngineError
from fleetqueue.lab.state import (
    KeptFleet,
    Ownership,
    default_data_dir,
    delete_state,
    kept,
    option,
    read_json,
    refuse_foreign,
    refuse_other_engine,
    write_json,
)
from fleetqueue.real.fleet import RealFleet, Settings


def test_files_are_private_and_leave_nothing_half_written(tmp_path):
    write_json(tmp_path / "deep" / "a.json", {"a": 1})

    assert read_json(tmp_path / "deep" / "a.json", None) == {"a": 1}
    assert (tmp_path / "deep" / "a.json").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["a.json"]


def test_a_missing_file_is_the_default(tmp_path):
    assert read_json(tmp_path / "none.json", {}) == {}


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "ports.json").write_text("{")

    with pytest.raises(EngineError, match=r"ports\.json is not JSON"):
        read_json(tmp_path / "ports.json", {})


def test_deleted_state_is_gone(tmp_path):
    write_json(tmp_path / "lab" / "cluster1" / "a.json", {})

    delete_state(tmp_path / "lab")
    delete_state(tmp_path / "lab")

    assert list(tmp_path.iterdir()) == []


def test_state_that_cannot_be_deleted_is_named(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "lab").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(EngineError, match=r"lab cannot be removed: .*symbolic link; remove .*lab by hand"):
        delete_state(tmp_path / "lab")


def test_a_fleet_has_one_owner(tmp_path):
    first, second = Ownership(tmp_path), Ownership(tmp_path)
    first.take()

    with pytest.raises(EngineError, match="already run by process"):
        second.take()

    first.release()
    second.take()
    second.release()


def test_a_fleet_that_its_owner_took_twice_is_free_when_both_have_let_go(tmp_path):
    owner = Ownership(tmp_path)
    owner.take()
    owner.take()

    taken = []
    for _ in range(2):
        owner.release()
        taken.append(owner.is_taken())

    assert taken == [True, False]


def test_where_a_named_fleet_lies():
    assert str(default_data_dir("demo", {"XDG_STATE_HOME": "/s"})) == "/s/fleetqueue/demo"


def test_a_socket_in_a_deep_folder_has_a_short_address(tmp_path):
    deep = tmp_path / ("x" * 120)
    deep.mkdir()

    with reachable(deep) as address:
        assert len(address) < LONGEST


def test_which_clusters_and_ports_a_fleet_has():
    light, full = Settings(workers=2), Settings(workers=1, ocm="full")

    assert light.clusters == ("hub", "cluster1", "cluster2")
    assert "forwarder" in light.ports("cluster1")
    assert "forwarder" not in light.ports("hub")
    assert {"ocm-placement"} == {port for port in light.ports("hub") if port.startswith("ocm-")}
    assert {"ocm-registration-agent", "ocm-work-agent"} <= set(full.ports("cluster1"))


@pytest.mark.parametrize(
    ("settings", "remembered"),
    [
        pytest.param({"workers": 2, "ocm": "full", "kueue": True}, KeptFleet("kubernetes", 2), id="a real fleet"),
        pytest.param({"workers": 5, "engine": "embedded"}, KeptFleet("embedded", 5), id="an embedded fleet"),
        pytest.param(
            {"workers": 5, "engine": "embedded", "in_memory": True, "scenario": "multikueue"},
            KeptFleet("embedded", 5, True, "multikueue"),
            id="with everything in it",
        ),
    ],
)
def test_how_a_fleet_was_started_is_remembered(tmp_path, settings, remembered):
    write_json(tmp_path / "fleet.json", settings)

    assert kept(tmp_path) == remembered
    assert kept(tmp_path / "elsewhere") is None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param("", "it is not JSON", id="empty"),
        pytest.param('{"workers": 2', "it is not JSON", id="half written"),
        pytest.param("[]", "it does not say how the fleet was started", id="no map"),
        pytest.param("{}", "it does not say how the fleet was started", id="nothing in it"),
        pytest.param('{"workers": "two"}', "it does not say how the fleet was started", id="no number"),
        pytest.param('{"workers": 2, "engine": "steam"}', "it does not say how", id="an engine that nobody has"),
        pytest.param('{"workers": 2, "scenario": "x"}', "it does not say how", id="a scenario that nobody has"),
    ],
)
def test_a_broken_record_of_a_fleet_comes_with_what_to_do(tmp_path, content, why):
    (tmp_path / "fleet.json").write_text(content)

    with pytest.raises(EngineError) as broken:
        kept(tmp_path)

    message = str(broken.value)
    assert why in message
    assert f"forget the fleet with `fleetqueue down --delete --data-dir {tmp_path}` and start again" in message


def test_a_folder_with_a_space_is_named_as_a_shell_reads_it(tmp_path):
    assert option(tmp_path / "my fleet") == f" --data-dir '{tmp_path}/my fleet'"


def test_a_folder_of_another_engine_is_refused_with_what_to_do(tmp_path):
    write_json(tmp_path / "fleet.json", {"workers": 2})

    refuse_other_engine(tmp_path, "kubernetes")
    with pytest.raises(EngineError, match="start it with --engine kubernetes, choose another folder"):
        refuse_other_engine(tmp_path, "embedded")


@pytest.mark.parametrize(
    ("files", "is_fleet"),
    [
        pytest.param([], True, id="an empty folder"),
        pytest.param(["fleet.json", "kubeconfig"], True, id="a fleet"),
        pytest.param(["lock", "ports.json", "supervisor.log"], True, id="a fleet that never started"),
        pytest.param(["thesis.txt"], False, id="somebody's work"),
        pytest.param(["lock", "thesis.txt"], False, id="somebody's work, where a fleet was tried"),
    ],
)
def test_only_the_folder_of_a_fleet_is_ever_deleted(tmp_path, files, is_fleet):
    for name in files:
        (tmp_path / name).touch()

    if is_fleet:
        refuse_foreign(tmp_path)
    else:
        with pytest.raises(EngineError, match="is not the folder of a fleet"):
            refuse_foreign(tmp_path)


def test_a_folder_that_is_not_there_is_fine(tmp_path):
    refuse_foreign(tmp_path / "new")


async def test_only_workers_can_be_cut(tmp_path):
    with pytest.raises(EngineError, match='only workers can be cut, and "hub" is none'):
        await RealFleet(tmp_path).cut("hub")
