"""A kind that tests define, its objects, and what its definition says of itself."""

from fleetqueue.api.scheme import Resource

CRDS = Resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False)
WIDGETS = Resource("test.io", "v1", "Widget", "widgets")
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "color": {"type": "string", "default": "red", "enum": ["red", "blue"]},
            },
            "x-kubernetes-validations": [{"rule": "self.size < 100", "message": "too big"}],
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}


def definition(name="widgets.test.io", *, group="test.io", kind="Widget", plural="widgets", versions=None):
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"kind": kind, "plural": plural, "shortNames": ["wd"]},
        "versions": versions or [{**version, "subresources": {"status": {}}}],
    }
    return {"apiVersion": CRDS.api_version, "kind": CRDS.kind, "metadata": {"name": name}, "spec": spec}


def widget(name="w", *, version="v1", **body):
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": f"test.io/{version}",
        "kind": "Widget",
        "metadata": metadata,
        **({"spec": {"size": 1}} | body),
    }


def conditions(crd):
    return {condition["type"]: condition["status"] for condition in crd["status"]["conditions"]}
