"""Ask Kueue whether it answers, as everybody does who creates a job: its webhook must see a ResourceFlavor.

The flavor is a dry run: nothing is stored. That Kueue was asked shows by the finalizer that it puts on every flavor.
Pods tell less: they can be Ready while nobody reaches them, and where Kueue is a process of its own there are none.
"""

from typing import Final

from fleetqueue.admin.checkups.survey import KueueAnswer
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.client import Client

FINALIZER: Final = "kueue.x-k8s.io/resource-in-use"
WEBHOOK: Final = "mresourceflavor.kb.io"
VALIDATING: Final = "vresourceflavor.kb.io"
ANSWER_SECONDS: Final = 15.0
"""An API server waits 10 s for a webhook before it says that it got no answer."""


async def ask_kueue(client: Client) -> KueueAnswer:
    """Ask Kueue of a cluster; that its kinds are not served at all is found elsewhere."""
    flavor = kueue.ResourceFlavor.manifest("", spec={})
    flavor["metadata"] = {"generateName": "fleetqueue-doctor-"}
    try:
        answer = await Client(client.door, timeout=ANSWER_SECONDS).create(
            kueue.ResourceFlavor.resource, flavor, dry_run=True
        )
    except errors.NotFound:
        return KueueAnswer()
    except errors.ServerError as error:
        is_silent = error.is_from_webhook and any(name in str(error) for name in (WEBHOOK, VALIDATING))
        return KueueAnswer(silence=str(error)) if is_silent else KueueAnswer(unasked=str(error))
    except (errors.ApiError, errors.Unreachable) as error:
        return KueueAnswer(unasked=str(error))
    if FINALIZER not in (answer["metadata"].get("finalizers") or ()):
        return KueueAnswer(unasked=f"its webhook {WEBHOOK} is not installed, so it was not asked")
    return KueueAnswer()
