"""Who is woken: the keys that a change put into a controller's queue."""

from fleetqueue.runtime.controller import Controller
from fleetqueue.testing.virtual_time import settle


async def woken(controller: Controller) -> set[str]:
    """Return the keys that wait to be worked on, and take them out."""
    await settle()
    keys = set()
    while len(controller.queue):
        key = await controller.queue.take()
        controller.queue.done(key)
        keys.add(key)
    return keys
