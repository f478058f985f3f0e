"""Random writes of one Deployment by several managers, in every form, as requests that any API server takes."""

from typing import Any, NamedTuple

from hypothesis import strategies as st

from fleetqueue.api.requests import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Request

STRATEGIC_PATCH = "application/strategic-merge-patch+json"
MANAGERS = ("one", "two", "three")
NAME = "web"

START: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": NAME, "labels": {"a": "0"}},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}


class Operation(NamedTuple):
    form: str
    """apply, update, merge, strategic or json."""
    manager: str
    body: Any
    force: bool = False
    subresource: str = ""

    def request(self, collection: str, live: dict[str, Any]) -> Request:
        """Say it to a server; an update sends the whole object with its changes."""
        path = "/".join(filter(None, (f"{collection}/{NAME}", self.subresource)))
        query = {"fieldManager": self.manager}
        if self.form == "update":
            return Request("PUT", path, query, merged(live, self.body))
        if self.form == "apply":
            query["force"] = str(self.force).lower()
            metadata = {"name": NAME, **self.body.get("metadata", {})}
            body = {"apiVersion": "apps/v1", "kind": "Deployment", **self.body, "metadata": metadata}
            return Request("PATCH", path, query, body, APPLY_PATCH)
        types = {"merge": MERGE_PATCH, "strategic": STRATEGIC_PATCH, "json": JSON_PATCH}
        return Request("PATCH", path, query, self.body, types[self.form])


def merged(value: Any, patch: Any) -> Any:
    """Merge as RFC 7386 says; lists are values."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for name, inner in patch.items():
        if inner is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), inner)
    return result


# What a patch says: some of these fields, with few names and values, so that managers meet.

words = st.sampled_from("012")
keys = st.sampled_from("abc")
PATHS = (
    "/metadata/labels/a",
    "/metadata/annotations/b",
    "/spec/replicas",
    "/spec/minReadySeconds",
    "/spec/template/spec/containers/0/image",
    "/spec/template/spec/containers/0/args",
    "/spec/template/spec/nodeSelector/a",
)


def some(**fields):
    """Some of these fields, maybe none."""
    return st.fixed_dictionaries({}, optional=fields)


class Bodies:
    """Patches in all forms. Wild ones also say what means little: empty lists and maps, nulls, doubles, zeros."""

    def __init__(self, *, wild: bool) -> None:
        self.wild = wild
        self.least = 0 if wild else 1

    def operations(self):
        force = st.booleans()
        never = st.just(False)
        values = words | st.none()
        return st.one_of(
            written("apply", body=self.objects(values if self.wild else words, self.containers()), force=force),
            written("merge", "update", body=self.objects(values, self.containers()), force=never),
            written("strategic", body=self.objects(values, self.containers() | removed), force=never),
            written("json", body=st.lists(json_patches(), min_size=1, max_size=2), force=never),
            written("apply", "merge", "strategic", body=some(status=self.statuses()), force=force, part="status"),
        )

    def objects(self, values, containers):
        pod = some(containers=containers, tolerations=self.tolerations(), nodeSelector=self.maps(words))
        spec = some(
            replicas=st.integers(0, 3),
            paused=st.booleans() | st.none() if self.wild else st.just(True),
            minReadySeconds=st.integers(self.least, 3),
            template=st.fixed_dictionaries({"spec": pod}),
        )
        fields = {"labels": self.maps(values), "annotations": self.maps(values)}
        if self.wild:
            fields = {name: maps | st.none() for name, maps in fields.items()}
            fields["finalizers"] = st.lists(st.sampled_from(["t.io/a", "t.io/b"]), max_size=3)
        return some(metadata=some(**fields), spec=spec)

    def containers(self):
        details = {
            "env": self.unique(st.fixed_dictionaries({"name": keys, "value": words}), "name"),
            "ports": self.unique(
                st.fixed_dictionaries({"containerPort": st.sampled_from([80, 81])}, optional={"name": keys}),
                "containerPort",
            ),
            "args": st.lists(words, min_size=self.least, max_size=2),
        }
        image = words | st.just("") if self.wild else words
        one = st.fixed_dictionaries({"name": st.sampled_from("cd"), "image": image}, optional=details)
        return self.unique(one, "name")

    def tolerations(self):
        one = st.fixed_dictionaries({"key": keys, "operator": st.just("Exists")})
        return st.lists(one, min_size=self.least, max_size=2)

    def statuses(self):
        condition = st.fixed_dictionaries({"type": keys, "status": st.sampled_from(["True", "False"])})
        return some(replicas=st.integers(self.least, 3), conditions=self.unique(condition, "type"))

    def maps(self, values):
        return st.dictionaries(keys, values, min_size=self.least, max_size=3)

    def unique(self, items, name):
        return st.lists(items, min_size=self.least, max_size=2, unique_by=lambda item: item[name])


removed = st.sampled_from("cd").map(lambda name: [{"$patch": "delete", "name": name}])


@st.composite
def json_patches(draw):
    path = draw(st.sampled_from(PATHS))
    verb = draw(st.sampled_from(["add", "replace", "remove"]))
    if verb == "remove":
        return {"op": verb, "path": path}
    values = {"replicas": st.integers(0, 3), "minReadySeconds": st.integers(1, 3), "args": st.lists(words, min_size=1)}
    return {"op": verb, "path": path, "value": draw(values.get(path.rpartition("/")[2], words))}


def written(*forms, body, force, part=""):
    return st.builds(Operation, st.sampled_from(forms), st.sampled_from(MANAGERS), body, force, st.just(part))
