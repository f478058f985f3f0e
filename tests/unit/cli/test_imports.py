"""What commands import: nothing that they do not need at once, since every import is a wait."""

import subprocess
import sys

import pytest

# What a command that asks a fleet needs, and no more.
ASKING = ("aiohttp", "cryptography", "msgspec", "prometheus_client", "rich", "yaml", "fleetqueue.apiserver")
# What an embedded fleet does without until somebody asks for it: HTTP as a client, certificates that are on disk, YAML,
# protobuf, custom kinds with their schemas and CEL, the shapes of kinds, and the whole real engine.
SERVING = (
    "aiohttp",
    "cryptography.x509",
    "rich",
    "typer",
    "yaml",
    "zoneinfo",
    "fleetqueue.apiserver.http.openapi",
    "fleetqueue.apiserver.http.yaml_documents",
    "fleetqueue.apiserver.kinds.protobuf",
    "fleetqueue.apiserver.registry.custom_kinds",
    "fleetqueue.apiserver.validation.cel",
    "fleetqueue.apiserver.validation.structural_schema",
    "fleetqueue.client.transport",
    "fleetqueue.engine.build",
    "fleetqueue.engine.certificates",
    "fleetqueue.engine.fleet",
)


def imported(module):
    """Return what is imported with a module, in a process of its own."""
    code = f"import sys, {module}; print(*sorted(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        pytest.param("fleetqueue.cli.main", ("asyncio", "orjson", "fleetqueue.api", *ASKING), id="help"),
        pytest.param("fleetqueue.engine.control", ASKING, id="status and down"),
        pytest.param("fleetqueue.assembly.embedded_settings", ASKING, id="up, which starts the fleet elsewhere"),
        pytest.param("fleetqueue.assembly.embedded_lab", SERVING, id="the fleet itself"),
    ],
)
def test_nothing_is_imported_before_it_is_needed(module, unwanted):
    assert imported(module) & set(unwanted) == set()
