"""Commands about a fleet on this machine that need no fleet to be tried."""

import pytest

from fleetqueue.cli.join import labels
from fleetqueue.cli.running import Failure


def test_a_kubeconfig_is_printed_or_its_path(fleetqueue, tmp_path):
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / "kubeconfig").write_text("kind: Config\n")
    (tmp_path / "kubeconfig").write_text("all of them\n")
    where = ("--data-dir", str(tmp_path))

    assert fleetqueue("kubeconfig", "hub", *where).out == "kind: Config\n"
    assert fleetqueue("kubeconfig", "show", "hub", *where).out == "kind: Config\n"
    assert fleetqueue("kubeconfig", "--path", *where).out == f"{tmp_path / 'kubeconfig'}\n"
    assert fleetqueue("kubeconfig", "--merged", *where).out == "all of them\n"


def test_a_log_is_printed_as_far_as_asked(fleetqueue, tmp_path):
    (tmp_path / "hub" / "logs").mkdir(parents=True)
    (tmp_path / "hub" / "logs" / "kueue.log").write_text("one\ntwo\nthree\n")
    where = ("--data-dir", str(tmp_path))

    assert fleetqueue("logs", "hub/kueue", *where).out == "one\ntwo\nthree\n"
    assert fleetqueue("logs", "hub/kueue", "--tail", "1", *where).out == "three\n"
    assert "known are: hub/kueue" in fleetqueue("logs", "hub/nope", *where).err


def test_deleting_the_folder_of_somebody_else_is_refused(fleetqueue, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")

    result = fleetqueue("down", "--delete", "--data-dir", str(tmp_path))

    assert result.code == 1
    assert (tmp_path / "thesis.txt").exists()


def test_labels_are_read():
    assert labels(["a=b", "c=", "d=e=f"]) == {"a": "b", "c": "", "d": "e=f"}


@pytest.mark.parametrize("wrong", ["a", "=b"])
def test_a_wrong_label_is_named(wrong):
    with pytest.raises(Failure, match="has the form key=value"):
        labels([wrong])


def test_settings_can_be_looked_at(fleetqueue):
    result = fleetqueue("controller", "--show-settings", "--no-leader-election", "--set", "probes.port=0")

    assert result.code == 0
    assert "enabled: false" in result.out
    assert "port: 0" in result.out
