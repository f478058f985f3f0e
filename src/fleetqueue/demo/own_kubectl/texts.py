"""Objects as text: YAML, JSON and names, with the keys in order as kubectl writes them."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import yaml

from fleetqueue.api.scheme import Manifest
from fleetqueue.demo.own_kubectl.kinds import ServedKind
from fleetqueue.demo.own_kubectl.problems import KubectlProblem
from fleetqueue.demo.own_kubectl.templates import render
from fleetqueue.embedded.apiserver.http.yaml_documents import dump as as_one_line_per_value

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d([Tt ].*)?")
ALLOWED: Final = "allowed formats are: json,jsonpath,name,wide,yaml"
_HTML: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, value: str) -> Any:
    """Quote what would be read as something else than text, as Go's library does."""
    style = "|" if "\n" in value else '"' if _needs_quotes(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _needs_quotes(value: str) -> bool:
    return bool(_TIME.fullmatch(value)) or as_one_line_per_value(value).startswith(b'"')


_Dumper.add_representer(str, _text)


def formatted(output: str, entries: Sequence[tuple[ServedKind, Manifest]], *, as_list: bool) -> str:
    """Write objects in another form than a table; raises KubectlProblem."""
    if output == "name":
        return "".join(f"{kind.name}/{obj['metadata']['name']}\n" for kind, obj in entries)
    objects = [obj for _, obj in entries]
    value = _list(objects) if as_list else objects[0]
    if output == "json":
        return as_json(value) + "\n"
    if output == "yaml":
        return as_yaml(value)
    if output.startswith("jsonpath="):
        return render(output.removeprefix("jsonpath="), value)
    raise KubectlProblem(f'error: unable to match a printer suitable for the output format "{output}", {ALLOWED}')


def as_yaml(value: Any) -> str:
    written: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, default_flow_style=False)
    return written


def as_json(value: Any, *, indent: int | None = 4) -> str:
    """Write JSON as Go does, which escapes what means something in HTML."""
    separators = None if indent else (",", ":")
    written = json.dumps(value, indent=indent, separators=separators, sort_keys=True, ensure_ascii=False)
    return re.sub(r"[<>&]", lambda match: _HTML[match[0]], written)


def _list(objects: Sequence[Manifest]) -> Manifest:
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(objects)}
