"""What a work says about each of its manifests: which object it is, how it is updated, and who owns it.

Mirrors: OCM work/helper/helpers.go
"""

import re
from collections.abc import Sequence

from fleetqueue.api import work_v1 as work
from fleetqueue.api.scheme import Manifest, Resource


def resource_meta(ordinal: int, manifest: Manifest, resource: Resource | None) -> work.ResourceMeta:
    """Say which object a manifest is; without a resource the worker does not serve its kind."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    metadata = manifest.get("metadata") or {}
    is_cluster_wide = resource is not None and not resource.namespaced
    return work.ResourceMeta(
        ordinal=ordinal,
        group=group,
        version=version,
        kind=manifest["kind"],
        resource=resource.plural if resource else "",
        name=metadata.get("name") or "",
        namespace="" if is_cluster_wide else metadata.get("namespace") or "",
    )


def config_of(meta: work.ResourceMeta, configs: Sequence[work.ManifestConfig]) -> work.ManifestConfig:
    """Put together what the configurations say that mean an object: of each aspect, the first that says anything."""
    matching_configs = [config for config in configs if _is_meant(meta, config.resource_identifier)]
    return work.ManifestConfig(
        feedback_rules=next((config.feedback_rules for config in matching_configs if config.feedback_rules), ()),
        update_strategy=next((config.update_strategy for config in matching_configs if config.update_strategy), None),
        condition_rules=next((config.condition_rules for config in matching_configs if config.condition_rules), ()),
        feedback_scrape_type=matching_configs[-1].feedback_scrape_type if matching_configs else "",
    )


def is_owned(meta: work.ResourceMeta, option: work.DeleteOption | None) -> bool:
    """Tell whether an object goes when its work goes."""
    if option is None or option.propagation_policy == work.FOREGROUND:
        return True
    if option.propagation_policy == work.ORPHAN:
        return False
    rules = option.selectively_orphans.orphaning_rules if option.selectively_orphans else ()
    this = (meta.group, meta.resource, meta.name, meta.namespace)
    return all((rule.group, rule.resource, rule.name, rule.namespace) != this for rule in rules)


def _is_meant(meta: work.ResourceMeta, wanted: work.ResourceIdentifier) -> bool:
    return (
        (meta.group, meta.resource) == (wanted.group, wanted.resource)
        and _matches(meta.namespace, wanted.namespace)
        and _matches(meta.name, wanted.name)
    )


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None
