"""The hash of a configuration."""

import hashlib

from fleetqueue.embedded.ocm.addons.configs import spec_hash


def test_a_hash_is_that_of_go():
    raw = {"apiVersion": "x", "kind": "y", "metadata": {"name": "z"}, "spec": {"b": "<&>", "a": [1]}}

    written = rb'{"spec":{"a":[1],"b":"\u003c\u0026\u003e"}}'
    assert spec_hash(raw) == hashlib.sha256(written).hexdigest()
