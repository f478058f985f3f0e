"""The newest Events, and the last words of our dispatcher."""

from datetime import datetime, timedelta

import pytest

from fleetqueue.dashboard.event_rows import MOST_EVENTS, RecentEvents
from fleetqueue.dashboard.kinds import ShownEvent
from fleetqueue.runtime.events import COMPONENT

START = datetime.fromisoformat("2026-01-01T00:00:00Z")


def event(number, reason="NoClusterToNominate", *, uid="u1", by=COMPONENT, **fields):
    manifest = ShownEvent.manifest(
        f"e{number}",
        "ns",
        reason=reason,
        note=f"note {number}",
        regarding={"kind": "Workload", "name": "w", "namespace": "ns", "uid": uid},
        reportingController=by,
        eventTime=(START + timedelta(seconds=number)).isoformat(),
        **fields,
    )
    return ShownEvent.view(manifest)


def test_only_the_newest_are_kept():
    recent = RecentEvents()
    for number in range(3 * MOST_EVENTS):
        recent.put(event(number))

    rows = recent.rows()

    assert len(rows) == MOST_EVENTS
    assert min(row["time"] for row in rows.values()) == START.timestamp() + 2 * MOST_EVENTS


def test_an_event_that_the_hub_forgets_goes():
    recent = RecentEvents()
    recent.put(event(1))

    recent.remove(event(1))

    assert recent.rows() == {}
    assert recent.notes == {}


@pytest.mark.parametrize(
    ("events", "notes"),
    [
        pytest.param([event(1)], {"u1": "note 1"}, id="it explains why a job waits"),
        pytest.param([event(1), event(2)], {"u1": "note 2"}, id="the newest counts"),
        pytest.param([event(2), event(1)], {"u1": "note 2"}, id="whatever came first"),
        pytest.param([event(1), event(2, "Nominated")], {}, id="a later one that explains nothing"),
        pytest.param([event(1, by="kueue")], {}, id="somebody else's"),
    ],
)
def test_the_last_word_of_the_dispatcher_explains(events, notes):
    recent = RecentEvents()
    for one in events:
        recent.put(one)

    assert recent.notes == notes


def test_a_repeated_event_tells_when_it_happened_last_and_how_often():
    again = (START + timedelta(hours=1)).isoformat()

    repeated = event(1, series={"count": 5, "lastObservedTime": again})

    assert repeated.time == START + timedelta(hours=1)
    assert repeated.count == 5
