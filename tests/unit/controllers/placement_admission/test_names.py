"""Names that this package writes."""

import pytest

from fleetqueue.controllers.placement_admission.names import check_manager


@pytest.mark.parametrize(
    ("check", "manager"),
    [
        pytest.param("ac", "fleetqueue-check-ac", id="short"),
        pytest.param("c" * 111, f"fleetqueue-check-{'c' * 111}", id="just short enough"),
        pytest.param("c" * 112, f"fleetqueue-check-{'c' * 94}-dcf64783168f47f7", id="too long"),
    ],
)
def test_the_manager_of_a_checks_entry(check, manager):
    assert check_manager(check) == manager


def test_long_names_that_begin_alike_have_managers_of_their_own():
    managers = {check_manager("c" * 240 + end) for end in "ab"}

    assert len(managers) == 2
    assert {len(manager) for manager in managers} == {128}
