"""The paths of printer columns."""

import pytest

from fleetqueue.apiserver.http.printing.json_path import BadPath, first, parsed

OBJECT = {
    "metadata": {"labels": {"kubernetes.io/name": "n"}},
    "spec": {"list": [{"name": "x", "n": 1}, {"name": "y", "n": 2}], "zero": 0, "nothing": None},
    "status": {"conditions": [{"type": "A", "status": "False"}, {"type": "Admitted", "status": "True"}]},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".spec.zero", 0),
        (".spec.list[0].name", "x"),
        (".spec.list[-1].name", "y"),
        (".spec.list[*].name", "x"),
        (".spec.list[7].name", None),
        (".spec['zero']", 0),
        (".metadata.labels.kubernetes\\.io/name", "n"),
        (".metadata.labels['kubernetes.io/name']", "n"),
        (".status.conditions[?(@.type=='Admitted')].status", "True"),
        ('.status.conditions[?(@.type == "Admitted")].status', "True"),
        (".status.conditions[?(@.type!='A')].type", "Admitted"),
        (".status.conditions[?(@.type=='None')].status", None),
        (".spec.list[?(@.n>1)].name", "y"),
        (".spec.list[?(@.n==1)].name", "x"),
        (".spec.list[?(@.name)].n", 1),
        (".spec.list[?(@.name>1)].n", None),
        (".spec.nowhere.deep", None),
        (".spec.nothing", None),
    ],
)
def test_first(path, value):
    assert first(path, OBJECT) == value


@pytest.mark.parametrize("path", [".a[", ".a[1:2]", ".a[?(@.x==y)]"])
def test_what_is_not_in_this_part_of_json_path(path):
    with pytest.raises(BadPath):
        parsed(path)
