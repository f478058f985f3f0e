"""YAML that travels with the package: the examples that people copy, and the manifests with which our parts run.

A wheel carries the repository's folders `examples` and `deploy` inside this package; a checkout has them at its top.
"""

from pathlib import Path
from typing import Any, Final

_PLACES: Final = (Path(__file__).parent, Path(__file__).parents[3])


def folder(name: str = "examples") -> Path:
    """Return where the examples lie, or `deploy`."""
    for place in _PLACES:
        if (place / name).is_dir():
            return place / name
    raise FileNotFoundError(f"folder {name} is missing from this installation of fleetqueue; install it again")


def example(name: str) -> Path:
    """Return the path of an example, such as `job-demo1.yaml`."""
    path = folder() / name
    if not path.is_file():
        there = ", ".join(sorted(entry.name for entry in folder().iterdir()))
        raise FileNotFoundError(f'there is no example "{name}"; there are {there}')
    return path


def objects(name: str) -> list[dict[str, Any]]:
    """Read the objects of an example."""
    return _documents(example(name))


def shipped(name: str) -> list[dict[str, Any]]:
    """Read the objects of a file of `deploy`, such as `ocm/score_agent_add_on.yaml`."""
    return _documents(folder("deploy") / name)


def _documents(path: Path) -> list[dict[str, Any]]:
    import yaml  # slow to import, and who needs other manifests needs none of it

    return [document for document in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader) if document]
