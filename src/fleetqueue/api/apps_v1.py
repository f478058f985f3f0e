"""The kinds of group apps whose pods Kueue admits, and what stands between them."""

from typing import ClassVar

from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Resource


class Deployment(Object):
    resource: ClassVar = Resource("apps", "v1", "Deployment", "deployments")


class ReplicaSet(Object):
    resource: ClassVar = Resource("apps", "v1", "ReplicaSet", "replicasets")


class StatefulSet(Object):
    resource: ClassVar = Resource("apps", "v1", "StatefulSet", "statefulsets")
