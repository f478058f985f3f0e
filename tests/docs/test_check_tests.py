"""The program that reads the tests finds what is wrong with them."""

import pytest


@pytest.fixture
def check(tool, tmp_path, monkeypatch):
    """Check a folder with one test file: `check("unit/controllers/test_x.py", "text")`."""
    program = tool("check_tests")
    monkeypatch.setattr(program, "EXCUSED", {})
    monkeypatch.setattr(program, "WITHOUT_STRANGERS", {})

    def check(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return program.mistakes(tmp_path)

    return check


@pytest.mark.parametrize(
    "text", ["import tests.unit.test_y", "from tests.unit.test_y import x", "from tests.unit import test_y"]
)
def test_a_test_that_imports_another_is_named(check, text):
    (mistake,) = check("unit/test_x.py", text)

    assert mistake.startswith("unit/test_x.py imports ")


def test_whoever_is_run_alone_is_named(check):
    text = "async with running(Agent(hub).run()), managed(manager): asyncio.create_task(part.run()); env.run(One)"

    mistakes = check("unit/controllers/test_x.py", f"async def f():\n    {text}")

    alone = sorted(mistake.partition(" has no")[0] for mistake in mistakes)
    assert alone == ["controllers/test_x.py: Agent(hub).run()", "controllers/test_x.py: part.run()"]


@pytest.mark.parametrize(("text", "count"), [("EmbeddedFleet.open()", 1), ("watched_over(EmbeddedFleet.open())", 0)])
def test_a_cluster_without_strangers_is_named(check, text, count):
    assert len(check("unit/embedded/ocm/test_x.py", text)) == count


def test_an_excuse_that_nobody_needs_is_named(tool, tmp_path):
    program = tool("check_tests")

    assert len(program.mistakes(tmp_path)) == len(program.EXCUSED) + len(program.WITHOUT_STRANGERS)
