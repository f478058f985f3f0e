"""Commands that end a fleet on this machine, where there is none."""

from fleetqueue.lab.state import write_json


def test_deleting_the_folder_of_somebody_else_is_refused(fleetqueue, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")

    result = fleetqueue("down", "--delete", "--data-dir", str(tmp_path))

    assert result.code == 1
    assert (tmp_path / "thesis.txt").exists()


def test_a_folder_of_somebody_else_is_left_alone_without_deleting_too(fleetqueue, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")

    result = fleetqueue("down", "--data-dir", str(tmp_path))

    assert result.code == 1
    assert "is not the folder of a fleet" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_ending_what_does_not_run_says_so(fleetqueue, tmp_path):
    write_json(tmp_path / "fleet.json", {"workers": 2, "engine": "embedded"})

    result = fleetqueue("down", "--data-dir", str(tmp_path))

    assert result.code == 0
    assert (result.out, result.err) == (f"no fleet runs in {tmp_path}; its state is kept\n", "")


def test_ending_a_fleet_that_never_was_says_so(fleetqueue, tmp_path):
    assert fleetqueue("down", "--data-dir", str(tmp_path / "x")).out == f"there is no fleet in {tmp_path / 'x'}\n"


def test_a_fleet_whose_record_is_broken_can_be_forgotten(fleetqueue, tmp_path):
    (tmp_path / "fleet.json").write_text("{")

    result = fleetqueue("down", "--delete", "--data-dir", str(tmp_path))

    assert (result.code, result.out) == (0, f"the fleet in {tmp_path} is gone\n")
    assert not tmp_path.exists()


def test_a_fleet_whose_record_is_broken_is_ended_and_told(fleetqueue, tmp_path):
    (tmp_path / "fleet.json").write_text("{")

    result = fleetqueue("down", "--data-dir", str(tmp_path))

    assert result.code == 1
    assert f"forget the fleet with `fleetqueue down --delete --data-dir {tmp_path}`" in result.err
