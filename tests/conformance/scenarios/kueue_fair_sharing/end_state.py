"""What a scenario of fair sharing ends in: as in `kueue_queues`, without how much exactly was used until now."""

from typing import Any

from fleetqueue.client import Client

from ..kueue_queues import end_state as queues  # noqa: TID252 - what the rooms share stands above them


async def end_state(client: Client, prefix: str) -> dict[str, Any]:
    found = await queues.end_state(client, prefix)
    for queue in found.get("local queues", {}).values():
        _forget_moments(queue["status"])
    return found


def _forget_moments(status: dict[str, Any]) -> None:
    """Say of what a LocalQueue has used, which is less every second, only of which resources it is."""
    usage = status.get("fairSharing", {}).get("admissionFairSharingStatus", {})
    if "consumedResources" in usage:
        usage["consumedResources"] = sorted(usage["consumedResources"])
