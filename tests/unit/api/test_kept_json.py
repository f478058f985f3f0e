"""JSON that is kept takes no more than itself."""

import tracemalloc

import orjson

from fleetqueue.api.kept_json import kept_json


def test_it_is_the_same_json():
    value = {"b": [1, None], "a": "é"}

    assert kept_json(value) == orjson.dumps(value)


def test_it_takes_little_more_than_its_length():
    value = {"note": "x" * 3000}
    tracemalloc.start()

    json = kept_json(value)

    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < len(json) + 500
