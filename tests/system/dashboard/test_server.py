"""The dashboard over its socket: who gets an answer, what is streamed, and that no secret ever is."""

import aiohttp
import pytest
import yaml

from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.dashboard.requests import HEADERS

from .conftest import Asking, opened

pytestmark = [pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="package")]

DATA = ("/api/stream", "/api/jobs/default/any")
STATES = {"short": "done", "broken": "failed", "long": "running", "next": "waiting", "last": "waiting"}


def states(rows):
    return {row["job"].removeprefix("Job/"): row["state"] for row in rows["jobs"].values()}


def is_settled(rows):
    found = states(rows)
    return all(found.get(name) == state for name, state in STATES.items()) and not rows["notices"]["loading"]


def key_of(rows, name):
    return next(key for key, row in rows["jobs"].items() if row["job"] == f"Job/{name}")


@pytest.mark.parametrize("path", DATA)
@pytest.mark.parametrize("token", [None, "wrong", ""])
async def test_data_is_only_for_who_has_the_token(asking, path, token):
    response = await asking.get(path, token=token)

    assert response.status == 401


async def test_the_token_in_the_address_opens_nothing(asking, dashboard):
    response = await asking.get(f"/api/stream?token={dashboard.token}")

    assert response.status == 401


@pytest.mark.parametrize("path", ["/", "/static/main.js", *DATA])
async def test_another_host_is_refused_whatever_it_asks(asking, dashboard, path):
    response = await asking.get(path, token=dashboard.token, Host=f"evil.example:{dashboard.address.split(':')[1]}")

    assert response.status == 403


async def test_only_this_machine_is_listened_to(dashboard):
    assert dashboard.address.startswith("127.0.0.1:")


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/static/page.css", "/nowhere", "/static/nothing.js", *DATA])
async def test_every_answer_has_the_security_headers(asking, path):
    response = await asking.get(path)

    assert {name: response.headers.get(name) for name in HEADERS} == HEADERS


@pytest.mark.parametrize(
    "path", ["/static/..%2fserver.py", "/static/%2e%2e/server.py", "/static/server.py", "/static/", "/api/"]
)
async def test_nothing_but_the_page_is_served(asking, dashboard, path):
    response = await asking.get(path, token=dashboard.token)

    assert response.status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_nothing_can_be_changed(asking, dashboard, method):
    headers = {"Authorization": f"Bearer {dashboard.token}"}
    address = f"http://{dashboard.address}/api/jobs/default/any"

    async with asking.session.request(method, address, headers=headers) as response:
        assert response.status == 405


@pytest.mark.parametrize(("accepted", "language"), [("zh-CN,zh;q=0.9", "zh"), ("en-GB", "en")])
async def test_the_page_speaks_the_language_of_the_browser(asking, accepted, language):
    response = await asking.get("/", **{"Accept-Language": accepted})

    assert f'<html lang="{language}">' in await response.text()


async def test_the_page_names_nobody_else(asking):
    texts = [await (await asking.get(path)).text() for path in ("/", "/static/page.css", "/static/main.js")]

    assert not any("http://" in text or "https://" in text for text in texts)


async def test_the_stream_tells_fleet_queues_and_jobs(asking):
    rows = await asking.until(is_settled)

    assert {name: row["available"] for name, row in rows["clusters"].items()} == {
        "cluster1": "True",
        "cluster2": "True",
    }
    assert rows["clusters"]["cluster1"]["until"]
    assert set(rows["clusters"]["cluster1"]["scores"]) >= {"cpu", "memory"}
    assert rows["queues"]["cluster-queue-demo1"]["quota"]["cpu"] == [7.0, 9.0]
    assert rows["queues"]["cluster-queue-demo1"]["waiting"] == 2
    assert "Placement placement-demo2 not found" in rows["jobs"][key_of(rows, "nowhere")]["why"]
    assert rows["notices"]["problems"] == []
    assert rows["events"]


async def test_the_stream_tells_of_a_new_job(asking, fleet):
    await asking.until(is_settled)

    await fleet.submit("newcomer", "user-queue-demo2")
    rows = await asking.until(lambda rows: "newcomer" in states(rows))

    assert states(rows)["newcomer"] == "waiting"


async def test_a_job_can_be_opened(asking, dashboard):
    rows = await asking.until(is_settled)

    response = await asking.get(f"/api/jobs/{key_of(rows, 'long')}", token=dashboard.token)
    detail = await response.json()

    assert (detail["job"], detail["state"]) == ("Job/long", "running")
    assert detail["requests"]["cpu"] == "7"
    assert {row["answer"] for row in detail["clusters"]} == {"Listed"}
    assert {link["state"] for link in detail["chain"]} == {"ok"}


async def test_a_job_that_is_not_there_is_not_found(asking, dashboard):
    response = await asking.get("/api/jobs/default/nothing", token=dashboard.token)

    assert response.status == 404


async def test_no_answer_holds_a_secret_of_the_fleet(asking, dashboard, secrets):
    rows = await asking.until(is_settled)

    answers = [str(rows)]
    for path in ("/", "/static/main.js", *(f"/api/jobs/{key}" for key in rows["jobs"])):
        answers.append(await (await asking.get(path, token=dashboard.token)).text())

    assert [text[:12] for text in secrets if any(text in answer for answer in answers)] == []


async def test_who_may_see_little_sees_that_and_why_not_the_rest(fleet, tmp_path):
    hub = fleet.client()
    rules = [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads", "localqueues"], "verbs": ["list", "watch"]}]
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice"}
    role = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": "alice"}
    await hub.create(ClusterRole.resource, ClusterRole.manifest("alice", rules=rules))
    await hub.create(
        ClusterRoleBinding.resource, ClusterRoleBinding.manifest("alice", roleRef=role, subjects=[subject])
    )
    await hub.close()
    content = yaml.safe_load(fleet.kubeconfig.read_text())
    for entry in content["users"]:
        entry["user"]["as"] = "alice"
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(content))

    async with opened(tmp_path / "kubeconfig") as page, aiohttp.ClientSession(read_bufsize=2**22) as session:
        rows = await Asking(page, session).until(
            lambda rows: len(states(rows)) >= len(STATES) and not rows["notices"]["loading"]
        )

    problems = {problem["kind"]: problem["message"] for problem in rows["notices"]["problems"]}
    assert set(problems) >= {"ManagedCluster", "Secret", "ClusterQueue", "Event"}
    assert "forbidden" in problems["Secret"]
    assert not {"Workload", "LocalQueue"} & set(problems)
    assert rows["clusters"] == {}
    assert states(rows)["long"] == "running"
