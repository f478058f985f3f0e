"""What commands import: nothing that they do not need at once, since every import is a wait."""

import subprocess
import sys

import pytest

# What a command that asks a fleet needs, and no more.
ASKING = ("aiohttp", "cryptography", "msgspec", "prometheus_client", "rich", "yaml", "fleetqueue.embedded.apiserver")
# What an embedded fleet does without until somebody asks for it: HTTP as a client, certificates that are on disk, YAML,
# protobuf, custom kinds with their schemas and CEL, the shapes of kinds, and the whole real engine.
SERVING = (
    "aiohttp",
    "cryptography.x509",
    "rich",
    "typer",
    "yaml",
    "zoneinfo",
    "fleetqueue.embedded.apiserver.http.openapi",
    "fleetqueue.embedded.apiserver.http.yaml_documents",
    "fleetqueue.embedded.apiserver.kinds.protobuf",
    "fleetqueue.embedded.apiserver.registry.custom_kinds",
    "fleetqueue.embedded.apiserver.validation.cel",
    "fleetqueue.embedded.apiserver.validation.structural_schema",
    "fleetqueue.client.transport",
    "fleetqueue.real.build",
    "fleetqueue.lab.certificates",
    "fleetqueue.real.fleet",
)


def imported(module):
    """Return what is imported with a module, in a process of its own."""
    code = f"import sys, {module}; print(*sorted(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        pytest.param("fleetqueue.cli.main", ("asyncio", "orjson", "fleetqueue.api", *ASKING), id="help"),
        pytest.param("fleetqueue.lab.control", ASKING, id="status and down"),
        pytest.param("fleetqueue.fleets.embedded_settings", ASKING, id="up, which starts the fleet elsewhere"),
        pytest.param("fleetqueue.fleets.embedded_lab", SERVING, id="the fleet itself"),
    ],
)
def test_nothing_is_imported_before_it_is_needed(module, unwanted):
    assert imported(module) & set(unwanted) == set()
