"""Whom to nominate: room, then score, then the strategy, then the name."""

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.quantity import add, parse_all
from fleetqueue.controllers.placement_admission.candidate_ranking import (
    PACK,
    SPREAD,
    Candidate,
    explain,
    facts_of,
    ranked,
    scarcest,
    shortage,
)

GPU = "nvidia.com/gpu"
ONE_GPU = parse_all({GPU: "1"})


def with_gpus(name, gpus, used=0, **options):
    quota = {GPU: Decimal(gpus), "cpu": Decimal(8)}
    return Candidate(name, quota=quota, used={GPU: Decimal(used)}, **options)


ROOMY = with_gpus("roomy", 1, score=-50)
UNKNOWN = Candidate("unknown", score=50)
FULL = with_gpus("full", 4, used=4, score=100)
OUT = with_gpus("out", 8, score=100, excluded="draining")


def names(candidates, requests=ONE_GPU, strategy=SPREAD):
    return [candidate.member for candidate in ranked(candidates, requests, strategy)]


@pytest.mark.parametrize(
    ("candidates", "order"),
    [
        pytest.param([], [], id="nobody"),
        pytest.param([OUT], [], id="only one that is excluded"),
        pytest.param([FULL, UNKNOWN, ROOMY], ["roomy", "unknown", "full"], id="room before score"),
        pytest.param([Candidate("a", score=1), Candidate("b", score=2)], ["b", "a"], id="the higher score"),
        pytest.param([Candidate("b", score=1), Candidate("a", score=1)], ["a", "b"], id="then the name"),
        pytest.param([OUT, FULL], ["full"], id="one without room is still better than none"),
        pytest.param([with_gpus("a", 4, used=1), with_gpus("b", 4)], ["b", "a"], id="the least used"),
        pytest.param(
            [with_gpus("a", 4, used=1), with_gpus("b", 40, used=2)], ["b", "a"], id="by its part, not by its amount"
        ),
        pytest.param(
            [with_gpus("a", 4, used=3, score=1), with_gpus("b", 4)],
            ["a", "b"],
            id="a score goes before how much is used",
        ),
        pytest.param(
            [with_gpus("a", 0, used=3, can_borrow=True), with_gpus("b", 0, used=1, can_borrow=True)],
            ["b", "a"],
            id="what has no quota of its own counts like the others",
        ),
        pytest.param(
            [Candidate("a", used=ONE_GPU), Candidate("b")], ["b", "a"], id="what we sent, where nothing else is known"
        ),
        pytest.param([with_gpus("a", 4, used=6), with_gpus("b", 4, used=5)], ["b", "a"], id="the shorter queue"),
    ],
)
def test_the_order_of_the_candidates(candidates, order):
    assert names(candidates) == order


@pytest.mark.parametrize(
    ("candidates", "order"),
    [
        pytest.param([with_gpus("a", 4), with_gpus("b", 4, used=1)], ["b", "a"], id="the fullest"),
        pytest.param([with_gpus("a", 4), with_gpus("b", 4, used=4)], ["a", "b"], id="that has room"),
        pytest.param([with_gpus("a", 4, score=1), with_gpus("b", 4, used=1)], ["a", "b"], id="of equal score"),
        pytest.param([with_gpus("a", 4, used=6), with_gpus("b", 4, used=5)], ["b", "a"], id="else the shorter queue"),
        pytest.param([with_gpus("b", 4), with_gpus("a", 4)], ["a", "b"], id="then the name"),
    ],
)
def test_the_order_when_jobs_are_packed(candidates, order):
    assert names(candidates, strategy=PACK) == order


@pytest.mark.parametrize(
    ("requests", "quota", "answer"),
    [
        pytest.param({"cpu": "1"}, None, None, id="not known"),
        pytest.param({"cpu": "1"}, {"cpu": Decimal(1)}, True, id="just enough"),
        pytest.param({"cpu": "1001m"}, {"cpu": Decimal(1)}, False, id="just too little"),
        pytest.param({"cpu": "1", "memory": "1Gi"}, {"cpu": Decimal(8)}, False, id="a resource that it does not have"),
        pytest.param({"tpu": "0"}, {}, True, id="nothing of what it does not have"),
        pytest.param({}, {"cpu": Decimal(-1)}, True, id="a job that asks for nothing"),
    ],
)
def test_whether_there_is_room(requests, quota, answer):
    assert Candidate("a", quota=quota).has_room(parse_all(requests)) is answer


def test_what_others_could_lend_is_not_guessed():
    assert with_gpus("a", 4, can_borrow=True).has_room(ONE_GPU) is None


@pytest.mark.parametrize(
    ("quota", "borrowed", "needed", "message"),
    [
        pytest.param({"cpu": "8"}, {}, {"cpu": "8"}, "", id="all of it"),
        pytest.param({"cpu": "8"}, {}, {"cpu": "64"}, "has 8 cpu, and the job needs 64", id="more than it has"),
        pytest.param({"cpu": "8"}, {}, {"cpu": "8500m"}, "has 8 cpu, and the job needs 8.5", id="half a core more"),
        pytest.param(
            {"cpu": "8", "memory": "36Gi"},
            {},
            {"cpu": "1", "memory": "64Gi"},
            "has 36Gi memory, and the job needs 64Gi",
            id="of one of its resources",
        ),
        pytest.param({"cpu": "8"}, {"cpu": "4"}, {"cpu": "12"}, "", id="with what it may borrow"),
        pytest.param(
            {"cpu": "8"},
            {"cpu": "4"},
            {"cpu": "13"},
            "has 8 cpu and may borrow 4, and the job needs 13",
            id="more than it may borrow",
        ),
        pytest.param({"cpu": "8"}, {"cpu": "Infinity"}, {"cpu": "999"}, "", id="nothing limits what it borrows"),
        pytest.param({"cpu": "8"}, {}, {GPU: "1"}, f"has 0 {GPU}, and the job needs 1", id="what it does not have"),
        pytest.param({"cpu": "8"}, {}, {GPU: "0"}, "", id="nothing of what it does not have"),
        pytest.param({"cpu": "8"}, {}, {"pods": "3"}, "", id="pods, where they are not counted"),
        pytest.param({"pods": "2"}, {}, {"pods": "3"}, "has 2 pods, and the job needs 3", id="pods that are counted"),
        pytest.param({"cpu": "8"}, {}, {}, "", id="a job that needs nothing"),
    ],
)
def test_what_a_quota_can_never_hold(quota, borrowed, needed, message):
    own = parse_all(quota)
    limits = add([own, {name: Decimal(amount) for name, amount in borrowed.items()}])

    assert shortage(own, limits, parse_all(needed)) == message


@pytest.mark.parametrize(
    ("requests", "resource"),
    [
        pytest.param({GPU: "1", "cpu": "1"}, GPU, id="one of two GPUs before one of sixteen cores"),
        pytest.param({GPU: "1", "cpu": "12"}, "cpu", id="twelve cores before a GPU"),
        pytest.param({"cpu": "1", "tpu": "1"}, "tpu", id="what nobody has"),
        pytest.param({"cpu": "0"}, "", id="a job that asks for nothing"),
    ],
)
def test_the_scarcest_resource(requests, resource):
    assert scarcest([with_gpus("a", 1), with_gpus("b", 1)], parse_all(requests)) == resource


def test_a_device_is_the_scarcest_where_no_queue_is_known():
    assert scarcest([UNKNOWN], parse_all({"memory": "1Gi", GPU: "1", "cpu": "4"})) == GPU


def test_the_explanation_names_everybody_in_the_order_of_the_choice():
    text = explain([OUT, FULL, UNKNOWN, ROOMY], ONE_GPU)

    assert text == (
        f"roomy: score -50, has room, 0% of its {GPU} used; unknown: score 50, room unknown;"
        f" full: score 100, no room now, 100% of its {GPU} used; out: draining"
    )


def test_that_every_cluster_is_too_small_is_said_first():
    small = [Candidate(name, excluded="has 8 cpu, and the job needs 64", is_too_small=True) for name in ("b", "a")]
    reasons = "a: has 8 cpu, and the job needs 64; b: has 8 cpu, and the job needs 64"

    assert explain(small, ONE_GPU) == f"no selected cluster's quota holds this job; {reasons}"
    assert explain([*small, OUT], ONE_GPU) == f"{reasons}; out: draining"


def test_a_config_without_clusters_is_explained_too():
    assert explain([], ONE_GPU) == "the config lists no cluster"


# A burst


def burst(candidates, jobs, requests, strategy=SPREAD):
    """Send jobs one by one, each counted where it was sent; return how many each member got."""
    counts = Counter()
    for _ in range(jobs):
        best = ranked(candidates, requests, strategy)[0]
        counts[best.member] += 1
        candidates = [replace(c, used=add([c.used, requests])) if c is best else c for c in candidates]
    return counts


sizes = st.integers(1, 5).map(Decimal) | st.sampled_from([Decimal(text) for text in ("0.5", "0.1", "2.333333333")])
"""A quantity has at most nine digits after its point."""


@given(workers=st.integers(1, 6), room=st.integers(1, 20), size=sizes, data=st.data())
def test_equal_workers_get_the_same_number_of_jobs_but_for_one(workers, room, size, data):
    candidates = [Candidate(f"w{n}", quota={GPU: room * size, "cpu": Decimal(100)}) for n in range(workers)]
    jobs = data.draw(st.integers(0, workers * room + 3))

    counts = burst(candidates, jobs, {GPU: size, "cpu": Decimal(1)})

    got = [counts[candidate.member] for candidate in candidates]
    assert max(got) - min(got) <= 1


@given(rooms=st.lists(st.integers(1, 60), min_size=1, max_size=6), size=sizes, data=st.data())
def test_unequal_workers_get_jobs_in_proportion_to_what_is_free_but_for_one(rooms, size, data):
    candidates = [Candidate(f"w{n}", quota={GPU: room * size}) for n, room in enumerate(rooms)]
    jobs = data.draw(st.integers(0, sum(rooms)))

    counts = burst(candidates, jobs, {GPU: size})

    for n, room in enumerate(rooms):
        assert abs(counts[f"w{n}"] - Fraction(jobs * room, sum(rooms))) <= 1


@given(workers=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)), min_size=2, max_size=5), data=st.data())
def test_a_worker_that_is_used_already_gets_nothing_until_the_others_are_as_full(workers, data):
    candidates = [with_gpus(f"w{n}", used + free, used) for n, (used, free) in enumerate(workers)]
    jobs = data.draw(st.integers(1, sum(free for _, free in workers)))

    counts = burst(candidates, jobs, ONE_GPU)

    totals = {c.member: c.quota[GPU] for c in candidates}
    used = {c.member: c.used[GPU] + counts[c.member] for c in candidates}
    fair = sum(used.values()) / sum(totals.values())
    assert all(used[name] < fair * totals[name] + 1 for name in counts)


@given(rooms=st.lists(st.integers(1, 8), min_size=1, max_size=5), data=st.data())
def test_packed_jobs_open_a_new_worker_only_when_the_others_are_full(rooms, data):
    candidates = [with_gpus(f"w{n}", room) for n, room in enumerate(rooms)]
    jobs = data.draw(st.integers(0, sum(rooms)))

    counts = burst(candidates, jobs, ONE_GPU, PACK)

    partly = [n for n, room in enumerate(rooms) if 0 < counts[f"w{n}"] < room]
    assert len(partly) <= 1


@pytest.mark.parametrize(
    ("candidate", "facts"),
    [
        pytest.param(FULL, {"room": "no room now", "used_percent": {GPU: 100}, "missing": []}, id="no room"),
        pytest.param(UNKNOWN, {"room": "room unknown", "used_percent": {}, "missing": []}, id="not known"),
        pytest.param(OUT, {"room": "", "used_percent": {}, "missing": []}, id="draining"),
        pytest.param(
            Candidate(
                "a", excluded=shortage(parse_all({"cpu": "8"}), parse_all({"cpu": "9"}), parse_all({"cpu": "64"}))
            ),
            {
                "room": "",
                "used_percent": {},
                "missing": [{"resource": "cpu", "quota": "8", "borrowable": "1", "needed": "64"}],
            },
            id="too small",
        ),
    ],
)
def test_what_was_explained_can_be_read_as_fields(candidate, facts):
    said = explain([candidate], ONE_GPU).partition(": ")[2]

    assert facts_of(said) == facts
