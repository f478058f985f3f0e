"""Tell stories in their order: each on what the ones before it left."""

from enum import StrEnum

from fleetqueue.demo import environment_story, jobs, story1, story2, story3, what_if
from fleetqueue.demo.expectations import ONLY_WITH_AGENTS, ONLY_WITH_PODS
from fleetqueue.demo.story_run import StoryRun


class Which(StrEnum):
    """Which stories are told."""

    ONE = "1"
    TWO = "2"
    THREE = "3"
    ALL = "all"


def expected(which: Which, *, has_agents: bool = True, has_pods: bool = True) -> tuple[str, ...]:
    """Return the ids that a telling must show, in the order of the stories; see `StoryFleet` for what there may be."""
    parts = {
        Which.ONE: (environment_story, story1),
        Which.TWO: (environment_story, story2, what_if),
        Which.THREE: (environment_story, story2, story3),
        Which.ALL: (environment_story, story1, story2, story3, what_if),
    }
    ids = (*(one for part in parts[which] for one in part.IDS), "ONCE")
    missing = {*(() if has_agents else ONLY_WITH_AGENTS), *(() if has_pods else ONLY_WITH_PODS)}
    return tuple(one for one in ids if one not in missing)


async def tell(run: StoryRun, which: Which) -> None:
    """Tell one story, or all. Raises ExpectationFailed at the first that does not hold."""
    await environment_story.tell(run)
    if which in (Which.ONE, Which.ALL):
        await story1.tell(run)
    if which is not Which.ONE:
        first = await story2.tell(run)
        if which is Which.TWO:
            await jobs.end(run, first, jobs.admitted_on(run, first))
        else:
            await story3.tell(run, first)
        if which is not Which.THREE:
            await what_if.tell(run)
    run.judge("ONCE", not run.monitor.doubles, "; ".join(run.monitor.doubles))
