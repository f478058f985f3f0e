"""Places of pods, as a list of domains and packed into slices."""

from hypothesis import given

from fleetqueue.embedded.kueue.versions_topology import MOST_SLICES, listed, sliced
from tests.unit.manifests.generated_objects import assignments, sliced_assignments

HOST = "kubernetes.io/hostname"


def nodes(*names, count=1):
    return {"levels": [HOST], "domains": [{"values": [name], "count": count} for name in names]}


def level(part, place=0):
    return part["valuesPerLevel"][place]


def test_what_domains_have_in_common_is_said_once():
    assignment = {
        "levels": ["block", "rack"],
        "domains": [{"values": ["b", f"rack-{rack}-x"], "count": 2} for rack in (1, 2)],
    }

    [part] = sliced(assignment)["slices"]

    assert part["domainCount"] == 2
    assert level(part, 0) == {"universal": "b"}
    assert level(part, 1) == {"individual": {"prefix": "rack-", "suffix": "-x", "roots": ["1", "2"]}}
    assert part["podCounts"] == {"universal": 2}


def test_other_numbers_of_pods_are_said_for_each_domain():
    domains = [{"values": ["a"], "count": 1}, {"values": ["b"], "count": 2}]

    [part] = sliced({"levels": ["rack"], "domains": domains})["slices"]

    assert part["podCounts"] == {"individual": [1, 2]}


def test_a_beginning_and_an_end_do_not_overlap():
    domains = [{"values": [value], "count": 1} for value in ("ababa", "aba")]

    [part] = sliced({"levels": ["rack"], "domains": domains})["slices"]

    assert level(part) == {"individual": {"suffix": "aba", "roots": ["ab", ""]}}


def test_neighbours_that_are_named_alike_share_a_slice_if_that_is_shorter():
    pools = [f"pool-with-a-long-name-{pool}-{number}" for pool in ("red", "blue") for number in range(40)]

    slices = sliced(nodes(*pools))["slices"]

    assert [part["domainCount"] for part in slices] == [40, 40]
    assert [level(part)["individual"]["prefix"] for part in slices] == [
        "pool-with-a-long-name-red-",
        "pool-with-a-long-name-blue-",
    ]


def test_few_domains_stay_in_one_slice():
    assert len(sliced(nodes("a-1", "a-2", "b-1", "b-2"))["slices"]) == 1


def test_domains_that_are_no_nodes_stay_in_one_slice():
    domains = [{"values": [f"rack-with-a-long-name-{rack // 40}-{rack}"], "count": 1} for rack in range(80)]

    assert len(sliced({"levels": ["rack"], "domains": domains})["slices"]) == 1


def test_there_are_never_more_slices_than_may_be():
    pools = [f"long-long-long-pool-{pool}-{number}" for number in range(2) for pool in range(MOST_SLICES + 1)]

    assignment = nodes(*pools)

    assert len(sliced(assignment)["slices"]) <= MOST_SLICES
    assert listed(sliced(assignment)) == assignment


def test_an_assignment_without_domains_has_no_slices():
    empty = {"levels": ["rack"], "domains": []}

    assert sliced(empty) == {"levels": ["rack"]}
    assert listed(sliced(empty)) == empty


@given(assignments())
def test_a_packed_list_is_the_same_list_when_unpacked(assignment):
    assert listed(sliced(assignment)) == assignment


@given(sliced_assignments())
def test_slices_that_another_packed_are_read(assignment):
    domains = listed(assignment)["domains"]

    assert len(domains) == sum(part["domainCount"] for part in assignment["slices"])
    assert listed(sliced(listed(assignment)))["domains"] == domains
