"""YAML that travels with the package: the examples that the stories apply and that people copy.

A wheel carries the repository's folder `examples` inside this package; a checkout has it at its top.
"""

from pathlib import Path
from typing import Any, Final

_PLACES: Final = (Path(__file__).parent / "examples", Path(__file__).parents[3] / "examples")


def folder() -> Path:
    """Return where the examples lie."""
    for place in _PLACES:
        if place.is_dir():
            return place
    raise FileNotFoundError("the examples are missing from this installation of fleetqueue; install it again")


def example(name: str) -> Path:
    """Return the path of an example, such as `job-demo1.yaml`."""
    path = folder() / name
    if not path.is_file():
        there = ", ".join(sorted(entry.name for entry in folder().iterdir()))
        raise FileNotFoundError(f'there is no example "{name}"; there are {there}')
    return path


def objects(name: str) -> list[dict[str, Any]]:
    """Read the objects of an example."""
    import yaml  # slow to import, and who needs other manifests needs none of it

    return [document for document in yaml.safe_load_all(example(name).read_text()) if document]
