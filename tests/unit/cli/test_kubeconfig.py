"""The kubeconfigs of a fleet, printed."""


def test_a_kubeconfig_is_printed_or_its_path(fleetqueue, tmp_path):
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / "kubeconfig").write_text("kind: Config\n")
    (tmp_path / "kubeconfig").write_text("all of them\n")
    where = ("--data-dir", str(tmp_path))

    assert fleetqueue("kubeconfig", "hub", *where).out == "kind: Config\n"
    assert fleetqueue("kubeconfig", "show", "hub", *where).out == "kind: Config\n"
    assert fleetqueue("kubeconfig", "--path", *where).out == f"{tmp_path / 'kubeconfig'}\n"
    assert fleetqueue("kubeconfig", "--merged", *where).out == "all of them\n"


def test_a_kubeconfig_that_is_not_there_names_those_that_are(fleetqueue, tmp_path):
    for name in ("cluster1", "hub"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kubeconfig").touch()

    result = fleetqueue("kubeconfig", "cluster9", "--data-dir", str(tmp_path))

    assert result.code == 3
    assert result.err.endswith("known are: cluster1, hub\n")
