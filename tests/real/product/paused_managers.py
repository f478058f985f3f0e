"""Workers that make no pods for a time."""

from contextlib import asynccontextmanager


@asynccontextmanager
async def no_pods_yet(env):
    """Let no Job on a worker get pods before the yielded function is called."""
    fleet, managers = env.world.fleet, [f"{worker}/kube-controller-manager" for worker in env.workers]
    for manager in managers:
        fleet.pause(manager)

    def let_pods_start():
        while managers:
            fleet.resume(managers.pop())

    try:
        yield let_pods_start
    finally:
        let_pods_start()
