"""The search for flavors: which is taken, how well it fits, and what is said where none does."""

import pytest

from fleetqueue.api.pod_templates import pod_sets
from fleetqueue.embedded.kueue.scheduling.assignment import Attempt, GranularMode, Mode, merged_attempts
from fleetqueue.embedded.kueue.scheduling.cohorts import Forest
from fleetqueue.embedded.kueue.scheduling.flavor_assigner import Chance, FlavorAssigner, lowest_that_fits, mismatch
from fleetqueue.embedded.kueue.scheduling.queue_topology import QueueTopology
from fleetqueue.embedded.kueue.scheduling.quota import Quota, quotas
from fleetqueue.embedded.kueue.scheduling.workload_info import Tried
from fleetqueue.embedded.kueue.topology.counting import CountedTrees
from fleetqueue.embedded.kueue.topology.flavor_topology import FlavorTopology
from fleetqueue.embedded.kueue.topology.tree import Tree

from .objects import CPU, cpu, flavor, group, pod_set, queue, quota, work

NOBODY = (GranularMode.NO_CANDIDATES, 0)


def search(asked, view, *, lent=None, used=None, flavors=("default", "one", "two"), preemption=NOBODY, **more):
    """Search for a Workload in a queue, beside another of its cohort that lends."""
    grown = Forest()
    node = grown.set_queue(view.name, view.spec.cohort_name, quotas(view.spec.resource_groups))
    if lent:
        grown.set_queue("other", view.spec.cohort_name, {what: Quota(value) for what, value in lent.items()})
    node.add_all(used or {})
    known = {name: flavor(name) for name in flavors}
    return FlavorAssigner(asked, node, view.spec, known, lambda what, value: preemption, cycle=1, **more)


def flavors_of(assignment):
    return [{name: given.flavor for name, given in part.given.items()} for part in assignment.parts]


TWO = group(one=quota(2), two=quota(4))


@pytest.mark.parametrize(
    ("asked", "used", "found", "mode"),
    [
        pytest.param("2", {}, "one", Mode.FIT, id="the first that fits"),
        pytest.param("3", {}, "two", Mode.FIT, id="the second where the first is too small"),
        pytest.param("2", {cpu("one"): 1000}, "two", Mode.FIT, id="the second where the first is used"),
        pytest.param("2", {cpu("one"): 1000, cpu("two"): 3000}, "one", Mode.PREEMPT, id="one must wait for another"),
    ],
)
def test_which_flavor(asked, used, found, mode):
    assignment = search(work("w", cpu=asked), queue("q", TWO), used=used).assign()

    assert flavors_of(assignment) == [{"cpu": found}]
    assert assignment.mode is mode


def test_what_is_missing_is_said_for_every_flavor():
    assignment = search(work("w", cpu="5"), queue("q", TWO)).assign()

    assert assignment.mode is Mode.NO_FIT
    assert assignment.message == (
        "couldn't assign flavors to pod set main: "
        "insufficient quota for cpu in flavor one, previously considered podsets requests (0) + current podset request "
        "(5) > maximum capacity (2), "
        "insufficient quota for cpu in flavor two, previously considered podsets requests (0) + current podset request "
        "(5) > maximum capacity (4)"
    )


def test_what_the_queue_has_no_quota_of_is_looked_at_unless_it_is_ignored():
    asked = work("w", pod_set(requests={"cpu": "1", "example.com/x": "1"}))

    blocked = search(asked, queue("q", TWO)).assign()
    ignored = search(asked, queue("q", TWO), ignores_undeclared=True).assign()

    assert blocked.message == (
        "couldn't assign flavors to pod set main: resource example.com/x unavailable in ClusterQueue"
    )
    assert flavors_of(ignored) == [{"cpu": "one"}]
    assert ignored.parts[0].manifest["resourceUsage"] == {"cpu": "1"}
    assert ignored.usage == {cpu("one"): 1000}


def test_a_flavor_that_is_gone_is_said():
    assignment = search(work("w"), queue("q", TWO), flavors=("two",)).assign()

    assert flavors_of(assignment) == [{"cpu": "two"}]
    assert assignment.considered == "main: one(NoFit;flavor one not found)"


def test_pod_sets_count_together():
    asked = work("w", pod_set("a", requests={"cpu": "1"}), pod_set("b", count=2, requests={"cpu": "1"}))

    assignment = search(asked, queue("q", TWO)).assign()

    assert flavors_of(assignment) == [{"cpu": "one"}, {"cpu": "two"}]
    assert assignment.usage == {cpu("one"): 1000, cpu("two"): 2000}


def test_resources_of_one_group_get_one_flavor():
    gpu = "nvidia.com/gpu"
    both = group(one=[quota(4), quota(0, resource=gpu)], two=[quota(4), quota(1, resource=gpu)])

    assignment = search(work("w", pod_set(requests={"cpu": "1", gpu: "1"})), queue("q", both)).assign()

    assert flavors_of(assignment) == [{"cpu": "two", gpu: "two"}]


def test_pods_are_counted_where_there_is_quota_for_them():
    both = group(default=[quota(4), quota(2, resource="pods")])

    assignment = search(work("w", pod_set(count=3, requests={"cpu": "1"})), queue("q", both)).assign()

    assert assignment.mode is Mode.NO_FIT
    assert "insufficient quota for pods in flavor default" in assignment.message


def test_the_search_goes_on_where_it_ended():
    view = queue("q", TWO, flavorFungibility={"whenCanPreempt": "MayStopSearch"})
    asked = work("w", cpu="2")
    first = search(asked, view, used={cpu("one"): 2000}, preemption=(GranularMode.PREEMPT, 0)).assign()
    asked.tried = first.tried

    second = search(asked, view, used={cpu("one"): 2000}, preemption=(GranularMode.PREEMPT, 0)).assign()

    assert (flavors_of(first), first.tried.has_more) == ([{"cpu": "one"}], True)
    assert (flavors_of(second), second.tried.has_more) == ([{"cpu": "two"}], False)


@pytest.mark.parametrize(
    ("rules", "found", "borrows"),
    [
        pytest.param({}, "one", 1, id="borrows before it tries the next"),
        pytest.param({"whenCanBorrow": "TryNextFlavor"}, "two", 0, id="tries the next before it borrows"),
    ],
)
def test_borrowing_or_the_next_flavor(rules, found, borrows):
    view = queue("q", TWO, cohort="c", flavorFungibility=rules)

    assignment = search(work("w", cpu="3"), view, lent={cpu("one"): 2000}).assign()

    assert flavors_of(assignment) == [{"cpu": found}]
    assert assignment.borrows == borrows


FIT, RECLAIM, PREEMPT, NO_CANDIDATES = (
    GranularMode.FIT,
    GranularMode.RECLAIM,
    GranularMode.PREEMPT,
    GranularMode.NO_CANDIDATES,
)


@pytest.mark.parametrize(
    ("better", "worse", "rules"),
    [
        pytest.param(Chance(FIT, 1), Chance(PREEMPT, 0), {}, id="borrowing over preemption by default"),
        pytest.param(Chance(RECLAIM, 0), Chance(PREEMPT, 0), {}, id="reclaiming over preempting ones own"),
        pytest.param(Chance(FIT, 1), Chance(FIT, 2), {}, id="borrowing close by over far away"),
        pytest.param(Chance(PREEMPT, 3), Chance(NO_CANDIDATES, 0), {}, id="anything over hope"),
        pytest.param(Chance(NO_CANDIDATES, 3), Chance(GranularMode.NO_FIT, 0), {}, id="hope over nothing"),
        pytest.param(
            Chance(PREEMPT, 0),
            Chance(FIT, 1),
            {"preference": "PreemptionOverBorrowing"},
            id="the other way where asked",
        ),
    ],
)
def test_which_chance_is_better(better, worse, rules):
    fungibility = queue("q", flavorFungibility=rules).spec.flavor_fungibility

    assert better.is_better(worse, fungibility)
    assert not worse.is_better(better, fungibility)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        pytest.param(1, (0, True), id="its own quota holds it"),
        pytest.param(3, (1, True), id="its cohort's"),
        pytest.param(5, (2, False), id="the whole tree's"),
        pytest.param(9, (2, False), id="nobody's"),
    ],
)
def test_the_lowest_tree_that_fits(value, found):
    grown = Forest()
    grown.set_cohort("left", "top", {})
    node = grown.set_queue("q", "left", {CPU: Quota(1)})
    grown.set_queue("p", "left", {CPU: Quota(2)})
    grown.set_queue("r", "top", {CPU: Quota(3)})

    assert lowest_that_fits(node, CPU, value) == found


def test_a_queue_alone_never_borrows():
    node = Forest().set_queue("q", "", {CPU: Quota(1)})

    assert lowest_that_fits(node, CPU, 5) == (0, False)


def test_how_flavors_did_is_told_together():
    attempts = [
        ("cpu", ["one", "two"], [Attempt("one", FIT, 1), Attempt("two", PREEMPT, 0, ("b",))]),
        ("gpu", ["one", "two"], [Attempt("two", NO_CANDIDATES, 2, ("a",))]),
    ]

    told = [str(each) for each in merged_attempts(attempts)]

    assert told == [
        "one(NoFit;borrow=1;flavor one does not provide resource gpu)",
        "two(preemptionMode=NoCandidates;borrow=2;a;b)",
    ]


def test_nothing_is_left_to_try_where_nothing_was_found():
    assert not Tried([{}], 1, 1, b"").has_more
    assert Tried([{"cpu": 0}], 1, 1, b"").next_place(0, "cpu") == 1
    assert Tried([{"cpu": -1}], 1, 1, b"").next_place(0, "cpu") == 0


SPOT = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
WRONG = "flavor f doesn't match node affinity"


def affinity(*terms):
    required = {"nodeSelectorTerms": [{"matchExpressions": [*term]} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def term(key, operator, *values):
    return {"key": key, "operator": operator, "values": [*values]}


@pytest.mark.parametrize(
    ("asked", "offered", "why"),
    [
        pytest.param({}, {}, "", id="nothing is asked"),
        pytest.param(
            {}, {"nodeTaints": [SPOT]}, "untolerated taint {spot yes NoSchedule <nil>} in flavor f", id="taint"
        ),
        pytest.param({}, {"nodeTaints": [{**SPOT, "effect": "PreferNoSchedule"}]}, "", id="a taint that only warns"),
        pytest.param({"tolerations": [{"operator": "Exists"}]}, {"nodeTaints": [SPOT]}, "", id="tolerated by the pods"),
        pytest.param({}, {"nodeTaints": [SPOT], "tolerations": [{"operator": "Exists"}]}, "", id="and by the flavor"),
        pytest.param({"nodeSelector": {"arch": "arm"}}, {"nodeLabels": {"arch": "x86"}}, WRONG, id="another label"),
        pytest.param({"nodeSelector": {"zone": "a"}}, {"nodeLabels": {"arch": "x86"}}, "", id="a label of the nodes"),
        pytest.param(
            {"affinity": affinity([term("arch", "In", "arm")])}, {"nodeLabels": {"arch": "x86"}}, WRONG, id="in"
        ),
        pytest.param(
            {"affinity": affinity([term("arch", "In", "arm")], [term("arch", "Exists")])},
            {"nodeLabels": {"arch": "x86"}},
            "",
            id="one of several terms is enough",
        ),
        pytest.param(
            {"affinity": affinity([term("arch", "In", "arm")], [term("zone", "In", "a")])},
            {"nodeLabels": {"arch": "x86"}},
            "",
            id="a term about the nodes can always be met",
        ),
        pytest.param(
            {"affinity": affinity([term("arch", "NotIn", "x86"), term("zone", "In", "a")])},
            {"nodeLabels": {"arch": "x86"}},
            WRONG,
            id="of a term only what the flavor knows counts",
        ),
        pytest.param(
            {"affinity": affinity([term("cores", "Gt", "8")])}, {"nodeLabels": {"cores": "16"}}, "", id="more"
        ),
        pytest.param(
            {"affinity": affinity([term("cores", "Lt", "8")])}, {"nodeLabels": {"cores": "16"}}, WRONG, id="less"
        ),
        pytest.param(
            {"affinity": affinity([term("cores", "Gt", "8")])}, {"nodeLabels": {"cores": "x"}}, WRONG, id="no number"
        ),
        pytest.param(
            {"affinity": affinity([term("arch", "DoesNotExist")])}, {"nodeLabels": {"arch": "x86"}}, WRONG, id="absent"
        ),
    ],
)
def test_mismatch(asked, offered, why):
    (one,) = pod_sets([pod_set(**asked)])

    assert mismatch(one, "f", flavor("f", **offered)) == why


def test_a_flavor_that_is_gone():
    (one,) = pod_sets([pod_set()])

    assert mismatch(one, "f", None) == "flavor f not found"


def aware(*names, only=False):
    """What topologies mean for a queue with such topology-aware flavors, whose levels are racks and nodes."""
    tree = Tree(("rack", "kubernetes.io/hostname"), ())
    return QueueTopology({name: FlavorTopology(name, "t", tree, CountedTrees(tree)) for name in names}, is_only=only)


@pytest.mark.parametrize(
    ("request_", "offered", "known", "why"),
    [
        pytest.param({"required": "rack"}, "t", aware("f"), "", id="asked for and there"),
        pytest.param(None, "", aware("f"), "", id="neither asked for nor there"),
        pytest.param({}, "t", aware("f"), 'Flavor "f" supports only TopologyAwareScheduling', id="not asked for"),
        pytest.param({}, "t", aware("f", only=True), "", id="not asked for, but the queue has nothing else"),
        pytest.param(
            {"required": "rack"}, "", aware(), 'Flavor "f" does not support TopologyAwareScheduling', id="not there"
        ),
        pytest.param(
            {"required": "rack"}, "t", aware(), 'Flavor "f" information missing in TAS cache', id="no Topology yet"
        ),
        pytest.param(
            {"required": "row"}, "t", aware("f"), 'Flavor "f" does not contain the requested level', id="no such level"
        ),
        pytest.param(
            {"required": "rack", "podSetSliceRequiredTopology": "row", "podSetSliceSize": 1},
            "t",
            aware("f"),
            'Flavor "f" does not contain the requested level',
            id="no such level for slices",
        ),
        pytest.param(
            {"unconstrained": False}, "t", aware("f"), 'Flavor "f" does not contain the requested level', id="no level"
        ),
    ],
)
def test_topologies_and_flavors(request_, offered, known, why):
    asked = pod_set(requests={"cpu": "1"})
    (one,) = pod_sets([asked if request_ is None else {**asked, "topologyRequest": request_}])
    fields = {"topologyName": offered} if offered else {}

    assert mismatch(one, "f", flavor("f", **fields), known, ["cpu"]) == why


def test_a_flavor_without_topology_may_give_what_pods_do_not_ask_for_themselves():
    (one,) = pod_sets([{**pod_set(requests={"cpu": "1"}), "topologyRequest": {"required": "rack"}}])

    assert mismatch(one, "f", flavor("f"), aware(), ["licenses"]) == ""


def test_pod_sets_of_a_group_get_one_flavor_that_has_enough_for_both():
    grouped = {"topologyRequest": {"podSetGroupName": "g"}}
    sets = [
        {**pod_set("leader", requests={"cpu": "1"}), **grouped},
        {**pod_set("workers", count=2, requests={"cpu": "1"}), **grouped},
    ]

    assignment = search(work("w", *sets), queue("q", TWO)).assign()

    assert flavors_of(assignment) == [{"cpu": "two"}, {"cpu": "two"}]
    assert assignment.usage == {cpu("two"): 3000}


def test_pod_sets_of_a_group_wait_for_the_same():
    grouped = {"topologyRequest": {"podSetGroupName": "g"}}
    sets = [{**pod_set(name, requests={"cpu": "3"}), **grouped} for name in ("a", "b")]

    assignment = search(work("w", *sets), queue("q", group(two=quota(4)))).assign()

    why = "insufficient quota for cpu in flavor two, previously considered podsets requests (0) + current podset"
    assert assignment.message.count(why) == 2
