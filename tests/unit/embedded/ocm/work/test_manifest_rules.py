"""What a work says of how its objects are kept."""

import pytest

from fleetqueue.api import work_v1 as work
from fleetqueue.embedded.ocm.work import manifest_rules

META = work.ResourceMeta(group="", version="v1", kind="ConfigMap", resource="configmaps", namespace="ns", name="cm-1")


@pytest.mark.parametrize(
    ("policy", "rule", "is_owned"),
    [
        pytest.param("Foreground", None, True, id="all go"),
        pytest.param("Orphan", None, False, id="all stay"),
        pytest.param("SelectivelyOrphan", "cm-1", False, id="this one stays"),
        pytest.param("SelectivelyOrphan", "cm-2", True, id="another one stays"),
    ],
)
def test_ownership(policy, rule, is_owned):
    rules = (work.ResourceIdentifier(resource="configmaps", namespace="ns", name=rule),) if rule else ()
    option = work.DeleteOption(
        propagation_policy=policy, selectively_orphans=work.SelectivelyOrphans(orphaning_rules=rules)
    )

    assert manifest_rules.is_owned(META, option) == is_owned


def test_of_several_configurations_the_first_that_says_something_counts():
    anything = work.ResourceIdentifier(resource="configmaps", namespace="*", name="cm-*")
    other = work.ResourceIdentifier(resource="configmaps", namespace="ns", name="other")
    configs = [
        work.ManifestConfig(resource_identifier=other, update_strategy=work.UpdateStrategy(type="ReadOnly")),
        work.ManifestConfig(resource_identifier=anything, feedback_rules=(work.FeedbackRule(type="WellKnownStatus"),)),
        work.ManifestConfig(resource_identifier=anything, update_strategy=work.UpdateStrategy(type="CreateOnly")),
    ]

    found = manifest_rules.config_of(META, configs)

    assert found.update_strategy.type == "CreateOnly"
    assert len(found.feedback_rules) == 1
