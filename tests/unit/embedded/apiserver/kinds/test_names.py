"""Rules for names, against what the packages of kube-apiserver 1.36.3 say about the same texts."""

import json
from pathlib import Path

import pytest

from fleetqueue.embedded.apiserver.kinds import names

REAL = json.loads(Path(__file__).with_name("real_names.json").read_text())
RULES = {
    "label": names.label,
    "label_prefix": names.prefix_of(names.label),
    "subdomain": names.subdomain,
    "subdomain_prefix": names.prefix_of(names.subdomain),
    "underscored": names.underscored_subdomain,
    "old_label": names.old_label,
    "old_label_prefix": names.prefix_of(names.old_label),
    "path_segment": names.path_segment,
    "path_segment_prefix": names.prefix_of(names.path_segment),
    "qualified_name": names.qualified_name,
    "label_value": names.label_value,
    "port_name": names.port_name,
    "config_key": names.config_key,
    "header_name": names.header_name,
    "percent": names.percent,
}


@pytest.mark.parametrize(
    ("text", "real"), REAL["texts"], ids=lambda value: value[:40] if isinstance(value, str) else ""
)
def test_every_rule_says_what_the_real_server_says(text, real):
    found = {name: list(problems) for name, rule in RULES.items() if (problems := rule(text))}

    assert found == {name: [REAL["sentences"][number] for number in numbers] for name, numbers in real.items()}
