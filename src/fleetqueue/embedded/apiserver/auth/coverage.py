"""Which rights of some rules are missing in others: nobody may give away what he does not have himself."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.rbac import ALL, Rule
from fleetqueue.embedded.apiserver.kinds.go_text import quoted


class Right(NamedTuple):
    """The smallest part of a rule: one verb for one resource, or for one URL."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str | None = None
    """That of the only object that it is for; None where it is for all of them."""
    url: str | None = None


def missing(held: Sequence[Rule], wanted: Iterable[Manifest]) -> list[Right]:
    """Return the rights that none of the rules covers that somebody holds."""
    return [right for rule in wanted for right in rights_of(rule) if not any(_covers(each, right) for each in held)]


def rights_of(rule: Manifest) -> Iterator[Right]:
    groups, resources, verbs = (rule.get(field) or () for field in ("apiGroups", "resources", "verbs"))
    for group, resource, verb in product(groups, resources, verbs):
        for name in rule.get("resourceNames") or (None,):
            yield Right(verb, group, resource, name)
    for url, verb in product(rule.get("nonResourceURLs") or (), verbs):
        yield Right(verb, url=url)


def described(rights: Iterable[Right]) -> str:
    """Return one line for each resource, with all verbs that are meant, and one for each verb for a URL."""
    verbs: dict[Right, list[str]] = {}
    lines = set()
    for right in rights:
        if right.url is not None:
            lines.add(f"{{NonResourceURLs:{quoted_list([right.url])}, Verbs:{quoted_list([right.verb])}}}")
        else:
            verbs.setdefault(right._replace(verb=""), []).append(right.verb)
    lines.update(_line(right, meant) for right, meant in verbs.items())
    return "\n".join(sorted(lines))


def quoted_list(words: Iterable[str]) -> str:
    """Return what `%q` prints of a list of strings."""
    return f"[{' '.join(map(quoted, words))}]"


def _line(right: Right, verbs: Sequence[str]) -> str:
    what = f"APIGroups:{quoted_list([right.group])}, Resources:{quoted_list([right.resource])}"
    names = "" if right.name is None else f", ResourceNames:{quoted_list([right.name])}"
    return f"{{{what}{names}, Verbs:{quoted_list(verbs)}}}"


def _covers(held: Rule, right: Right) -> bool:
    if right.verb not in held.verbs and ALL not in held.verbs:
        return False
    if held.names and right.name not in held.names:
        return False
    if right.url is not None:
        return any(_url_covers(url, right.url) for url in held.urls)
    return (right.group in held.groups or ALL in held.groups) and _covers_resource(held, right.resource)


def _covers_resource(held: Rule, resource: str) -> bool:
    if resource in held.resources or ALL in held.resources:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in held.resources


def _url_covers(held: str, url: str) -> bool:
    return held == url or (held.endswith(ALL) and url.startswith(held.rstrip(ALL)))
