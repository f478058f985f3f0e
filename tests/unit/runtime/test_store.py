"""The objects of one kind, and what indexes say of them."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.runtime.store import Store


def config_map(name, namespace="ns", *, labels=None, version="1", **data):
    raw = ConfigMap.manifest(name, namespace, labels=labels, data=data)
    raw["metadata"]["resourceVersion"] = version
    return raw


def by_tier(obj):
    return [obj.metadata.labels["tier"]] if "tier" in obj.metadata.labels else []


def by_data(obj):
    return obj.data.values()


def test_what_was_put_is_found():
    store = Store(ConfigMap)

    old, new = store.put(config_map("a", key="1"))

    assert old is None
    assert store.get("ns/a") is new
    assert store.raw("ns/a")["data"] == {"key": "1"}
    assert "ns/a" in store
    assert len(store) == 1


def test_what_was_there_before_is_told():
    store = Store(ConfigMap)
    _, first = store.put(config_map("a", key="1"))

    old, new = store.put(config_map("a", key="2"))

    assert old is first
    assert new.data == {"key": "2"}
    assert len(store) == 1


def test_what_came_first_is_packed_and_still_found(monkeypatch):
    monkeypatch.setattr("fleetqueue.runtime.store.MOST_UNPACKED", 2)
    store = Store(ConfigMap)

    for name in "abcd":
        store.put(config_map(name, key=name))

    assert [store.raw(f"ns/{name}") for name in "abcd"] == [config_map(name, key=name) for name in "abcd"]
    assert len(store._raw) == 2


def test_what_is_due_is_packed_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr("fleetqueue.runtime.store.UNPACKED", 1)
    store = Store(ConfigMap)
    for name in "abcd":
        store.put(config_map(name, key=name))

    assert len(store._raw) == 4
    assert [store.pack(2), store.pack(2)] == [True, False]

    assert list(store._raw) == ["ns/d"]


def test_a_packed_object_is_replaced_and_removed(monkeypatch):
    monkeypatch.setattr("fleetqueue.runtime.store.MOST_UNPACKED", 1)
    store = Store(ConfigMap)
    for name in "abc":
        store.put(config_map(name, key="1"))

    store.put(config_map("a", key="2"))
    store.remove("ns/b")

    assert store.raw("ns/a")["data"] == {"key": "2"}
    assert store.raw("ns/b") is None


def test_the_same_name_elsewhere_is_another_object():
    store = Store(ConfigMap)
    store.put(config_map("a", "one"))
    store.put(config_map("a", "two"))

    assert store.keys() == {"one/a", "two/a"}


def test_what_is_removed_is_gone():
    store = Store(ConfigMap)
    store.put(config_map("a"))

    removed = store.remove("ns/a")

    assert removed.name == "a"
    assert (store.get("ns/a"), store.raw("ns/a"), store.remove("ns/a")) == (None, None, None)


def test_all_come_in_the_order_of_their_keys():
    store = Store(ConfigMap)
    for name in ("c", "a", "b"):
        store.put(config_map(name))

    assert [obj.name for obj in store.all()] == ["a", "b", "c"]


def test_objects_are_trimmed_before_they_are_kept():
    store = Store(ConfigMap)
    raw = config_map("a")
    raw["metadata"]["managedFields"] = [{"manager": "me"}]

    store.put(raw)

    assert "managedFields" not in store.raw("ns/a")["metadata"]


def test_of_some_kinds_only_views_are_kept():
    store = Store(kueue.Workload)

    _, view = store.put(kueue.Workload.manifest("w", "ns"))

    assert store.get("ns/w") is view
    with pytest.raises(TypeError, match="only views of Workload"):
        store.raw("ns/w")


def test_an_index_finds_what_was_there_before_it():
    store = Store(ConfigMap)
    store.put(config_map("a", labels={"tier": "x"}))

    store.add_index("tier", by_tier)

    assert [obj.name for obj in store.by_index("tier", "x")] == ["a"]


def test_an_index_follows_changes_and_deletions():
    store = Store(ConfigMap)
    store.add_index("tier", by_tier)
    store.put(config_map("a", labels={"tier": "x"}))
    store.put(config_map("b", labels={"tier": "x"}))

    store.put(config_map("a", labels={"tier": "y"}))
    store.remove("ns/b")

    assert store.by_index("tier", "x") == []
    assert [obj.name for obj in store.by_index("tier", "y")] == ["a"]


def test_adding_an_index_again_changes_nothing():
    store = Store(ConfigMap)
    store.add_index("tier", by_tier)
    store.put(config_map("a", labels={"tier": "x"}))

    store.add_index("tier", lambda obj: [])

    assert [obj.name for obj in store.by_index("tier", "x")] == ["a"]


def test_an_index_forgets_values_that_nothing_has_any_more():
    store = Store(ConfigMap)
    store.add_index("data", by_data)

    for number in range(100):
        store.put(config_map("a", key=str(number)))

    assert len(store._indexed["data"]) == 1


NAMES, TIERS = st.sampled_from("abcd"), st.sampled_from(["x", "y", None])


class Stores(RuleBasedStateMachine):
    """Whatever happens, a store answers as a plain dict of the same objects would."""

    @initialize()
    def begin(self):
        self.store = Store(ConfigMap)
        self.store.add_index("tier", by_tier)
        self.plain = {}

    @rule(name=NAMES, tier=TIERS, values=st.lists(st.sampled_from("123"), max_size=3))
    def put(self, name, tier, values):
        raw = config_map(name, labels={"tier": tier} if tier else None, **{f"k{n}": v for n, v in enumerate(values)})
        before = self.plain.get(f"ns/{name}")

        old, new = self.store.put(raw)

        self.plain[f"ns/{name}"] = new
        assert old == before

    @rule(name=NAMES)
    def remove(self, name):
        assert self.store.remove(f"ns/{name}") == self.plain.pop(f"ns/{name}", None)

    @rule()
    def add_another_index(self):
        self.store.add_index("data", by_data)

    @invariant()
    def all_are_the_same(self):
        assert self.store.all() == [self.plain[key] for key in sorted(self.plain)]

    @invariant()
    def indexes_are_the_same(self):
        for tier in ("x", "y"):
            assert self.store.by_index("tier", tier) == self.found(by_tier, tier)
        if "data" in self.store._indexes:
            for value in "123":
                assert self.store.by_index("data", value) == self.found(by_data, value)

    def found(self, index, value):
        return [self.plain[key] for key in sorted(self.plain) if value in index(self.plain[key])]


Stores.TestCase.settings = settings(max_examples=40, stateful_step_count=20)
TestStores = Stores.TestCase
