"""What names, keys of labels and their values must look like: each rule says what is wrong, in Kubernetes' words.

The server counts bytes everywhere. Its older rules say characters and its newer ones bytes.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

NameRule = Callable[[str], Sequence[str]]
"""Says what is wrong with a name; nothing where it is right."""

REMEMBERED: Final = 4096
"""How many names each rule remembers: the same few come again and again."""
LONGEST_LABEL: Final = 63
LONGEST_SUBDOMAIN: Final = 253
LONGEST_PORT: Final = 15

_ENDS: Final = "and must start and end with an alphanumeric character"
_LABEL_PATTERN: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_UNDERSCORED_PATTERN: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_KEY_PATTERN: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


class _Form:
    """What names of a sort look like, and the sentence for one that does not."""

    def __init__(self, pattern: str, rule: str, *examples: str) -> None:
        self.fits = re.compile(pattern).fullmatch
        shown = " or ".join(f"'{example}', " for example in examples)
        self.sentence = f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


_LABEL: Final = _Form(
    _LABEL_PATTERN,
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}",
    "my-name",
    "123-abc",
)
_SUBDOMAIN: Final = _Form(
    rf"{_LABEL_PATTERN}(\.{_LABEL_PATTERN})*",
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}",
    "example.com",
)
_UNDERSCORED: Final = _Form(
    rf"{_UNDERSCORED_PATTERN}(\.{_UNDERSCORED_PATTERN})*",
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', {_ENDS}",
    "example.com",
)
_OLD_LABEL: Final = _Form(
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character",
    "my-name",
    "abc-123",
)
_KEY: Final = _Form(
    _KEY_PATTERN,
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}",
    "MyName",
    "my.name",
    "123-abc",
)
_VALUE: Final = _Form(
    f"({_KEY_PATTERN})?",
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}",
    "MyValue",
    "my_value",
    "12345",
)
_CONFIG_KEY: Final = _Form(
    "[-._a-zA-Z0-9]+",
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "key.name",
    "KEY_NAME",
    "key-name",
)
_HEADER: Final = _Form(
    "[-A-Za-z0-9]+", "a valid HTTP header must consist of alphanumeric characters or '-'", "X-Header-Name"
)
_PERCENT: Final = _Form(
    "[0-9]+%", "a valid percent string must be a numeric string followed by an ending '%'", "1%", "93%"
)
_PORT: Final = re.compile("[-a-z0-9]+")


@lru_cache(maxsize=REMEMBERED)
def subdomain(name: str) -> Sequence[str]:
    """The rule for most names: `a.example`."""
    return _checked(name, _SUBDOMAIN, LONGEST_SUBDOMAIN)


def underscored_subdomain(name: str) -> Sequence[str]:
    """The rule for search domains of DNS."""
    return _checked(name, _UNDERSCORED, LONGEST_SUBDOMAIN)


@lru_cache(maxsize=REMEMBERED)
def label(name: str) -> Sequence[str]:
    """The rule for namespaces and the like: no dots."""
    problems = _too_long(name, LONGEST_LABEL)
    if not _LABEL.fits(name):
        problems.append("must not contain dots" if _SUBDOMAIN.fits(name) else _LABEL.sentence)
    return problems


@lru_cache(maxsize=REMEMBERED)
def old_label(name: str) -> Sequence[str]:
    """The rule of DNS-1035, for services: a label that begins with a letter."""
    return _checked(name, _OLD_LABEL, LONGEST_LABEL)


def path_segment(name: str) -> Sequence[str]:
    """The rule for the rest, such as roles: whatever can stand in a URL."""
    return [f"may not be '{name}'"] if name in (".", "..") else path_segment_prefix(name)


def path_segment_prefix(name: str) -> Sequence[str]:
    """The rule for what such names begin with."""
    return [f"may not contain '{sign}'" for sign in ("/", "%") if sign in name]


@lru_cache(maxsize=REMEMBERED)
def qualified_name(name: str) -> Sequence[str]:
    """The rule for keys of labels: a name, or a subdomain, a slash and a name."""
    prefix, slash, key = name.rpartition("/")
    if "/" in prefix:
        where = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_KEY.sentence} {where}"]
    problems = []
    if slash:
        prefix_problems = _checked(prefix, _SUBDOMAIN, LONGEST_SUBDOMAIN, "bytes") if prefix else ["must be non-empty"]
        problems += [f"prefix part {problem}" for problem in prefix_problems]
    if not key:
        problems.append("name part must be non-empty")
    return problems + [f"name part {problem}" for problem in _checked(key, _KEY, LONGEST_LABEL, "bytes")]


@lru_cache(maxsize=REMEMBERED)
def label_value(value: str) -> Sequence[str]:
    return _checked(value, _VALUE, LONGEST_LABEL, "bytes")


def port_name(name: str) -> Sequence[str]:
    problems = _too_long(name, LONGEST_PORT)
    if not _PORT.fullmatch(name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def config_key(key: str) -> Sequence[str]:
    """The rule for keys of ConfigMaps and Secrets, which can become names of files."""
    problems = _checked(key, _CONFIG_KEY, LONGEST_SUBDOMAIN)
    if key in (".", ".."):
        problems.append(f"must not be '{key}'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def header_name(name: str) -> Sequence[str]:
    return [] if _HEADER.fits(name) else [_HEADER.sentence]


def percent(text: str) -> Sequence[str]:
    return [] if _PERCENT.fits(text) else [_PERCENT.sentence]


def prefix_of(rule: NameRule) -> NameRule:
    """Return the rule for what the server makes names from that keep a rule."""
    return path_segment_prefix if rule is path_segment else lambda prefix: rule(_without_trailing_dash(prefix))


def _without_trailing_dash(prefix: str) -> str:
    if len(prefix) < 2 or not prefix.endswith("-"):
        return prefix
    # The server cuts off one byte more; of a letter that has several, something wrong is left.
    return f"{prefix[:-2] if prefix[-2].isascii() else prefix[:-1]}a"


def _checked(text: str, form: _Form, longest: int, unit: str = "characters") -> list[str]:
    problems = _too_long(text, longest, unit)
    if not form.fits(text):
        problems.append(form.sentence)
    return problems


def _too_long(text: str, longest: int, unit: str = "characters") -> list[str]:
    is_short = len(text) <= longest and (text.isascii() or len(text.encode()) <= longest)
    return [] if is_short else [f"must be no more than {longest} {unit}"]
