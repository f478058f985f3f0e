"""The formats of strings that schemas can demand."""

import base64
import binascii
import ipaddress
import re
import unicodedata
from collections.abc import Callable
from datetime import date

from fleetqueue.embedded.apiserver.kinds.names import label, subdomain
from fleetqueue.embedded.apiserver.validation.cel import re2, times
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
from fleetqueue.embedded.apiserver.validation.cel.urls import is_request_uri
from fleetqueue.embedded.apiserver.validation.cel.values import Duration, Timestamp

_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))", re.DOTALL)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9_=-]")
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x80-\U0010ffff-]+"
_WORDS = rf"{_ATOM}(?:\.{_ATOM})*"
_QUOTED = r'"(?:\\.|[^"\\\r\n])*"'
_MAILBOX = rf"(?:{_WORDS}|{_QUOTED})@(?:{_WORDS}|\[[^\[\]\\]*\])"
_ADDRESS = re.compile(rf"{_MAILBOX}|(?:(?:{_WORDS}|{_QUOTED})\s+)*(?:{_WORDS}|{_QUOTED})?\s*<{_MAILBOX}>")
_MAC = re.compile(
    r"[0-9a-fA-F]{2}(?:([:-])[0-9a-fA-F]{2}(?:\1[0-9a-fA-F]{2})*)|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+|[0-9a-fA-F]+"
)
_OTHER_DURATION = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_OTHER_UNITS = (
    (("ns", "nano"), 1), (("us", "µs", "micro"), 10**3), (("ms", "milli"), 10**6), (("s", "sec"), 10**9),
    (("m", "min"), 60 * 10**9), (("h", "hr", "hour"), 3600 * 10**9), (("d", "day"), 86400 * 10**9),
    (("w", "wk", "week"), 7 * 86400 * 10**9),
)  # fmt: skip


def is_date(text: str) -> bool:
    return re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is not None and _date(text) is not None


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text if not text.startswith("0000") else f"0400{text[4:]}")  # Python has no year 0
    except ValueError:
        return None


def is_datetime(text: str) -> bool:
    day, mark, clock = text.lower().partition("t")
    if not mark or not is_date(day):
        return False
    match = _TIME.fullmatch(clock.split("t")[0])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def parsed_duration(text: str) -> Duration:
    """Read a duration as Go writes it, or in words such as `2 days`; raises CelError."""
    try:
        return times.parsed_duration(text)
    except CelError:
        total, known = 0, False
        for amount, unit in _OTHER_DURATION.findall(text):
            for names, nanos in _OTHER_UNITS:
                if unit.lower() in names or unit.lower().startswith(names[-1]):
                    total, known = total + int(amount) * nanos, True
    if not known:
        raise CelError(f"unable to parse {text} as duration")
    return Duration(total)


def is_duration(text: str) -> bool:
    try:
        parsed_duration(text)
    except CelError:
        return False
    return True


def parsed_date(text: str) -> Timestamp:
    return times.parsed_timestamp(f"{text}T00:00:00Z")


def parsed_datetime(text: str) -> Timestamp:
    try:
        return times.parsed_timestamp(text)
    except CelError:
        raise CelError(f'parsing time "{text}" as "2006-01-02T15:04:05": cannot parse "{text}" as "2006"') from None


def parsed_bytes(text: str) -> bytes:
    """Decode base64, with the alphabet of URLs alone, as the real server does for rules."""
    wrong = _NOT_BASE64.search(text)
    try:
        if wrong is None:
            return base64.urlsafe_b64decode(text)
    except binascii.Error:
        pass
    raise CelError(f"illegal base64 data at input byte {wrong.start() if wrong else len(text)}")


def is_hostname(text: str) -> bool:
    """Whether this is a host name of the internet; letters and symbols of all scripts are allowed."""
    *domains, last = text.split(".")
    if len(text.encode()) > 255 or any(len(part.encode()) > 63 for part in (*domains, last)):
        return False
    if not domains:
        return _is_plain(last[:1]) and _is_plain(last[1:].removeprefix("-"), may_be_empty=True)
    return all(map(_is_domain, domains)) and len(last) > 1 and all(map(_is_letter, last))


def _is_domain(part: str) -> bool:
    return _is_plain(part[:1]) and _is_plain(part[-1:]) and _is_plain(part.replace("-", ""))


def _is_plain(text: str, *, may_be_empty: bool = False) -> bool:
    known = all((char.isdigit() and char.isascii()) or unicodedata.category(char)[0] in "LS" for char in text)
    return known and (may_be_empty or bool(text))


def _is_letter(char: str) -> bool:
    return unicodedata.category(char)[0] == "L"


def _is_address(text: str, *versions: int) -> bool:
    if "%" in text:
        return False
    try:
        return ipaddress.ip_address(re.sub(r"(^|\.)0+(?=\d)", r"\1", text)).version in versions
    except ValueError:
        return False


def _is_network(text: str) -> bool:
    address, slash, length = text.partition("/")
    limit = 32 if ":" not in address else 128
    return bool(slash) and _is_address(address, 4, 6) and length.isascii() and length.isdigit() and int(length) <= limit


def _is_mac(text: str) -> bool:
    return _MAC.fullmatch(text) is not None and len(re.sub("[:.-]", "", text)) in (12, 16, 40)


def _is_email(text: str) -> bool:
    return _ADDRESS.fullmatch(text.strip()) is not None


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    return sum((10 if char == "X" else int(char)) * (place + 1) for place, char in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    return sum(int(char) * (3 if place % 2 else 1) for place, char in enumerate(digits)) % 10 == 0


def _is_creditcard(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    form = (
        "4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(0[0-5]|[68][0-9])[0-9]{11}"
    )
    if not re.fullmatch(form + r"|(2131|1800|35[0-9]{3})[0-9]{11}", digits):
        return False
    doubled = [int(char) * (2 if place % 2 else 1) for place, char in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _matching(pattern: str) -> Callable[[str], bool]:
    return lambda text: re2.compiled(pattern).matches(text)


def _uuid(version: str = "[0-9a-f]", variant: str = "[0-9a-f]") -> Callable[[str], bool]:
    return _matching(
        f"(?i)^[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}$"
    )


_PART = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matching("^[0-9a-fA-F]{24}$"),
    "uri": is_request_uri,
    "email": _is_email,
    "hostname": is_hostname,
    "ipv4": lambda text: "." in text and _is_address(text, 4, 6),
    "ipv6": lambda text: ":" in text and _is_address(text, 6),
    "cidr": _is_network,
    "mac": _is_mac,
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_creditcard,
    "ssn": _matching(r"^\d{3}[- ]\d{2}[- ]\d{4}$"),
    "hexcolor": _matching("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    "rgbcolor": _matching(rf"^rgb\({_PART},{_PART},{_PART}\)$"),
    "byte": lambda text: _BASE64.fullmatch(text) is not None,
    "password": lambda text: True,
    "date": is_date,
    "duration": is_duration,
    "datetime": is_datetime,
    "k8sshortname": lambda text: not label(text),
    "k8slongname": lambda text: not subdomain(text),
}
"""What checks a string, under the name of the format without dashes, as the real server looks it up."""
