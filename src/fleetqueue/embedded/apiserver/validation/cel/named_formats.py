"""`format.dns1123Label().validate(text)`: formats as values of expressions."""

from fleetqueue.embedded.apiserver.kinds import names
from fleetqueue.embedded.apiserver.kinds.names import NameRule
from fleetqueue.embedded.apiserver.validation.cel import text_formats, urls
from fleetqueue.embedded.apiserver.validation.cel.functions import Library
from fleetqueue.embedded.apiserver.validation.cel.types import STRING, list_of, opaque, optional_of
from fleetqueue.embedded.apiserver.validation.cel.values import NONE, Optional

library = Library()
FORMAT = opaque("kubernetes.NamedFormat")


class NamedFormat:
    type_name = "kubernetes.NamedFormat"

    def __init__(self, problems: NameRule) -> None:
        self.problems = problems


def _schema_format(name: str, problem: str) -> NameRule:
    return lambda text: [] if text_formats.FORMATS[name](text) else [problem]


def _uri(text: str) -> list[str]:
    problem = urls.problem_of(text)
    return [f'parse "{text}": {problem}'] if problem else []


_RULES: dict[str, NameRule] = {
    "dns1123Label": names.label,
    "dns1123Subdomain": names.subdomain,
    "dns1035Label": names.old_label,
    "qualifiedName": names.qualified_name,
    "dns1123LabelPrefix": names.prefix_of(names.label),
    "dns1123SubdomainPrefix": names.prefix_of(names.subdomain),
    "dns1035LabelPrefix": names.prefix_of(names.old_label),
    "labelValue": names.label_value,
    "uri": _uri,
    "uuid": _schema_format("uuid", "does not match the UUID format"),
    "byte": _schema_format("byte", "invalid base64"),
    "date": _schema_format("date", "invalid date"),
    "datetime": _schema_format("datetime", "invalid datetime"),
}
KNOWN = {name: NamedFormat(problems) for name, problems in _RULES.items()}


def _declare(name: str, known: NamedFormat) -> None:
    library.function(f"format.{name}", result=FORMAT)(lambda: known)


for _name, _known in KNOWN.items():
    _declare(_name, _known)


@library.function("format.named", STRING, result=optional_of(FORMAT))
def named(name: str) -> Optional:
    return Optional(KNOWN[name]) if name in KNOWN else NONE


@library.method("validate", FORMAT, STRING, result=optional_of(list_of(STRING)))
def validate(wanted: NamedFormat, text: str) -> Optional:
    problems = wanted.problems(text)
    return Optional(problems) if problems else NONE
