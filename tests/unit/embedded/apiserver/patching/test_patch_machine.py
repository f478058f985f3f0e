"""Several managers write one object in every form and any order: it always says the truth about who owns what."""

import asyncio
import json
from contextlib import ExitStack

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fleetqueue import clock
from fleetqueue.api.requests import Request
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.fleets.embedded_cluster import new_server
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, advance

from .machine_model import FlatMap
from .machine_operations import NAME, START, Bodies, merged

COLLECTION = "/apis/apps/v1/namespaces/default/deployments"
REFUSED = (400, 409, 422)
EMPTIED = ("f:labels", "f:annotations", "f:nodeSelector", "f:env", "f:ports", "f:conditions")
"""What is not written when nothing is left in it, although somebody may still own it; the real server has it so."""


class PatchMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.stack = ExitStack()
        self.stack.enter_context(clock.use(VirtualClock()))
        self.runner = self.stack.enter_context(asyncio.Runner(loop_factory=VirtualTimeLoop))
        self.maps = {"labels": FlatMap(), "annotations": FlatMap()}

    @initialize()
    def start(self):
        self.runner.run(self._start())
        self.live = self.ask(Request("POST", COLLECTION, {"fieldManager": "one"}, START)).body
        self.maps["labels"].update("one", {"a": "0"})

    async def _start(self):
        secrets = Secrets(tokens={"admin": User("admin", (MASTERS,))})
        server = await new_server(secrets)
        self.door = InProcessDoor(server, RequestCredentials(token="admin"))

    def ask(self, request):
        answer = self.runner.run(self.door.request(request, timeout=5))
        assert answer.status < 500, answer
        return answer

    @rule(operation=Bodies(wild=False).operations())
    def write(self, operation):
        answer = self.ask(operation.request(COLLECTION, self.live))
        if answer.status in REFUSED:
            assert self.ask(Request("GET", f"{COLLECTION}/{NAME}")).body == self.live
            assert answer.status != 409 or self.is_refused_for_a_reason(operation, answer)
            return
        assert answer.status == 200, answer
        self.follow(operation, answer.body)
        self.live = answer.body
        self.is_the_same_again(operation)

    @rule(seconds=st.integers(1, 100))
    def wait(self, seconds):
        self.runner.run(advance(seconds))

    def is_the_same_again(self, operation):
        """The same apply or merge once more changes nothing, and so makes no new version."""
        if operation.form in ("apply", "merge", "update"):
            again = self.ask(operation.request(COLLECTION, self.live))
            assert again.body == self.live

    def is_refused_for_a_reason(self, operation, answer):
        """An apply meets others' fields; the model knows whether that is so for labels."""
        assert operation.form == "apply"
        assert not operation.force
        fields = [cause["field"] for cause in answer.body["details"]["causes"]]
        wanted = {
            name
            for name, flat in self.maps.items()
            if flat.conflicts(operation.manager, operation.body.get("metadata", {}).get(name, {}))
        }
        assert {name for name in self.maps if any(f".metadata.{name}." in field for field in fields)} == wanted
        return True

    def follow(self, operation, after):
        """Let the model do the same."""
        if operation.subresource:
            return
        for name, flat in self.maps.items():
            given = metadata_of(operation).get(name)
            if operation.form == "apply":
                assert operation.force or not flat.conflicts(operation.manager, given or {})
                flat.apply(operation.manager, given or {})
            elif operation.form == "json":
                flat.update(operation.manager, after["metadata"].get(name, {}))  # no model: what came counts
            elif given is not None:
                flat.update(operation.manager, merged(flat.values, given))

    @invariant()
    def the_model_agrees(self):
        for name, flat in self.maps.items():
            assert self.live["metadata"].get(name, {}) == flat.values
            owners = {key: set() for key in flat.values}
            for entry in self.live["metadata"]["managedFields"]:
                inside = entry["fieldsV1"].get("f:metadata", {}).get(f"f:{name}", {})
                for element in inside:
                    if element != ".":
                        owners[element.removeprefix("f:")].add((entry["manager"], entry["operation"]))
            assert owners == {key: flat.owners.get(key, set()) for key in flat.values}

    @invariant()
    def every_owned_field_is_there(self):
        for entry in self.live["metadata"]["managedFields"]:
            assert list(missing(entry["fieldsV1"], self.live)) == [], (entry["manager"], entry["operation"])

    @invariant()
    def every_owner_is_named_once_and_owns_something(self):
        entries = self.live["metadata"]["managedFields"]
        owners = [(one["manager"], one["operation"], one.get("subresource", "")) for one in entries]
        assert len(set(owners)) == len(owners)
        assert all(entry["fieldsV1"] for entry in entries)

    def teardown(self):
        self.stack.close()


def metadata_of(operation):
    """Return what an operation says of the metadata; a JSON patch has its own way."""
    return operation.body.get("metadata", {}) if operation.form != "json" else {}


def missing(fields, value, path=()):
    """Name the members of a set that an object does not have."""
    for element, inside in fields.items():
        if element == ".":
            continue
        found = at(value, element)
        if found:
            yield from missing(inside, found[0], (*path, element))
        elif element not in EMPTIED:
            yield (*path, element)


def at(value, element):
    """Return what an element of a path leads to, as a list of at most one."""
    kind, _, text = element.partition(":")
    if kind == "f":
        return [value[text]] if isinstance(value, dict) and text in value else []
    wanted = json.loads(text)
    if kind == "v":
        return [item for item in value if item == wanted]
    return [item for item in value if all(item.get(name) == key for name, key in wanted.items())]


TestPatches = PatchMachine.TestCase
TestPatches.settings = settings(max_examples=12, stateful_step_count=60, deadline=None)
