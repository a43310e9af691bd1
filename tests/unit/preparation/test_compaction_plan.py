"""Which groups go, and in what order (13.1, 13.2)."""

from __future__ import annotations

from collections.abc import Sequence

from playground.preparation.compaction_plan import fitting, oldest, plan_algorithmic, rolling
from playground.preparation.items import Json
from playground.preparation.protocol import Group, protocol_map
from tests.preparation import call, items, message, native, pad, pair, result


def groups_of(*data: Json, current_input: Sequence[Json] = ()) -> tuple[Group, ...]:
    return protocol_map(items(*data), items(*current_input)).groups


def pairs(count: int, first: int = 0) -> list[Json]:
    return [half for number in range(first, first + count) for half in pair(f"c{number}")]


def test_13_2_a_group_is_large_strictly_above_the_limit() -> None:
    groups = groups_of(*pairs(2))
    plan = plan_algorithmic(groups, largest={groups[0]: 1024, groups[1]: 1025}, result_bytes=1024, max_pairs=10)
    assert (plan.large, plan.capped) == ((groups[1],), ())


def test_13_2_the_oldest_pairs_above_the_cap_go() -> None:
    groups = groups_of(*pairs(15))
    plan = plan_algorithmic(groups, largest={}, result_bytes=1024, max_pairs=10)
    assert plan.capped == groups[:5]
    ten = groups_of(*pairs(10))
    assert plan_algorithmic(ten, largest={}, result_bytes=1024, max_pairs=10).capped == ()


def test_13_2_what_goes_by_size_no_longer_counts_for_the_cap() -> None:
    groups = groups_of(*pairs(12))
    plan = plan_algorithmic(groups, largest={groups[11]: 5000}, result_bytes=1024, max_pairs=10)
    assert (plan.large, plan.capped) == ((groups[11],), groups[:1])


def test_13_2_protected_pairs_count_for_the_cap_but_never_go() -> None:
    waiting = [message("assistant", call("p1"), call("p2")), message("user", result("p1"))]
    groups = groups_of(*waiting, *pairs(10), current_input=[message("user", result("p2"))])
    plan = plan_algorithmic(groups, largest={groups[0]: 9999}, result_bytes=1024, max_pairs=10)
    assert groups[0].protection == "input"
    assert (plan.large, plan.capped) == ((), groups[1:3])


def test_13_2_a_group_of_several_pairs_counts_each_of_them() -> None:
    several = message("assistant", *[call(f"m{number}") for number in range(4)])
    answers = message("user", *[result(f"m{number}") for number in range(4)])
    groups = groups_of(several, answers, *pairs(8))
    plan = plan_algorithmic(groups, largest={}, result_bytes=1024, max_pairs=10)
    assert plan.capped == groups[:1]


def test_13_2_retained_groups_are_passed_over() -> None:
    groups = groups_of(*pairs(12))
    plan = plan_algorithmic(
        groups, largest={groups[0]: 5000}, result_bytes=1024, max_pairs=10, retained=groups[:1]
    )
    assert (plan.large, plan.capped) == ((), groups[1:3])


def test_13_2_incomplete_groups_do_not_fall_to_the_cap() -> None:
    groups = groups_of(message("assistant", call("open")), message("user", "so?"), *pairs(11))
    plan = plan_algorithmic(groups, largest={}, result_bytes=1024, max_pairs=10)
    assert plan.capped == (groups[2],)


def test_15_3_the_newest_groups_that_fit_together_are_chosen() -> None:
    groups = groups_of(*pairs(4))
    sizes = {groups[0]: [10], groups[1]: [90], groups[2]: [30, 30], groups[3]: [40]}
    chosen, left_out = fitting(groups, sizes, lambda wanted: sum(wanted) <= 120)
    assert (chosen, left_out) == ((groups[0], groups[2], groups[3]), (groups[1],))


def test_13_2_the_window_rolls_over_plain_items_first() -> None:
    groups = groups_of(*pairs(1), pad(50, "a"), pad(60, "b"), *pairs(1, first=1), pad(70, "c"))
    first, plain_a, plain_b, second, plain_c = groups
    assert rolling(groups, 0) == ()
    assert rolling(groups, 1) == (plain_a,)
    assert rolling(groups, 51) == (plain_a, plain_b)
    assert rolling(groups, 181) == (plain_a, plain_b, plain_c, first)
    assert rolling(groups, 9999) == (plain_a, plain_b, plain_c, first, second)
    assert rolling(groups, 9999, retained=[first, plain_b]) == (plain_a, plain_c, second)


def test_13_1_the_default_takes_whatever_is_oldest() -> None:
    groups = groups_of(*pairs(1), pad(50, "a"), *pairs(1, first=1))
    assert oldest(groups, 1) == groups[:1]
    assert oldest(groups, 9999) == groups


def test_what_no_request_holds_is_not_lost_for_nothing() -> None:
    groups = groups_of(message("user", result("orphan", "x" * 500)), pad(50, "a"))
    assert (rolling(groups, 9999), oldest(groups, 9999)) == (groups[1:], groups[1:])


def test_11_3_nothing_that_is_protected_rolls_away() -> None:
    groups = groups_of(
        message("assistant", {**call("later"), "async": True}),
        native("elsewhere"),
        {"type": "reasoning", "id": "r", "encrypted_content": "x" * 100},
        message("assistant", call("now")),
        current_input=[message("user", result("now"))],
    )
    assert [group.protection for group in groups] == ["async", "continuation", "opaque", "input"]
    assert (rolling(groups, 9999), oldest(groups, 9999)) == ((), ())
