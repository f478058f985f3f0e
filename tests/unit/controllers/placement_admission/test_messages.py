"""What users read."""

import pytest

from fleetqueue.controllers.placement_admission import messages


@pytest.mark.parametrize(
    ("pair", "reason", "message"),
    [
        pytest.param(
            messages.generated({}),
            "Active",
            "MultiKueueConfig and MultiKueueCluster generated",
            id="as in the walkthroughs",
        ),
        pytest.param(
            messages.generated({"b": "no secret", "a": "full"}),
            "Active",
            "MultiKueueConfig and MultiKueueCluster generated; left out: a (full), b (no secret)",
            id="with some left out",
        ),
        pytest.param(
            messages.placement_not_found("gpu", "kueue-system", []),
            "PlacementNotFound",
            "Placement gpu not found in namespace kueue-system",
            id="no Placement",
        ),
        pytest.param(
            messages.placement_not_found("gpu", "kueue-system", ["gpu-c1"]),
            "PlacementNotFound",
            "Placement gpu not found in namespace kueue-system; running work goes on in gpu-c1",
            id="no Placement, but work",
        ),
        pytest.param(
            messages.no_clusters("gpu", {}, []),
            "NoClustersAvailable",
            "No clusters available for placement gpu",
            id="as upstream says it",
        ),
        pytest.param(
            messages.no_clusters("gpu", {"gpu-c1": "no secret"}, ["gpu-c2", "gpu-c3"]),
            "NoClustersAvailable",
            "No clusters available for placement gpu; left out: gpu-c1 (no secret);"
            " running work goes on in gpu-c2, gpu-c3",
            id="nothing usable, but work",
        ),
        pytest.param(
            messages.draining({"gpu-c1": "2 workloads"}),
            "ClustersDraining",
            "still listed until empty: gpu-c1 (2 workloads)",
            id="draining",
        ),
    ],
)
def test_what_users_read(pair, reason, message):
    assert pair == (reason, message)


@pytest.mark.parametrize(
    ("clusters", "text"),
    [
        pytest.param(1, "placement gpu selects 1 cluster", id="one"),
        pytest.param(2, "placement gpu selects 2 clusters", id="two"),
    ],
)
def test_a_ready_check_counts_its_clusters(clusters, text):
    assert messages.check_ready("gpu", clusters) == text


def test_every_problem_says_what_to_do():
    assert "kind Placement" in messages.bad_parameters()[1]
    assert "give the Placement another name, or delete the config when" in messages.config_not_ours("gpu")[1]
    _, message = messages.other_dispatcher("x", "kueue-system/conf")

    assert "multiKueue.dispatcherName to fleetqueue.dev/dispatcher in the ConfigMap kueue-system/conf" in message


def test_a_thousand_clusters_still_fit_into_a_condition():
    """A condition's message holds 32,768 characters; a longer one is refused, and nothing would be said at all."""
    left_out = {f"gpu-cluster-{number:04}": "beyond the limit of 20" for number in range(1000)}

    for _, message in (messages.generated(left_out), messages.no_clusters("gpu", left_out, list(left_out))):
        assert len(message) < 2000
        assert "gpu-cluster-0000 (beyond the limit of 20)" in message
        assert "and 990 more" in message
    assert len(messages.draining(left_out)[1]) < 2000
