"""`fleetqueue clusterset`: what it is told by its options."""

import pytest


@pytest.mark.parametrize("clusters", ["", " , "])
def test_no_cluster_is_wrong_usage(fleetqueue, clusters):
    result = fleetqueue("clusterset", "set", "spoke", "--clusters", clusters)

    assert (result.code, result.err) == (2, "error: --clusters names no cluster\n")


def test_clusters_must_be_named(fleetqueue):
    result = fleetqueue("clusterset", "set", "spoke")

    assert result.code == 2
    assert "--clusters" in result.err
