"""Check the tests as they are written: no test imports another one, and none runs controllers unobserved.

Usage: check_tests.py [tests folder]

A unit test that runs controllers lets the fixtures run them: these look a second time at the end, and put objects of
strangers around them. Who does otherwise stands here, with the reason.
"""

import ast
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

OF_CONTROLLERS = (
    "controllers",
    *(f"embedded/{name}" for name in ("jobset", "kubernetes", "kueue", "multikueue", "ocm", "operators")),
)
CACHES = "it only fills caches, for controllers whose keys the test works on by hand"
EXCUSED = {
    "controllers/fence/test_agent.py: agent.run()": "it renews every few seconds, and a test of its own says what else",
    "controllers/fence/test_agent.py: site.run()": "the same agent",
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


def mistakes(tests: Path) -> list[str]:
    """Return what is wrong, a line each."""
    texts = {path.relative_to(tests).as_posix(): path.read_text() for path in sorted(tests.rglob("*.py"))}
    unit = {name.removeprefix("unit/"): text for name, text in texts.items() if name.startswith("unit/")}
    of_controllers = {name: text for name, text in unit.items() if name.startswith(OF_CONTROLLERS)}
    alone = {f"{name}: {run}" for name, text in of_controllers.items() for run in runs(text)}
    return [
        *(f"{name} imports {test}; move what both need into a module beside them" for name, test in imports(texts)),
        *(f"{run} has no second look; use the fixtures, or say why not in EXCUSED" for run in alone - EXCUSED.keys()),
        *(f"{run} is in EXCUSED and nowhere else" for run in EXCUSED.keys() - alone),
        *(f"{name} has no strangers around" for name in apart(of_controllers) - WITHOUT_STRANGERS.keys()),
        *(f"{name} is in WITHOUT_STRANGERS for nothing" for name in WITHOUT_STRANGERS.keys() - apart(of_controllers)),
    ]


def imports(texts: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Return which files import a test, and which one."""
    for name, text in texts.items():
        yield from ((name, module) for module in imported(text) if module.rpartition(".")[2].startswith("test_"))


def imported(text: str) -> Iterable[str]:
    """Return every module that a file names in an import, and every name that it takes from a package of tests."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            if node.level or (node.module or "").startswith("tests"):
                yield from (alias.name for alias in node.names)


def runs(text: str) -> Iterable[str]:
    """Find every `.run()`: so begins the work of a manager, of a whole Kueue, of an agent."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Attribute(attr="run"), args=[], keywords=[]):
                yield ast.unparse(node)


def apart(texts: Mapping[str, str]) -> set[str]:
    """Return the files that open clusters past the fixtures, and put no strangers into them."""
    opened = {name for name, text in texts.items() if any(way in text for way in WITH_CLUSTERS)}
    return {name for name in opened if "watched_over(" not in texts[name]}


if __name__ == "__main__":
    found = mistakes(Path(sys.argv[1] if len(sys.argv) > 1 else "tests"))
    print("\n".join(sorted(found)), end="\n" if found else "")
    sys.exit(1 if found else 0)
