"""A fleet with jobs, its dashboard, and a browser for it."""

import asyncio
import base64
from contextlib import asynccontextmanager

import aiohttp
import orjson
import pytest
import pytest_asyncio
import yaml

from fleetqueue.api.core_v1 import Secret
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.dashboard.server import Dashboard, DashboardSettings
from fleetqueue.testing.browser import Browser
from tests.deploy import built_tools
from tests.system.asking import check_answers_at

from .fleet import FleetWithJobs


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def fleet(tmp_path_factory):
    """A hub and two workers; jobs `short` (done), `broken` (failed), `long` (runs), `next`, `last` and `nowhere`."""
    fleet = FleetWithJobs(tmp_path_factory.mktemp("fleet"))
    await fleet.start()
    yield fleet
    await fleet.stop()


@pytest.fixture(autouse=True)
def every_job_has_an_answer(request):
    """Ask after every test on the fleet: what one leaves may be gone with the next."""
    yield
    if "fleet" in request.fixturenames:
        check_answers_at(request.getfixturevalue("fleet").kubeconfig)


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def secrets(fleet, dashboard):
    """All that nobody may read on the page: values of Secrets, tokens and keys of kubeconfigs, the page's own token."""
    hub = fleet.client()
    found = (await hub.list(Secret.resource)).items
    await hub.close()
    values = {value for item in found for value in (item.get("data") or {}).values()}
    texts = {base64.b64decode(value).decode(errors="replace") for value in values}
    tokens = {value for text in texts for value in credentials(text)}
    assert any("kubeconfig" in item.get("data", {}) for item in found)
    assert tokens
    opening = values | texts | tokens | credentials(fleet.kubeconfig.read_text()) | {dashboard.token}
    return {text for text in opening if len(text) > 8}


def credentials(text):
    """Return the tokens and keys that a text holds where it is a kubeconfig."""
    try:
        users = yaml.safe_load(text)["users"]
    except (yaml.YAMLError, TypeError, KeyError):
        return set()
    return {str(value) for entry in users for value in entry["user"].values()}


@asynccontextmanager
async def opened(kubeconfig, **settings):
    """Serve the dashboard of a hub."""
    connection = load(kubeconfig)
    client = connect(connection)
    page = Dashboard(client, DashboardSettings(connection.server, **settings))
    try:
        async with page.serving():
            yield page
    finally:
        await client.close()


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def dashboard(fleet):
    async with opened(fleet.kubeconfig) as page:
        yield page


class Asking:
    """Asks a dashboard as a browser would, without being one."""

    def __init__(self, dashboard, session):
        self.dashboard = dashboard
        self.session = session

    async def get(self, path, *, token=None, **headers):
        """Return the answer, read to its end."""
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        async with self.session.get(f"http://{self.dashboard.address}{path}", headers=headers) as response:
            await response.read()
            return response

    async def messages(self):
        """Yield what the stream sends: the event and its data."""
        headers = {"Authorization": f"Bearer {self.dashboard.token}"}
        async with self.session.get(f"http://{self.dashboard.address}/api/stream", headers=headers) as response:
            event = ""
            async for line in response.content:
                if line.startswith(b"event: "):
                    event = line.removeprefix(b"event: ").strip().decode()
                elif line.startswith(b"data: "):
                    yield event, orjson.loads(line.removeprefix(b"data: "))

    async def until(self, holds, seconds=60):
        """Follow the stream until a collection of rows is as it should be; return all collections."""
        rows = {}
        async with asyncio.timeout(seconds):
            async for event, data in self.messages():
                if event == "snapshot":
                    rows = data["rows"]
                for name, change in data.get("changes", {}).items():
                    rows[name] |= change["put"]
                    for key in change["gone"]:
                        rows[name].pop(key, None)
                if holds({**rows, "notices": data["notices"]}):
                    return {**rows, "notices": data["notices"]}
        raise AssertionError("the stream ended")


@pytest_asyncio.fixture(loop_scope="package")
async def asking(dashboard):
    async with aiohttp.ClientSession(read_bufsize=2**22) as session:
        yield Asking(dashboard, session)


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser(tmp_path_factory):
    """A browser; a test that needs one is left out where there is none, except in CI."""
    built_tools.browser()
    async with Browser.open(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="package")
async def screen(browser, dashboard):
    """The browser as if it was new: it remembers nothing of the dashboard."""
    await browser.go("about:blank")
    await browser.call("Storage.clearDataForOrigin", origin=f"http://{dashboard.address}", storageTypes="all")
    browser.requests.clear()
    browser.complaints.clear()
    return browser
