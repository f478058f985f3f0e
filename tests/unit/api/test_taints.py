"""Which taints a pod does not mind."""

import pytest

from fleetqueue.api.taints import Taint, Toleration, is_tolerated

TAINT = Taint(key="gpu", value="yes", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        pytest.param(Toleration(key="gpu", value="yes"), True, id="by value"),
        pytest.param(Toleration(key="gpu", value="no"), False, id="another value"),
        pytest.param(Toleration(key="gpu"), False, id="no value"),
        pytest.param(Toleration(key="gpu", operator="Exists"), True, id="any value"),
        pytest.param(Toleration(key="disk", operator="Exists"), False, id="another key"),
        pytest.param(Toleration(operator="Exists"), True, id="everything"),
        pytest.param(Toleration(value="yes"), False, id="a value of no key"),
        pytest.param(Toleration(key="gpu", operator="Exists", effect="NoSchedule"), True, id="its effect"),
        pytest.param(Toleration(key="gpu", operator="Exists", effect="NoExecute"), False, id="another effect"),
    ],
)
def test_fits(toleration, fits):
    assert toleration.fits(TAINT) == fits
    assert is_tolerated(TAINT, [toleration]) == fits


def test_without_tolerations_nothing_is_tolerated():
    assert not is_tolerated(TAINT, [])
