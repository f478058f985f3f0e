"""What must hold in every test of whole systems, whatever happens in it.

1. At most one live copy of a job: `SingleRunMonitor`, told of every change on the workers.
2. Nothing foreign is touched: `strangers`, put into a world before anything happens in it.
3. A second reconcile writes nothing: `quiet` for whole worlds, `second_look` for the controllers of one room.
4. Every pending job has a reason, in its objects and from `explain`: `reasons`.

`standing_by` watches over all four in a world that has clients; `witness` sees every single change where a test has the
clusters' logs in its hands.
"""


class Broken(AssertionError):
    """What must never happen did."""
