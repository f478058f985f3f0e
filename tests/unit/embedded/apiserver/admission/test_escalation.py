"""What of some rules is missing in others."""

import pytest

from fleetqueue.embedded.apiserver.admission.escalation import SingleRule, described, missing, rights_of
from fleetqueue.embedded.apiserver.auth.rbac import GrantedRule

EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


def rule(verbs, resources, *, group="", names=()):
    found = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return {**found, "resourceNames": list(names)} if names else found


def urls(verbs, *paths):
    return {"nonResourceURLs": list(paths), "verbs": verbs.split()}


@pytest.mark.parametrize(
    ("held", "wanted", "lacking"),
    [
        pytest.param([rule("get list", "pods")], rule("list get", "pods"), [], id="the same"),
        pytest.param([rule("get", "pods"), rule("list", "pods")], rule("get list", "pods"), [], id="of two rules"),
        pytest.param([rule("get", "pods")], rule("get list", "pods"), [SingleRule("list", "", "pods")], id="a verb"),
        pytest.param([rule("*", "pods")], rule("get *", "pods"), [], id="all verbs"),
        pytest.param([rule("get list", "pods")], rule("*", "pods"), [SingleRule("*", "", "pods")], id="not all verbs"),
        pytest.param(
            [rule("get", "pods")], rule("get", "pods", group="a"), [SingleRule("get", "a", "pods")], id="a group"
        ),
        pytest.param([rule("get", "pods", group="*")], rule("get", "pods", group="a"), [], id="all groups"),
        pytest.param([EVERYTHING], rule("get", "pods/log", group="a", names=["x"]), [], id="everything"),
        pytest.param([EVERYTHING], urls("get", "/a"), [SingleRule("get", url="/a")], id="everything has no URLs"),
        pytest.param([rule("get", "pods")], rule("get", "pods/log"), [SingleRule("get", "", "pods/log")], id="a part"),
        pytest.param([rule("get", "*/log")], rule("get", "pods/log"), [], id="a part of all resources"),
        pytest.param([rule("get", "*/log")], rule("get", "pods"), [SingleRule("get", "", "pods")], id="only a part"),
        pytest.param(
            [rule("get", "pods/log")],
            rule("get", "pods/*"),
            [SingleRule("get", "", "pods/*")],
            id="a star after a resource",
        ),
        pytest.param(
            [rule("get", "pods/*")], rule("get", "pods/log"), [SingleRule("get", "", "pods/log")], id="is no star"
        ),
        pytest.param([rule("get", "pods")], rule("get", "pods", names=["a"]), [], id="a name of all"),
        pytest.param(
            [rule("get", "pods", names=["a"])], rule("get", "pods"), [SingleRule("get", "", "pods")], id="all names"
        ),
        pytest.param(
            [rule("get", "pods", names=["a"])],
            rule("get", "pods", names=["a", "b"]),
            [SingleRule("get", "", "pods", "b")],
            id="another name",
        ),
        pytest.param([urls("get", "/a/*")], urls("get", "/a/b", "/a/*", "/a/b*"), [], id="URLs under one"),
        pytest.param([urls("get", "/a/*")], urls("get", "/a"), [SingleRule("get", url="/a")], id="a URL above"),
        pytest.param([urls("get", "/a")], urls("get", "/a*"), [SingleRule("get", url="/a*")], id="more URLs"),
        pytest.param([urls("*", "*")], urls("*", "*", "/a"), [], id="all URLs"),
        pytest.param([], {"verbs": ["get"]}, [], id="nothing is asked for"),
    ],
)
def test_missing(held, wanted, lacking):
    rules = [GrantedRule.of(raw, "") for raw in held]

    assert missing(rules, [wanted]) == lacking


def test_missing_rights_are_told_by_resource_in_order():
    rules = [rule("get list", "pods nodes"), rule("watch", "pods"), rule("get", "pods", names=['a "b"'])]
    rights = [right for each in (*rules, urls("get put", "/a")) for right in rights_of(each)]

    assert described(rights).splitlines() == [
        '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}',
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["a \\"b\\""], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list" "watch"]}',
        '{NonResourceURLs:["/a"], Verbs:["get"]}',
        '{NonResourceURLs:["/a"], Verbs:["put"]}',
    ]
