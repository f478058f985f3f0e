"""What may be typed after `fleetqueue explain`."""

import pytest

from fleetqueue.cli.explain import in_words, plain


@pytest.mark.parametrize(
    ("written", "words"),
    [
        pytest.param("job", ["job"], id="a command"),
        pytest.param("-h", ["-h"], id="an option"),
        pytest.param("job/train", ["job", "job/train"], id="a job"),
        pytest.param("PyTorchJob/train", ["job", "PyTorchJob/train"], id="a job of another kind"),
        pytest.param("job.batch/train", ["job", "job.batch/train"], id="a job with its group"),
        pytest.param("queue/gpu", ["queue", "gpu"], id="a queue"),
        pytest.param("localqueue.kueue.x-k8s.io/gpu", ["queue", "gpu"], id="a LocalQueue with its group"),
        pytest.param("cq/gpu", ["queue", "gpu"], id="a ClusterQueue, whose LocalQueues are said"),
        pytest.param("managedcluster.cluster.open-cluster-management.io/c1", ["cluster", "c1"], id="a cluster"),
        pytest.param("placement/gpu", ["placement", "gpu"], id="a Placement"),
        pytest.param("Workload/w", ["workload", "w"], id="a Workload"),
    ],
)
def test_a_kind_with_a_name_means_a_command(written, words):
    assert in_words(written) == words


def test_a_name_may_come_with_its_kind():
    assert [plain("gpu"), plain("localqueue.kueue.x-k8s.io/gpu")] == ["gpu", "gpu"]


def test_a_queue_is_given_only_with_a_file(fleetqueue):
    result = fleetqueue("explain", "job", "train", "-q", "gpu")

    assert result.code == 2
    assert result.err == "error: --queue is for jobs that are not submitted yet: give their file with -f\n"


def test_an_unknown_command_is_still_one(fleetqueue):
    result = fleetqueue("explain", "joob")

    assert result.code == 2
    assert "No such command 'joob'" in result.err
