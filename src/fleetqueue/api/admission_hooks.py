"""Parts that have a say in writes, as webhooks have, but in the server's own process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fleetqueue.api.scheme import Manifest

Call = Callable[[Manifest | None, Manifest], Manifest]
"""From the object as it was, and as it shall be, to what it becomes; raises Forbidden to deny the write."""
Find = Callable[[str, str, str, str], Manifest | None]
"""Finds an object by its group, plural, namespace and name."""


class Right(NamedTuple):
    """Something that who writes must be allowed beside the write itself, and what is said where that is not so."""

    group: str
    resource: str
    subresource: str
    verb: str
    name: str
    refusal: str
    """With `{user}` in it."""


RightsFor = Callable[[Manifest | None, Manifest], Sequence[Right]]
"""From the object as it was, and as it shall be, to what that takes."""


def no_rights(old: Manifest | None, new: Manifest) -> Sequence[Right]:
    return ()


@dataclass(frozen=True, slots=True)
class AdmissionHook:
    name: str
    """As clients read it when they are refused."""
    group: str
    version: str
    resources: tuple[str, ...]
    """Plurals, and `plural/subresource`."""
    operations: tuple[str, ...]
    call: Call
    is_mutating: bool = False
    spared: tuple[str, ...] = ()
    """Namespaces whose objects it is not asked about."""
    label: str = ""
    """The label without which it is not asked about an object; empty where it is asked about all."""
    rights: RightsFor = no_rights
    """What who writes must be allowed."""
