"""Programs that tests need and `make` builds: where one is missing, CI fails and others hear how to get it."""

import os
import shutil
from pathlib import Path

import pytest

from fleetqueue.real import layout, tools
from fleetqueue.testing.browser import find as find_browser


def helm() -> Path:
    return _there(tools.find(tools.HELM), "Helm is not built: `make tools` builds it")


def kueuectl() -> Path:
    return _there(tools.find(tools.KUEUECTL), "kueuectl is not built: `make tools` builds it")


def kubectl() -> Path:
    """Return the engine's kubectl, or the machine's own."""
    built = layout.find()
    found = built.binary("kubectl") if built else shutil.which("kubectl")
    return _there(Path(found) if found else None, "there is no kubectl: `make engine` builds it")


def browser() -> Path:
    """Return Chromium, or a browser that is alike."""
    found = find_browser()
    return _there(Path(found) if found else None, "there is no Chromium: `make browser` installs it, or says how")


def promtool() -> Path:
    """Return Prometheus' own judge of alerts: not in CI, since it takes longer to build than all else of the chart."""
    found = tools.find(tools.PROMTOOL)
    if found is None:
        pytest.skip("promtool is not built: `make alerts` builds it")
    return found


def _there(program: Path | None, missing: str) -> Path:
    if program is None:
        pytest.fail(missing) if os.environ.get("FLEETQUEUE_CI") else pytest.skip(missing)
    return program
