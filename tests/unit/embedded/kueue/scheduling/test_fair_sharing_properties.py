"""What fair sharing promises, whatever the queues and Workloads are: played through, cycle after cycle."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fleetqueue.embedded.kueue.scheduling.cycle import Cycle
from fleetqueue.embedded.kueue.settings import BOTH_STRATEGIES, FairSharingSettings

from .fair_caches import cohort_queue
from .fair_play import Play
from .objects import NOON, cohort

RULES = {"preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}}
STRATEGIES = st.sampled_from([(BOTH_STRATEGIES[0],), (BOTH_STRATEGIES[1],), BOTH_STRATEGIES])
FAIR = st.builds(FairSharingSettings, preemption_strategies=STRATEGIES)


@settings(max_examples=25, deadline=None)
@given(count=st.integers(2, 5), each=st.integers(1, 5), late=st.integers(0, 4), fair=FAIR)
def test_equal_weights_come_to_equal_shares(count, each, late, fair):
    names = [f"q{number}" for number in range(count)]
    play = Play(*(cohort_queue(name, 0, **RULES) for name in names), cohort_queue("lender", count * each), fair=fair)
    late_name = names[late % count]
    for name in names:
        for number in range(count * each):
            if name != late_name:
                play.submit(f"{name}-{number}", to=name)
    play.settle()
    for number in range(count * each):
        play.submit(f"{late_name}-{number}", to=late_name)

    play.settle()

    assert [play.used(name) for name in names] == [each] * count


@settings(max_examples=25, deadline=None)
@given(weight=st.integers(1, 4), unit=st.integers(1, 4), heavy_first=st.booleans(), fair=FAIR)
def test_weights_come_to_shares_in_their_proportion(weight, unit, heavy_first, fair):
    total = unit * (weight + 1)
    play = Play(
        cohort_queue("heavy", 0, weight=str(weight), **RULES),
        cohort_queue("light", 0, **RULES),
        cohort_queue("lender", total),
        fair=fair,
    )
    for name in ("heavy", "light") if heavy_first else ("light", "heavy"):
        for number in range(total):
            play.submit(f"{name}-{number}", to=name)
        play.settle()

    assert (play.used("heavy"), play.used("light")) == (unit * weight, unit)


QUEUES = [f"q{number}" for number in range(4)]
TREES = st.sampled_from([("c", "c", "c", "c"), ("left", "left", "right", "c"), ("left", "right", "left", "right")])
JOBS = st.lists(st.tuples(st.sampled_from(QUEUES), st.integers(1, 4), st.integers(0, 2)), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(
    jobs=JOBS,
    quotas=st.tuples(*[st.integers(0, 4)] * 4),
    weights=st.tuples(*[st.sampled_from(["0", "0.5", "1", "3"])] * 4),
    tree=TREES,
    fair=FAIR,
)
def test_quota_holds_and_a_preemption_makes_room_for_whom_it_was(jobs, quotas, weights, tree, fair):
    halves = [cohort("left", parent="c"), cohort("right", parent="c", fairSharing={"weight": "2"})]
    made = zip(QUEUES, quotas, tree, weights, strict=True)
    play = Play(*halves, *(cohort_queue(n, q, to=t, weight=w, **RULES) for n, q, t, w in made), fair=fair)
    for number, (name, cpu, priority) in enumerate(jobs):
        play.submit(f"w{number}", to=name, cpu=cpu, priority=priority)

    for _ in range(30):
        heads = play.cache.heads()
        entries = Cycle(play.cache, play.number, NOON, fair).run(heads)
        for entry in entries:
            if entry.targets and entry.status.name == "PREEMPTS":
                for target in entry.targets:
                    target.candidate.queue.add_all(target.candidate.work.usage, -1)
                assert entry.queue.fits(entry.assignment.usage)
                for target in entry.targets:
                    target.candidate.queue.add_all(target.candidate.work.usage)
            play.cache.back(entry.work, entry.why)
        play.cycle()
        assert sum(map(play.used, QUEUES)) <= sum(quotas)


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(1, 5), min_size=2, max_size=12), other=st.integers(0, 4))
def test_a_strict_queue_keeps_its_order(sizes, other):
    play = Play(
        cohort_queue("q", 1, queueingStrategy="StrictFIFO", **RULES),
        cohort_queue("r", 1, **RULES),
        cohort_queue("lender", 4),
    )
    for number in range(other):
        play.submit(f"r{number}", to="r")
    for number, cpu in enumerate(sizes):
        play.submit(f"q{number}", to="q", cpu=cpu)

    for _ in range(20):
        play.cycle()

    tried = [name for name in play.tried if name.startswith("q")]
    assert [*dict.fromkeys(tried)] == [f"q{number}" for number in range(len(dict.fromkeys(tried)))]
