"""Fields that stand twice."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.apiserver.http.duplicate_fields import found


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        pytest.param(b'{"a":1}', [], id="none"),
        pytest.param(b'{ "a" : 1 }', [], id="none, with spaces"),
        pytest.param(b'{"a":"\\u003c"}', [], id="none, with signs as Go writes them"),
        pytest.param(b'{"a":1,"a":2}', ["a"], id="at the top"),
        pytest.param(b'{"a":1,"a":2,"a":3}', ["a"], id="three times is told once"),
        pytest.param(b'{"data":{"a":1,"b":2,"a":3}}', ["data.a"], id="inside"),
        pytest.param(b'{"l":[{"x":1},{"x":1,"x":2}]}', ["l[1].x"], id="in a list"),
        pytest.param(b'{"a":{"b":1,"b":2},"c":{"d":1,"d":1}}', ["a.b", "c.d"], id="two"),
    ],
)
def test_found(text, paths):
    assert found(text, orjson.loads(text)) == [f'duplicate field "{path}"' for path in paths]


@given(st.recursive(st.integers(0, 9), lambda inner: st.dictionaries(st.sampled_from("abc"), inner), max_leaves=8))
def test_what_a_program_wrote_has_none(value):
    assert found(orjson.dumps(value), value) == []
