"""The pinned table of versions."""

import re

from fleetqueue.real import parts


def test_every_version_is_exact():
    pinned = [project.version for project in parts.PROJECTS] + [source.version for source in parts.OCM_CRDS]

    assert all(re.fullmatch(r"v\d+\.\d+\.\d+", version) for version in pinned)


def test_no_two_programs_share_a_name():
    names = [binary.name for binary in parts.binaries()]

    assert len(names) == len(set(names))


def test_the_key_names_the_versions_and_changes_with_them(monkeypatch):
    before = parts.key()
    monkeypatch.setattr(parts, "PROJECTS", parts.PROJECTS[:-1])

    assert before.startswith("k8s-1.36.3-kueue-0.19.2-ocm-1.2.1-")
    assert parts.key() != before
