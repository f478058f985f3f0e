"""Build a program of an add-on from its Go module, once, beside the real engine."""

from dataclasses import dataclass
from pathlib import Path

from fleetqueue.real.build import module_folder, write_module
from fleetqueue.real.layout import cache_dir
from fleetqueue.real.parts import Binary, Project
from fleetqueue.real.toolchain import find_go

ACCOUNTS = Project(
    name="managed-serviceaccount",
    module="open-cluster-management.io/managed-serviceaccount",
    version="v0.8.0",
    binaries=(Binary("managed-serviceaccount", "open-cluster-management.io/managed-serviceaccount/cmd", 60),),
)


@dataclass(frozen=True)
class Built:
    program: Path
    source: Path
    """Where its module lies, with its CRDs."""


async def build(project: Project) -> Built:
    """Build the one program of a project; raises EngineError where its module cannot be had."""
    folder = cache_dir() / f"{project.name}-{project.version}"
    go = await find_go(cache_dir(), print)
    source = await module_folder(project.query, go)
    (binary,) = project.binaries
    program = folder / binary.name
    if not program.is_file():
        write_module(project, source, folder)
        unfinished = folder / f".{binary.name}.partial"
        await go.run("build", "-trimpath", "-o", str(unfinished), binary.package, folder=folder, what=project.query)
        unfinished.replace(program)
    return Built(program, source)
