"""Nobody runs controllers in a unit test without a second look at the end, and without strangers around."""

import ast
from collections.abc import Iterable
from pathlib import Path

UNIT = Path(__file__).parents[1] / "unit"
OF_CONTROLLERS = (
    "controllers",
    *(f"embedded/{name}" for name in ("jobset", "kubernetes", "kueue", "multikueue", "ocm")),
)
CACHES = "it only fills caches, for controllers whose keys the test works on by hand"
EXCUSED = {
    "controllers/processes/test_worker.py: agent.agent.run()": "it is the agent that the tests of usage_scores look at",
    "embedded/kubernetes/conftest.py: manager.run()": "one of its controllers says at every start whom it has met",
    "embedded/kubernetes/test_jobs.py: env.cluster.run()": CACHES,
    "embedded/multikueue/test_workloads_waking.py: hub.run()": CACHES,
    "controllers/placement_admission/test_never_twice.py: Manager(hub, heart.controllers).run()": "it is killed",
    "controllers/placement_admission/test_never_twice.py: stand_in.run()": "it plays Kueue, by the test's own hand",
    "embedded/ocm/registration/world.py: agent.run()": "its world starts it once more at the end, and that is quiet",
    "embedded/ocm/work/test_waking.py: hub.run()": CACHES,
    "embedded/ocm/work/test_waking.py: worker.run()": CACHES,
}
WITH_CLUSTERS = ("EmbeddedFleet.open", "watched_server")
"""Ways to a cluster past the fixtures `api` and `fleet`, which have strangers in them."""
WITHOUT_STRANGERS = {
    "embedded/kubernetes/test_job_table.py": "what a Job controller does is compared with a table, write by write",
    "embedded/ocm/registration/webhooks/test_hooks.py": "no controller runs, only webhooks",
}


def test_controllers_are_run_with_a_second_look():
    found = {f"{name}: {run}" for name, text in controller_tests().items() for run in runs(text)}

    assert found == set(EXCUSED)


def test_controllers_are_run_among_strangers():
    texts = controller_tests()
    apart = [name for name, text in texts.items() if any(way in text for way in WITH_CLUSTERS)]

    assert {name for name in apart if "watched_over(" not in texts[name]} == set(WITHOUT_STRANGERS)


def test_whoever_is_run_is_found():
    text = "async with running(Agent(hub).run()), managed(manager): asyncio.create_task(part.run()); env.run(One)"

    assert list(runs(f"async def f():\n    {text}")) == ["Agent(hub).run()", "part.run()"]


def controller_tests() -> dict[str, str]:
    paths = (path for folder in OF_CONTROLLERS for path in (UNIT / folder).rglob("*.py"))
    return {str(path.relative_to(UNIT)): path.read_text() for path in paths}


def runs(text: str) -> Iterable[str]:
    """Find every `.run()`: so begins the work of a manager, of a whole Kueue, of an agent."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Attribute(attr="run"), args=[], keywords=[]):
                yield ast.unparse(node)
