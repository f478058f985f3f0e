"""Tell the walkthroughs' smaller pages in an order in which one prepares the next."""

from fleetqueue.demo.story_run import StoryRun

from . import by_hand, credentials, leaving, names_and_sets, node_status, profiles, score_add_on, urls

IDS = tuple(
    one
    for act in (names_and_sets, node_status, score_add_on, by_hand, credentials, urls, profiles, leaving)
    for one in act.IDS
)


async def tell(run: StoryRun) -> None:
    """Tell all of them. Raises ExpectationFailed at the first that does not hold."""
    await names_and_sets.tell(run)
    heart = await node_status.write(run)
    await score_add_on.tell(run)
    await by_hand.tell(run)
    await credentials.tell(run)
    await urls.tell(run)
    await profiles.tell(run)
    await leaving.tell(run)
    await node_status.look_again(run, heart)
