"""With one MultiKueueCluster per cluster, several Placements share it."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.testing.virtual_time import advance, settle

RUNNING = {"mk": "Ready", "ac": "Ready"}


@pytest.fixture
async def shared(env):
    """Placements gpu and cpu both select c1 and c2."""
    env.fleet("c1", "c2")
    env.multikueue_check("mk-cpu", "cpu")
    for placement in ("gpu", "cpu"):
        env.placement(placement, "c1", "c2")
        env.check(f"ac-{placement}", placement)


@pytest.mark.usefixtures("shared")
async def test_each_cluster_has_one_member_of_its_own_name(env):
    async with env.beating(naming="cluster"):
        await advance(1)

        assert env.members() == ["c1", "c2"]
        assert env.lists("gpu") == env.lists("cpu") == ["c1", "c2"]
        labels = env.api.get(kueue.MultiKueueCluster, "c1").metadata.labels
        assert "fleetqueue.dev/placement" not in labels


@pytest.mark.usefixtures("shared")
async def test_a_member_stays_while_one_placement_lists_it(env):
    async with env.beating(naming="cluster"):
        env.select("c2", placement="gpu")
        await advance(60)

        assert env.lists("gpu") == ["c2"]
        assert env.lists("cpu") == ["c1", "c2"]
        assert env.members() == ["c1", "c2"]


@pytest.mark.usefixtures("shared")
async def test_a_member_goes_with_the_last_placement_that_lists_it(env):
    async with env.beating(naming="cluster"):
        env.select("c2", placement="gpu")
        env.select("c2", placement="cpu")
        await advance(60)

        assert env.members() == ["c2"]
        assert env.workers["c1"].open_watches == 0


@pytest.mark.usefixtures("shared")
async def test_work_of_one_placement_does_not_keep_the_cluster_listed_for_the_other(env):
    env.workload(on="c1", checks={"mk-cpu": "Ready", "ac-cpu": "Ready"})
    env.copy("c1", admitted=True)

    async with env.beating(naming="cluster"):
        env.select("c2", placement="gpu")
        env.select("c2", placement="cpu")
        await advance(60)

        assert env.lists("gpu") == ["c2"]
        assert env.lists("cpu") == ["c1", "c2"]
        assert env.members() == ["c1", "c2"]


@pytest.mark.usefixtures("shared")
async def test_late_work_of_one_placement_is_not_cut_off_by_the_other(env):
    """Both have unlisted c1; then a copy of cpu's appears. Whoever looks first, the member must stay."""
    env.workload(nominated=["c2"], checks={"mk-cpu": "Pending", "ac-cpu": "Ready"})

    async with env.beating(naming="cluster", linger=3.0) as heart:
        env.select("c2", placement="gpu")
        env.select("c2", placement="cpu")
        await settle()
        assert env.lists("cpu") == ["c2"]
        env.copy("c1")
        await advance(2.9)
        heart.configs.queue.close()  # cpu's own last look comes late
        await advance(0.2)

        heart.configs.wake("gpu")
        await settle()

        assert env.members() == ["c1", "c2"]
        heart.configs.wake("cpu")
        await settle()
        assert env.lists("cpu") == ["c1", "c2"]


@pytest.mark.usefixtures("shared")
async def test_when_one_check_goes_the_other_keeps_what_it_needs(env):
    async with env.beating(naming="cluster"):
        env.api.remove(kueue.AdmissionCheck, "ac-gpu")
        await advance(60)

        assert env.api.get(kueue.AdmissionCheck, "ac-gpu") is None
        assert env.lists("gpu") is None
        assert env.lists("cpu") == ["c1", "c2"]
        assert env.members() == ["c1", "c2"]


async def test_two_placements_with_members_of_their_own_count_their_own_work_only(env):
    env.fleet("c1", "c2")
    env.multikueue_check("mk-cpu", "cpu")
    for placement in ("gpu", "cpu"):
        env.placement(placement, "c1", "c2")
        env.check(f"ac-{placement}", placement)
    env.workload(on="cpu-c1", checks={"mk-cpu": "Ready", "ac-cpu": "Ready"})
    env.copy("c1", admitted=True)

    async with env.beating():
        env.select("c2", placement="gpu")
        await advance(60)

        assert env.lists("gpu") == ["gpu-c2"]
        assert env.lists("cpu") == ["cpu-c1", "cpu-c2"]
        assert env.members() == ["cpu-c1", "cpu-c2", "gpu-c2"]
        assert env.workers["c1"].open_watches == 2
