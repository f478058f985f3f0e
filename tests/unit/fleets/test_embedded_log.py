"""The one log of an embedded fleet, read part by part."""

import logging

import pytest

from fleetqueue.fleets.embedded_log import FILE, LinesOf, keep, speakers
from fleetqueue.runtime.logs import Log, tagged

HUB_API = "04:11:15.055 I manager: working on=hub controllers=16\n"
HUB_KUEUE = (
    "04:11:18.084 I kueue: webhooks installed on=hub pod=kueue-system/kueue-controller-manager-57ff49bbdb-nr4f8\n"
)
WORKER_KUEUE = "04:11:18.084 W kueue: late on=cluster1 pod=kueue-system/kueue-controller-manager-57ff49bbdb-abcde n=1\n"
FAILURE = "04:11:19.000 E nodes: program failed on=cluster1 pod=default/job-x container=a\n"
TRACE = "Traceback (most recent call last):\n"
NOBODYS = "04:11:20.000 I storage: log compacted\n"
ALL = [HUB_API, HUB_KUEUE, WORKER_KUEUE, FAILURE, TRACE, NOBODYS]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        pytest.param("hub/kueue", [HUB_KUEUE], id="a part, by how its pods are called"),
        pytest.param("hub/kueue-controller-manager", [HUB_KUEUE], id="a part, by its Deployment"),
        pytest.param("hub/apiserver", [HUB_API], id="what is no pod"),
        pytest.param("hub", [HUB_API, HUB_KUEUE], id="a whole cluster"),
        pytest.param("cluster1/job", [FAILURE, TRACE], id="what goes on belongs to the line before"),
        pytest.param("cluster2", [], id="a cluster that is not there"),
        pytest.param("", [NOBODYS], id="what no cluster said"),
    ],
)
def test_lines_of(name, wanted):
    assert list(filter(LinesOf(name), ALL)) == wanted


def test_parts_are_named_by_their_deployments():
    assert speakers(ALL) == [
        "cluster1/job-x",
        "cluster1/kueue-controller-manager",
        "hub/apiserver",
        "hub/kueue-controller-manager",
    ]


@pytest.fixture
def fleets_log(tmp_path):
    """The lines of a log that is kept while the test runs."""
    logger = logging.getLogger("fleetqueue")
    before = logger.handlers[:], logger.level, logger.propagate
    keep(tmp_path)
    yield lambda: (tmp_path / FILE).read_text()
    for handler in logger.handlers:
        handler.close()
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


def test_what_is_kept_says_whose_it_is(fleets_log):
    with tagged(on="hub"), tagged(pod="kueue-system/kueue-controller-manager-57ff49bbdb-nr4f8"):
        Log("kueue").info("workload finished", workload="default/w")

    assert speakers(fleets_log().splitlines()) == ["hub/kueue-controller-manager"]
