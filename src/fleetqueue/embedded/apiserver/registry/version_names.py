"""The order of versions: v2, v1, v1beta2, v1beta1, v1alpha1, and after them all that is named otherwise."""

import re
from typing import Final

_NAMED_AS_USUAL: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_MATURITY: Final = {None: 0, "beta": 1, "alpha": 2}

Order = tuple[bool, int, int, int, str]


def order(version: str) -> Order:
    """Return what versions are sorted by, the one that clients prefer first."""
    found = _NAMED_AS_USUAL.fullmatch(version)
    if found is None:
        return True, 0, 0, 0, version
    major, maturity, minor = found.groups()
    return False, _MATURITY[maturity], -int(major), -int(minor or 0), ""
