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
