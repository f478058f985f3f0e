"""The settings of our processes, printed."""


def test_settings_can_be_looked_at(fleetqueue):
    result = fleetqueue("controller", "--show-settings", "--no-leader-election", "--set", "probes.port=0")

    assert result.code == 0
    assert "enabled: false" in result.out
    assert "port: 0" in result.out
