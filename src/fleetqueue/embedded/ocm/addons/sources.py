"""Find what an add-on on a cluster is made of."""

from typing import Final

import msgspec
import orjson

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.addons.templates import rendered
from fleetqueue.runtime.cluster import Cluster

IMAGE_REGISTRIES: Final = "open-cluster-management.io/image-registries"
"""An annotation of a ManagedCluster: where its images come from, as JSON."""


class NotReady(Exception):
    """What the add-on is made of is not there, or cannot be used; the text says why, as upstream does."""


def template_of(hub: Cluster, this: addon.ManagedClusterAddOn) -> addon.AddOnTemplate:
    """Return the template that an add-on is made of. Raises NotReady."""
    wanted = this.config(addon.TEMPLATES) or addon.ConfigSpecHash()
    template = hub.get(addon.AddOnTemplate, wanted.name)
    if template is None:
        raise NotReady(f'addontemplate.addon.open-cluster-management.io "{wanted.name}" not found')
    return template


def deployment_config_of(hub: Cluster, this: addon.ManagedClusterAddOn) -> addon.DeploymentConfigSpec | None:
    """Return the values that are meant for an add-on; None where there are none. Raises NotReady."""
    wanted = this.config(addon.DEPLOYMENT_CONFIGS)
    if wanted is None:
        return None
    if not wanted.spec_hash:
        raise NotReady(f"addon {this.name} deployment config desired spec hash is empty")
    config = hub.get(addon.AddOnDeploymentConfig, wanted.name, wanted.namespace)
    if config is None:
        raise NotReady(f'addondeploymentconfigs.addon.open-cluster-management.io "{wanted.name}" not found')
    return config.spec


def objects_of(hub: Cluster, this: addon.ManagedClusterAddOn, owner: cluster.ManagedCluster) -> list[Manifest]:
    """Return the objects of an add-on for its cluster. Raises NotReady."""
    template = template_of(hub, this)
    try:
        return rendered(template, this, deployment_config_of(hub, this), _registries(owner))
    except (ValueError, KeyError, TypeError) as error:
        raise NotReady(str(error)) from error


def _registries(owner: cluster.ManagedCluster) -> list[addon.ImageMirror]:
    written = owner.metadata.annotations.get(IMAGE_REGISTRIES, "")
    if not written:
        return []
    return msgspec.convert(orjson.loads(written).get("registries") or [], list[addon.ImageMirror])
