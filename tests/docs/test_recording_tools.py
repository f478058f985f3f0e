"""The tools that record what the real parts do say what there is to record where they are asked for something else."""

import pytest


@pytest.mark.parametrize(
    ("name", "some"),
    [("record_scenarios", ["multikueue", "placement"]), ("record_api_cases", ["clusters", "pods"])],
)
def test_what_there_is_not_is_answered_by_what_there_is(tool, name, some):
    with pytest.raises(SystemExit) as ended:
        tool(name).chosen(["nowhere", some[0]])

    said = str(ended.value)
    assert said.startswith("there is no ")
    assert "nowhere;" in said
    assert all(each in said for each in some)


@pytest.mark.parametrize(("name", "one"), [("record_scenarios", "multikueue"), ("record_api_cases", "clusters")])
def test_where_nothing_is_named_all_is_recorded(tool, name, one):
    chosen = tool(name).chosen

    assert len(chosen([one])) == 1
    assert len(chosen([])) > 1
