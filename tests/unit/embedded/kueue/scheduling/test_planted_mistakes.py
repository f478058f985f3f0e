"""The properties of what the scheduler decides have teeth: each notices the mistake that it is there for."""

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fleetqueue.embedded.kueue.scheduling import candidates, fair_preemption, preemption
from fleetqueue.embedded.kueue.scheduling.cycle import Cycle, Fits
from fleetqueue.embedded.kueue.scheduling.pending_queue import AT_ONCE, PendingQueue
from fleetqueue.embedded.kueue.scheduling.preemption import without_needless
from fleetqueue.embedded.kueue.settings import FairSharingSettings

from . import quota_crowds, topology_crowds

FAIR = {"fair": st.just(FairSharingSettings())}
CLASSICAL = {"fair": st.none()}


def strict_heads_are_parked(patch):
    """Only a change brings back who was tried before."""
    patch.setattr(PendingQueue, "_is_tried_again", lambda queue, work, why: why in AT_ONCE)


def preemptors_are_not_looked_at_again(patch):
    still_fits = Cycle._still_fits

    def fits(cycle, entry, queue):
        return Fits.YES if entry.targets else still_fits(cycle, entry, queue)

    patch.setattr(Cycle, "_still_fits", fits)


def one_victim_too_few(patch):
    """The first of a cycle is not looked at again: nobody else can have taken its room."""
    still_fits = Cycle._still_fits

    def fits(cycle, entry, queue):
        is_first = cycle.turns == [entry]
        return Fits.YES if entry.targets and is_first else still_fits(cycle, entry, queue)

    def too_few(preemptor, chosen, *, may_borrow):
        enough = without_needless(preemptor, chosen, may_borrow=may_borrow)
        return enough[1:] or enough

    patch.setattr(Cycle, "_still_fits", fits)
    for module in (preemption, fair_preemption):
        patch.setattr(module, "without_needless", too_few)


def equals_preempt_each_other(patch):
    """Whatever a queue says, a Workload may be preempted for any other."""
    patch.setattr(candidates, "_is_allowed", lambda preemptor, work, policy: True)


def ask(keep, drawn):
    """Ask a property, of the same examples in every run; the first that breaks it is enough."""
    same = settings(max_examples=200, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    same(given(**drawn)(keep))()


ROOM = quota_crowds.keep_room, quota_crowds.CROWDS
ROOM_ON_NODES = topology_crowds.keep_room, topology_crowds.CROWDS
ORDER = quota_crowds.keep_order, quota_crowds.EQUALS
ORDER_ON_NODES = topology_crowds.keep_order, topology_crowds.EQUALS


@pytest.mark.parametrize("sharing", [pytest.param(CLASSICAL, id="classical"), pytest.param(FAIR, id="fair")])
@pytest.mark.parametrize(
    ("mistake", "property_and_drawn", "broken"),
    [
        pytest.param(strict_heads_are_parked, ORDER, "somebody runs before", id="a strict head is parked"),
        pytest.param(
            strict_heads_are_parked, ORDER_ON_NODES, "somebody runs before", id="a strict head without nodes is parked"
        ),
        pytest.param(one_victim_too_few, ROOM, "there is no room", id="one victim too few"),
        pytest.param(one_victim_too_few, ROOM_ON_NODES, "no room|a place", id="one victim too few for the nodes"),
        pytest.param(preemptors_are_not_looked_at_again, ROOM, "room", id="two preempt for the same room"),
        pytest.param(preemptors_are_not_looked_at_again, ROOM_ON_NODES, "room", id="two preempt for the same nodes"),
    ],
)
def test_a_mistake_is_noticed(monkeypatch, mistake, property_and_drawn, broken, sharing):
    keep, drawn = property_and_drawn
    mistake(monkeypatch)

    with pytest.raises(AssertionError, match=broken):
        ask(keep, {**drawn, **sharing})


def test_preemption_without_an_end_is_noticed(monkeypatch):
    equals_preempt_each_other(monkeypatch)

    with pytest.raises(AssertionError, match="never comes to an end"):
        ask(quota_crowds.come_to_an_end, {**quota_crowds.CROWDS, **CLASSICAL})
