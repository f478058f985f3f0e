"""The logs of a fleet, printed and followed."""

import pytest

from fleetqueue.cli.part_logs import coming, is_part


def test_a_log_is_printed_as_far_as_asked(fleetqueue, tmp_path):
    (tmp_path / "hub" / "logs").mkdir(parents=True)
    (tmp_path / "hub" / "logs" / "kueue.log").write_text("one\ntwo\nthree\n")
    where = ("--data-dir", str(tmp_path))

    assert fleetqueue("logs", "hub/kueue", *where).out == "one\ntwo\nthree\n"
    assert fleetqueue("logs", "hub/kueue", "--tail", "1", *where).out == "three\n"
    assert "known are: hub/kueue" in fleetqueue("logs", "hub/nope", *where).err


KUEUE_SAYS = (
    "04:11:18.084 I kueue: webhooks installed on=hub pod=kueue-system/kueue-controller-manager-57ff49bbdb-nr4f8\n"
)
HUB_SAYS = "04:11:15.055 I manager: working on=hub controllers=16\n"
CLUSTER1_SAYS = "04:11:15.056 I manager: working on=cluster1 controllers=16\n"


@pytest.fixture
def embedded_logs(fleetqueue, tmp_path):
    """`fleetqueue logs` for an embedded fleet that has said something."""
    (tmp_path / "parts.log").write_text(HUB_SAYS + CLUSTER1_SAYS + KUEUE_SAYS)
    (tmp_path / "supervisor.log").write_text("the workers have joined the hub\n")
    return lambda *arguments: fleetqueue("logs", *arguments, "--data-dir", str(tmp_path))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("hub/kueue", KUEUE_SAYS, id="a part"),
        pytest.param("hub/apiserver", HUB_SAYS, id="a process as status names it"),
        pytest.param("hub", HUB_SAYS + KUEUE_SAYS, id="a cluster"),
        pytest.param("supervisor", "the workers have joined the hub\n", id="the fleet itself"),
    ],
)
def test_of_embedded_clusters_the_lines_of_a_part_are_printed(embedded_logs, name, told):
    assert embedded_logs(name).out == told


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        pytest.param("hub/nope", 3, "known are: hub/apiserver, hub/kueue-controller-manager\n", id="a wrong part"),
        pytest.param("cluster9/kueue", 3, "known are: cluster1/..., hub/..., supervisor\n", id="a wrong cluster"),
        pytest.param("", 2, "say whose log, such as hub/kueue-controller-manager; known are: cluster1/...", id="none"),
    ],
)
def test_a_log_that_is_not_there_is_told_with_those_that_are(embedded_logs, name, code, said):
    result = embedded_logs(*([name] if name else []))

    assert result.code == code
    assert said in result.err


def test_a_log_that_is_put_aside_is_followed_into_the_next_one(tmp_path):
    file = tmp_path / "parts.log"
    file.write_text("one\n")

    with file.open() as lines:
        further = coming(file, lines)
        first = next(further)
        file.rename(tmp_path / "parts.log.1")
        file.write_text("two\n")
        second = next(further)
        further.close()

    assert (first, second) == ("one\n", "two\n")


@pytest.mark.parametrize(
    ("name", "is_a_part"),
    [
        pytest.param("hub/kueue", True, id="a process"),
        pytest.param("cluster9/kueue", True, id="a process of a cluster that is not there"),
        pytest.param("Job/train", False, id="a job as listings write it"),
        pytest.param("job/train", False, id="a job in small letters"),
        pytest.param("jobs/train", False, id="a job in the plural"),
        pytest.param("job.batch/train", False, id="a job as kubectl writes it"),
        pytest.param("sparkjob.example.com/train", False, id="a job of a kind that nobody here knows"),
    ],
)
def test_a_name_with_a_kind_is_that_of_a_job(tmp_path, name, is_a_part):
    assert is_part(tmp_path, name) is is_a_part
