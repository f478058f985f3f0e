"""The paths by which columns, feedback and kubectl name fields."""

import pytest

from fleetqueue.api.json_paths import BadPath, find, first

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
        (".status.conditions[-1:].type", "Admitted"),
        (".status.nothing[-1:].type", None),
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


def test_all_that_is_found_comes_in_the_order_of_lists_and_names():
    assert find("$.spec.list[*].n", OBJECT) == [1, 2]
    assert find("@.spec.list[0].*", OBJECT) == [1, "x"]


@pytest.mark.parametrize(
    ("slice_of", "values"),
    [
        ("[-1:]", [4]),
        ("[1:3]", [2, 3]),
        ("[:2]", [1, 2]),
        ("[:]", [1, 2, 3, 4]),
        ("[0:-1]", [1, 2, 3]),
        ("[::2]", [1, 3]),
        ("[1:4:2]", [2, 4]),
        ("[2:2]", []),
        pytest.param("[-5:]", [], id="before the beginning"),
        pytest.param("[1:5]", [], id="after the end"),
        pytest.param("[3:1]", [], id="backwards"),
    ],
)
def test_slices(slice_of, values):
    assert find(f".a{slice_of}", {"a": [1, 2, 3, 4]}) == values


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (".a[", r"unrecognized character in action: U\+005B '\['"),
        (".a[0,1]", "unrecognized character"),
        (".a[::0]", "unrecognized character"),
        (".a[?(@.x==y)]", "unrecognized identifier y"),
        ("a.b", "unrecognized identifier a"),
    ],
)
def test_what_is_not_in_this_part_of_json_path(path, told):
    with pytest.raises(BadPath, match=told):
        find(path, OBJECT)
