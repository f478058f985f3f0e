"""`fleetqueue dashboard`, where there is nothing to show."""

NOWHERE = """
apiVersion: v1
kind: Config
current-context: hub
contexts: [{name: hub, context: {cluster: hub, user: me}}]
clusters: [{name: hub, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: me, user: {token: hush}}]
"""


def test_a_hub_that_does_not_answer_is_said_at_once(fleetqueue, tmp_path):
    (tmp_path / "config").write_text(NOWHERE)

    result = fleetqueue("dashboard", "--kubeconfig", str(tmp_path / "config"))

    assert result.code == 1
    assert "is the cluster up" in result.err
    assert result.out == ""


def test_without_a_kubeconfig_it_says_what_is_missing(fleetqueue):
    result = fleetqueue("dashboard")

    assert result.code == 2
    assert result.err.startswith("error: ")
