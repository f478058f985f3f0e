"""An API that does not serve all kinds."""

from fleetqueue.api.meta import Object
from fleetqueue.api.requests import Request
from fleetqueue.testing.arranged_api import ArrangedApi


def lack(api: ArrangedApi, *kinds: type[Object]) -> None:
    """Let an API not serve some kinds, as far as discovery goes, until `api.answers.clear()`."""
    for version in {kind.resource.api_version for kind in kinds}:
        missing = {kind.resource.plural for kind in kinds if kind.resource.api_version == version}
        listed = api.server.ask(Request("GET", f"/apis/{version}")).body["resources"]
        left = [entry for entry in listed if entry["name"] not in missing]
        api.answers[f"GET /apis/{version}"] = {"resources": left}
