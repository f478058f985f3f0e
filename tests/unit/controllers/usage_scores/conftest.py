"""A hub with one managed cluster's namespace, which tells the time."""

from datetime import datetime, timedelta

import pytest

from fleetqueue import clock
from fleetqueue.api import conditions
from fleetqueue.api.requests import Request, Response
from fleetqueue.testing.arranged_api import ArrangedApi


class HubWithItsOwnClock(ArrangedApi):
    """Says in each answer when, by its own clock, the object was written, as every API server does."""

    ahead = timedelta()

    def now(self) -> datetime:
        return clock.now() + self.ahead

    async def request(self, request: Request, *, timeout: float) -> Response:
        response = await super().request(request, timeout=timeout)
        if request.method != "PATCH" or response.status >= 400:
            return response
        entry = {"manager": "fleetqueue", "subresource": "status", "time": conditions.timestamp(self.now())}
        metadata = {**response.body["metadata"], "managedFields": [{"manager": "kubectl"}, entry]}
        return Response(response.status, {**response.body, "metadata": metadata})


@pytest.fixture
def api(api: ArrangedApi, judge: str) -> ArrangedApi:
    """The hub. The clock of a real server does not jump with the test's, so its answers are dated by the test's."""
    api.namespace("cluster1")
    return HubWithItsOwnClock(api.server) if judge == "real" else api
