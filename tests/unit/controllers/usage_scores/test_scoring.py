"""What is free becomes a score between -100 and 100, in an order that users rely on."""

from decimal import Decimal

import pytest

from fleetqueue.api.quantity import parse
from fleetqueue.api.usage_scores import CPU, GPU, MEMORY, TPU, ScoreScale, loss
from fleetqueue.controllers.usage_scores.scoring import lowest, normalised, scores

ORDER = [
    "cpuNodeAvailable",
    "cpuClusterAvailable",
    "memNodeAvailable",
    "memClusterAvailable",
    "gpuNodeAvailable",
    "gpuClusterAvailable",
    "tpuNodeAvailable",
    "tpuClusterAvailable",
    "cpuAvailable",
    "memAvailable",
]


@pytest.mark.parametrize(
    ("resource", "free", "score"),
    [
        pytest.param(GPU, "0", -100, id="no GPU"),
        pytest.param(GPU, "3", -70, id="3 GPUs, none used"),
        pytest.param(GPU, "2", -80, id="3 GPUs, one used"),
        pytest.param(GPU, "10", 0, id="half of the scale"),
        pytest.param(GPU, "20", 100, id="all of the scale"),
        pytest.param(GPU, "21", 100, id="more than the scale"),
        pytest.param(TPU, "1", -90, id="1 TPU"),
        pytest.param(CPU, "40", -20, id="40 cores"),
        pytest.param(CPU, "-10", -100, id="less than nothing"),
        pytest.param(CPU, "7050m", -85, id="rounded toward zero, below zero"),
        pytest.param(CPU, "50950m", 1, id="rounded toward zero, above zero"),
        pytest.param(MEMORY, "8027168Ki", -98, id="memory in MiB, where upstream counts bytes and says 100"),
        pytest.param(MEMORY, "524Gi", 2, id="524 GiB, where upstream says 100"),
        pytest.param(MEMORY, "1Ti", 100, id="1 TiB"),
    ],
)
def test_an_amount_has_a_score(resource: str, free: str, score: int) -> None:
    assert normalised(parse(free), ScoreScale().full(resource)) == score


@pytest.mark.checklist("S3-7")
def test_the_order_of_the_scores_is_a_contract() -> None:
    assert list(scores([], ScoreScale())) == ORDER
    assert list(lowest()) == ORDER
    assert ORDER[5] == "gpuClusterAvailable"


def test_a_cluster_without_nodes_has_the_lowest_scores() -> None:
    assert scores([], ScoreScale()) == lowest()
    assert set(lowest().values()) == {-100}


def test_the_cluster_counts_all_nodes_and_the_node_score_the_best_one() -> None:
    values = scores([{GPU: Decimal(6)}, {GPU: Decimal(6), CPU: Decimal(40)}], ScoreScale())

    assert (values["gpuClusterAvailable"], values["gpuNodeAvailable"]) == (20, -40)
    assert (values["cpuClusterAvailable"], values["cpuNodeAvailable"]) == (-20, -20)


def test_the_first_names_repeat_the_scores_of_the_cluster() -> None:
    values = scores([{CPU: Decimal(30), MEMORY: parse("300Gi")}, {CPU: Decimal(50)}], ScoreScale())

    assert values["cpuAvailable"] == values["cpuClusterAvailable"] == 60
    assert values["memAvailable"] == values["memClusterAvailable"] == -41


def test_a_larger_scale_tells_large_clusters_apart() -> None:
    free = [{GPU: Decimal(200)}]

    assert scores(free, ScoreScale())["gpuClusterAvailable"] == 100
    assert scores(free, ScoreScale(gpu=400))["gpuClusterAvailable"] == 0


@pytest.mark.parametrize("field", ["cpu", "memory", "gpu", "tpu"])
def test_a_scale_of_nothing_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match="above 0"):
        ScoreScale(**{field: 0})


@pytest.mark.parametrize(
    ("score", "amounts", "points"),
    [
        pytest.param("gpuClusterAvailable", {GPU: "1"}, 10.0, id="a GPU is ten points"),
        pytest.param("gpuNodeAvailable", {GPU: "2", CPU: "4"}, 20.0, id="only its own resource counts"),
        pytest.param("cpuClusterAvailable", {CPU: "100m"}, 0.2, id="small jobs add up"),
        pytest.param("memAvailable", {MEMORY: "512Gi"}, 100.0, id="memory in bytes"),
        pytest.param("tpuClusterAvailable", {GPU: "1"}, 0.0, id="nothing of it is asked for"),
        pytest.param("somebodyElsesScore", {GPU: "1"}, 0.0, id="not one of our scores"),
    ],
)
def test_a_placed_job_lowers_a_score(score: str, amounts: dict[str, str], points: float) -> None:
    assert loss(score, {name: parse(value) for name, value in amounts.items()}, ScoreScale()) == points


def test_a_loss_is_what_the_score_really_falls_by() -> None:
    before = scores([{GPU: Decimal(3)}], ScoreScale())["gpuClusterAvailable"]
    after = scores([{GPU: Decimal(2)}], ScoreScale())["gpuClusterAvailable"]

    assert before - after == loss("gpuClusterAvailable", {GPU: Decimal(1)}, ScoreScale())
