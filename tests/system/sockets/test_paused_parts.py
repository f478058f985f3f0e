"""`fleetqueue pause`, `resume` and `restart`, as typed, where parts are processes: here programs that count."""

import asyncio
import json
import shlex
import sys

import pytest

from fleetqueue.lab.control import SOCKET
from fleetqueue.lab.processes import Command
from fleetqueue.lab.supervisor import Supervisor
from fleetqueue.real.fleet import RealFleet
from tests.system.pages.shell import lines_of

from .eventually import eventually
from .typed import Typed

COUNTING = "import itertools, time\nfor n in itertools.count(): print(n, flush=True); time.sleep(0.01)"


class CountingFleet(RealFleet):
    """A fleet of processes in which those that count stand for parts, so that no engine is needed."""

    async def start(self):
        self.ownership.take()
        for name, log in (("hub/kueue", self.log), ("hub/controller", self.data_dir / "controller.log")):
            self.processes.start(Command(name, (sys.executable, "-c", COUNTING), log))

    @property
    def log(self):
        return self.data_dir / "kueue.log"

    def counted(self):
        return self.log.stat().st_size

    def stands_still(self):
        """Tell whether the kernel has stopped the process."""
        pid = self.processes.get("hub/kueue").process.pid
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "T"


@pytest.fixture
async def fleet(tmp_path):
    fleet = CountingFleet(tmp_path / "fleet")
    fleet.data_dir.mkdir()
    supervisor = Supervisor(fleet)
    task = asyncio.create_task(supervisor.run())
    await asyncio.to_thread(eventually, lambda: (fleet.data_dir / SOCKET).exists() and supervisor.state == "up")
    yield fleet
    supervisor.finished.set()
    await task


@pytest.fixture
def typed(tmp_path, fleet):
    person = Typed(tmp_path)

    async def typed(*arguments):
        return await asyncio.to_thread(person, *arguments, "--data-dir", str(fleet.data_dir))

    return typed


async def test_a_part_stands_still_until_it_is_let_go_on(fleet, typed):
    await asyncio.to_thread(eventually, lambda: fleet.counted() > 0)

    paused = await typed("pause", "hub/kueue")
    status = await typed("status", "-o", "json")
    assert fleet.stands_still()
    resumed = await typed("resume", "hub/kueue")
    before = fleet.counted()

    again = f"fleetqueue resume hub/kueue --data-dir {fleet.data_dir}"
    assert paused == (0, f"hub/kueue is paused; let it go on with `{again}`\n", "")
    assert {row["name"]: row["state"] for row in json.loads(status[1])}["hub/kueue"] == "paused"
    assert resumed == (0, "hub/kueue goes on\n", "")
    await asyncio.to_thread(eventually, lambda: fleet.counted() > before)


async def test_a_part_that_is_not_there_is_told_with_those_that_are(typed):
    code, _, err = await typed("pause", "hub/nope")

    assert (code, err) == (3, 'error: there is no process "hub/nope"; there are: hub/controller, hub/kueue\n')


@pytest.mark.parametrize("page", ["pause", "resume", "restart"])
async def test_the_examples_of_its_page_work_as_they_are_printed(typed, page):
    lines = lines_of(f"docs/en/reference/commands/{page}.md")

    answers = [await typed(*shlex.split(line)[1:]) for line in lines]

    assert lines
    assert [(code, err) for code, _, err in answers if code] == []
