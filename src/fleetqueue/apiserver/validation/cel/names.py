"""What names, label keys and label values must look like; each function says what is wrong."""

import re

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_OLD_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
# Written without alternatives to go back to, so that a long name costs one pass.
_LABEL_FORM = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_OLD_LABEL_FORM = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_KEY_FORM = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")

_ENDS = "must start and end with an alphanumeric character"
_LABEL_RULE = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {_ENDS} "
    f"(e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_RULE = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and {_ENDS} "
    f"(e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_OLD_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character "
    f"(e.g. 'my-name',  or 'abc-123', regex used for validation is '{_OLD_LABEL}')"
)
_KEY_RULE = (
    f"must consist of alphanumeric characters, '-', '_' or '.', and {_ENDS} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY}')"
)
_VALUE_RULE = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and {_ENDS} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({_KEY})?')"
)


def _too_long(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} bytes"] if len(text.encode()) > limit else []


def label(text: str) -> list[str]:
    """Check an RFC 1123 label, such as the name of a namespace."""
    if _LABEL_FORM.fullmatch(text):
        return _too_long(text, 63)
    return [*_too_long(text, 63), "must not contain dots" if _is_subdomain(text) else _LABEL_RULE]


def _is_subdomain(text: str) -> bool:
    return all(map(_LABEL_FORM.fullmatch, text.split(".")))


def subdomain(text: str) -> list[str]:
    """Check an RFC 1123 subdomain, such as the name of most objects."""
    return [*_too_long(text, 253), *([] if _is_subdomain(text) else [_SUBDOMAIN_RULE])]


def old_label(text: str) -> list[str]:
    """Check an RFC 1035 label, which starts with a letter."""
    return [*_too_long(text, 63), *([] if _OLD_LABEL_FORM.fullmatch(text) else [_OLD_LABEL_RULE])]


def label_key(text: str) -> list[str]:
    """Check a qualified name: the key of a label, an annotation or a finalizer."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_KEY_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    found = []
    if slash:
        found = [f"prefix part {problem}" for problem in (subdomain(prefix) if prefix else ["must be non-empty"])]
    if not name:
        found.append("name part must be non-empty")
    found.extend(f"name part {problem}" for problem in _too_long(name, 63))
    if not _KEY_FORM.fullmatch(name):
        found.append(f"name part {_KEY_RULE}")
    return found


def label_value(text: str) -> list[str]:
    return [*_too_long(text, 63), *([] if not text or _KEY_FORM.fullmatch(text) else [_VALUE_RULE])]


def path_segment(text: str) -> list[str]:
    """Check a name that may be anything that fits into a URL."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return path_segment_prefix(text)


def path_segment_prefix(text: str) -> list[str]:
    return [f"may not contain '{part}'" for part in ("/", "%") if part in text]


def without_trailing_dash(prefix: str) -> str:
    """Return what a name would be checked as that starts with this prefix."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix
