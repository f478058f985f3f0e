"""What a supervisor leaves for the next one that takes its folder."""

import asyncio

from fleetqueue.lab.control import SOCKET
from fleetqueue.lab.dashboard_socket import FILE
from fleetqueue.lab.state import Ownership
from fleetqueue.lab.supervisor import Supervisor
from fleetqueue.real.fleet import RealFleet


class EmptyFleet(RealFleet):
    """A fleet without processes, which notes whether its folder is taken when it has stopped."""

    async def start(self):
        self.ownership.take()

    async def stop(self):
        await super().stop()
        self.is_taken_at_the_end = Ownership(self.data_dir).is_taken()


async def test_its_folder_is_free_only_when_it_writes_there_no_more(tmp_path):
    """Otherwise `down --delete` deletes the folder, and the last line about the dashboard makes it anew."""
    fleet = EmptyFleet(tmp_path)
    supervisor = Supervisor(fleet)
    supervisor.finished.set()

    await asyncio.wait_for(supervisor.run(), 10)

    assert fleet.is_taken_at_the_end
    assert not Ownership(tmp_path).is_taken()
    assert not (tmp_path / SOCKET).exists()
    assert "token" not in (tmp_path / FILE).read_text()
