"""Clusters on a thread of their own, so that clients which block can speak with them: an embedded and a real one."""

import asyncio
import sqlite3
import threading
from pathlib import Path

from fleetqueue.embedded.apiserver.http.front_end import STOP_SECONDS
from fleetqueue.fleets.embedded_lab import EmbeddedLab, EmbeddedSettings
from fleetqueue.real.fleet import HUB, RealFleet

LIMIT_SECONDS = 120.0
"""A real API server takes ten seconds to start; a minute means that something hangs."""


class Background:
    """A thread with an event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, work):
        """Let something happen there, and wait until it has."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(LIMIT_SECONDS)

    def stop(self) -> None:
        self.run(asyncio.sleep(STOP_SECONDS))  # so long TLS waits for the farewell of clients that are idle
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


class EmbeddedCluster:
    remembers = True
    """Whether watches go on across a restart, as ours promise."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.background = Background()
        self.lab: EmbeddedLab | None = None

    @property
    def kubeconfig(self) -> Path:
        """The file that the fleet wrote."""
        return self.folder / HUB / "kubeconfig"

    def start(self) -> None:
        self.lab = EmbeddedLab(self.folder, EmbeddedSettings(workers=0))
        self.background.run(self.lab.start())

    def stop(self) -> None:
        self.background.run(self.lab.stop())

    def restart(self) -> None:
        self.stop()
        self.start()

    def forget(self) -> None:
        """Start anew with a log in which all changes up to now are compacted."""
        self.stop()
        with sqlite3.connect(self.folder / HUB / "store.db") as log:
            log.execute("UPDATE compaction SET revision = (SELECT max(revision) FROM changes)")
        log.close()
        self.start()

    def close(self) -> None:
        self.stop()
        self.background.stop()


class RealCluster:
    remembers = False
    """A new kube-apiserver knows only the changes since its start."""

    def __init__(self, folder: Path) -> None:
        self.background = Background()
        self.fleet = RealFleet(folder, workers=0, ocm="none", kueue=False)

    @property
    def kubeconfig(self) -> Path:
        return self.fleet.clusters[HUB].kubeconfig

    def start(self) -> None:
        self.background.run(self.fleet.start())

    def restart(self) -> None:
        self.background.run(self.fleet.restart(f"{HUB}/kube-apiserver"))

    def forget(self) -> None:
        self.restart()

    def close(self) -> None:
        self.background.run(self.fleet.stop())
        self.background.stop()
