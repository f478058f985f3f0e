from fleetqueue.embedded.apiserver.registry.conversion import version_order


def test_stable_versions_come_first_and_odd_names_last():
    versions = ["foo1", "v1alpha2", "v10", "v1beta1", "v2", "bar", "v1", "v3beta1", "v11alpha1", "v1beta10"]

    expected = ["v10", "v2", "v1", "v3beta1", "v1beta10", "v1beta1", "v11alpha1", "v1alpha2", "bar", "foo1"]
    assert sorted(versions, key=version_order) == expected
