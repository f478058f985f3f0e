"""Tell the seeds' smaller pages in an order in which one prepares the next."""

from fleetqueue.demo.stage import Stage

from . import by_hand, credentials, leaving, names_and_sets, node_status, profiles, score_add_on, urls

IDS = tuple(
    one
    for act in (names_and_sets, node_status, score_add_on, by_hand, credentials, urls, profiles, leaving)
    for one in act.IDS
)


async def tell(stage: Stage) -> None:
    """Tell all of them. Raises ExpectationFailed at the first that does not hold."""
    await names_and_sets.tell(stage)
    heart = await node_status.write(stage)
    await score_add_on.tell(stage)
    await by_hand.tell(stage)
    await credentials.tell(stage)
    await urls.tell(stage)
    await profiles.tell(stage)
    await leaving.tell(stage)
    await node_status.look_again(stage, heart)
