"""The numbers that a process shows."""

import pytest

from fleetqueue.api.requests import Request
from fleetqueue.runtime.metrics import Metrics


@pytest.mark.parametrize(
    ("request_", "verb"),
    [
        (Request("GET", "/api/v1/nodes"), "GET"),
        (Request("GET", "/api/v1/nodes", {"watch": "true"}), "WATCH"),
        (Request("PATCH", "/api/v1/nodes/n"), "PATCH"),
    ],
)
def test_requests_are_counted_by_cluster_verb_and_code(request_, verb):
    metrics = Metrics()

    metrics.count("hub", request_, 200)
    metrics.count("hub", request_, 200)

    labels = {"cluster": "hub", "verb": verb, "code": "200"}
    assert metrics.registry.get_sample_value("fleetqueue_api_requests_total", labels) == 2


def test_two_processes_in_one_do_not_share_numbers():
    one, other = Metrics(), Metrics()

    one.leading.set(1)

    assert other.registry.get_sample_value("fleetqueue_leading") == 0
