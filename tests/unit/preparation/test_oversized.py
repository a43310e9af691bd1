"""Cutting the results of a current input (section 16)."""

from __future__ import annotations

import base64
import math
from typing import Any

import pytest

from playground.preparation.estimation import PreparationEstimator
from playground.preparation.items import Item
from playground.preparation.oversized import Cut, cut_results, fixed_tokens, tool_names, untouchable
from playground.preparation.protocol import protocol_map
from playground.preparation.result_cutting import (
    BINARY,
    BINARY_ERROR,
    SKIPPED,
    SKIPPED_ERROR,
    looks_binary,
)
from tests.preparation import ESTIMATOR, call, item, items, message, native, result

SENTENCE = "The river rose again last night. "
TEXT = SENTENCE * 152  # 5,016 characters
BASE64 = base64.b64encode(bytes(range(256)) * 20).decode()
UNACKNOWLEDGED = {"version": 1, "status": "unacknowledged", "invocationId": "i"}


def results(*blocks: Any) -> tuple[Item, ...]:
    """One message of results."""
    return items(message("user", *blocks))


def block(cut: Cut, place: int = 0, position: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = cut.result.content[position]["content"][place]
    return found


def over(cut: Cut, originals: tuple[Item, ...], allowance: int, **which: Any) -> int:
    """Tokens by which the whole cut input is over what the allowance and the fixed part give it."""
    return cut.result.final_size - allowance - fixed_tokens(originals, ESTIMATOR, **which)


def test_16_a_text_without_room_keeps_its_beginning_with_a_marker_of_both_sizes() -> None:
    cut = cut_results(results(result("c", TEXT)), 300, ESTIMATOR)
    text, kept = block(cut)["content"], math.floor(300 * 3.5) - 200
    assert text[:kept] == TEXT[:kept]
    assert text[kept:] == "\n\n[Cut to fit: 0.8 KB of 4.9 KB are shown.]"
    assert "error" not in block(cut)
    assert over(cut, results(result("c", TEXT)), 300) <= 0


def test_16_a_text_that_fits_is_the_very_same_item() -> None:
    originals = results(result("c", "short"))
    cut = cut_results(originals, 300, ESTIMATOR)
    assert cut.items[0] is originals[0]
    assert (cut.log, cut.result.warning) == ((), None)


def test_16_who_comes_first_is_served_first_and_without_room_there_is_a_notice() -> None:
    originals = results(result("a", TEXT), result("b", TEXT), result("c", "tiny"))
    cut = cut_results(originals, 400, ESTIMATOR)
    assert "[Cut to fit" in block(cut, 0)["content"]
    assert (block(cut, 1)["content"], block(cut, 1)["error"]) == (SKIPPED, SKIPPED_ERROR)
    assert block(cut, 2) == result("c", "tiny")  # a notice would be longer
    assert over(cut, originals, 400) <= 0


def test_16_many_results_leave_each_other_room_for_their_notices() -> None:
    originals = results(*[result(f"c{number}", TEXT) for number in range(12)])
    cut = cut_results(originals, 400, ESTIMATOR)
    assert over(cut, originals, 400) <= 0
    assert "[Cut to fit" in block(cut, 0)["content"]
    assert {block(cut, place)["content"] for place in range(1, 12)} == {SKIPPED}


def test_16_many_small_results_are_counted_as_a_request_counts_them() -> None:
    # 300 texts of 132 characters are 11,400 tokens, though 39,600 characters seem to be 11,315.
    originals = results(*[result(f"c{number}", SENTENCE * 4) for number in range(300)])
    cut = cut_results(originals, 11_380, ESTIMATOR)
    assert over(cut, originals, 11_380) <= 0
    assert len(cut.log) == 1


def test_16_binary_content_gives_way_to_a_notice_unless_images_came_with_it() -> None:
    image = {"base64": "QUJD", "mediaType": "image/png"}
    originals = results(result("a", BASE64), result("b", BASE64, __images=[image]))
    cut = cut_results(originals, 3000, ESTIMATOR)
    assert (block(cut, 0)["content"], block(cut, 0)["error"]) == (BINARY, BINARY_ERROR)
    assert block(cut, 1)["__images"] == [image]
    assert block(cut, 1)["content"].startswith(BASE64[:1000])


@pytest.mark.parametrize(
    ("text", "binary"),
    [
        (BASE64, True),
        ("A" * 100, True),
        ("A" * 99, False),
        ("A" * 99 + " " + "B" * 99, False),
        ("a b " + "A" * 1100, True),
        ("a b " + "A" * 900, False),
        (("A" * 94 + " " * 6) * 11, False),
        (SENTENCE * 60, False),
        ("", False),
    ],
)
def test_16_binary_is_a_long_run_of_base64(text: str, binary: bool) -> None:
    assert looks_binary(text) is binary


def test_16_25_8_an_error_that_was_there_stays_as_it_was() -> None:
    originals = results(result("a", TEXT, error="it broke"), result("b", BASE64, error="so did this"))
    cut = cut_results(originals, 300, ESTIMATOR)
    assert (block(cut, 0)["error"], block(cut, 1)["error"]) == ("it broke", "so did this")
    assert (block(cut, 1)["content"], cut.items[0].results) == (BINARY, originals[0].results)


def test_16_a_long_error_is_never_cut_and_counts_as_fixed() -> None:
    originals = results(result("a", TEXT, error=TEXT))
    assert fixed_tokens(originals, ESTIMATOR) == ESTIMATOR.text(TEXT)
    assert block(cut_results(originals, 300, ESTIMATOR))["error"] == TEXT


def test_16_25_9_native_outputs_and_later_items_are_cut_too() -> None:
    originals = items(message("user", result("a", TEXT)), native("b", TEXT), native("c", TEXT, custom=True))
    cut = cut_results(originals, 1600, ESTIMATOR)
    assert [len(cut.result.content[place]["output"]) < len(TEXT) for place in (1, 2)] == [True, True]
    assert "error" not in cut.result.content[1]
    assert over(cut, originals, 1600) <= 0


def test_16_other_blocks_lists_and_images_stay_and_count_as_fixed() -> None:
    image = {"type": "input_image_url", "image_url": {"url": "https://example.org/a.png"}}
    parts = [{"type": "input_text", "text": TEXT}]
    originals = items(message("user", result("a", TEXT), image, result("b", parts)), native("c", parts))
    cut = cut_results(originals, 300, ESTIMATOR)
    assert cut.result.content[0]["content"][1:] == [image, result("b", parts)]
    assert cut.items[1] is originals[1]
    listed = ESTIMATOR.data(parts)
    assert fixed_tokens(originals, ESTIMATOR) == 1000 + listed + 4 + ESTIMATOR.text(TEXT)


def test_16_one_plain_message_of_results_has_no_fixed_part() -> None:
    # So its allowance is exactly capacity less system less protected history.
    assert fixed_tokens(results(result("a", TEXT), result("b", "x")), ESTIMATOR) == 0


def test_16_a_users_text_behind_results_is_fixed() -> None:
    originals = items(message("user", result("a", TEXT)), message("user", "And now? " * 100))
    assert fixed_tokens(originals, ESTIMATOR) == 4 + ESTIMATOR.text("And now? " * 100)
    assert cut_results(originals, 300, ESTIMATOR).items[1] is originals[1]


def test_16_what_no_request_holds_is_neither_cut_nor_counted() -> None:
    originals = results(result("orphan", TEXT), result("a", "short"))
    places = {(0, 0)}
    cut = cut_results(originals, 300, ESTIMATOR, dropped=places)
    assert cut.items[0] is originals[0]
    assert fixed_tokens(originals, ESTIMATOR, dropped=places) == 0


def test_19_evidence_and_its_whole_group_are_never_cut() -> None:
    history = items(message("assistant", call("a", "read"), call("b", "write")))
    own = message("user", result("a", TEXT, persistence=UNACKNOWLEDGED))
    originals = items(own, message("user", result("b", TEXT)))
    groups = protocol_map(history, originals)
    whole = untouchable(groups, (*history, *originals))
    assert whole == {0, 1}
    cut = cut_results(originals, 100, ESTIMATOR, whole=whole)
    assert cut.items == originals
    assert fixed_tokens(originals, ESTIMATOR, whole=whole) == cut.result.final_size - 4
    assert cut_results(originals, 100, ESTIMATOR).items[0] is originals[0]


def test_16_a_cut_is_made_from_the_originals_so_more_room_shows_more() -> None:
    originals = results(result("c", TEXT))
    small, large = cut_results(originals, 300, ESTIMATOR), cut_results(originals, 500, ESTIMATOR)
    assert len(block(large)["content"]) - len(block(small)["content"]) == 700
    assert block(large)["content"].count("[Cut to fit") == 1


def test_pitfall_no_cut_is_made_inside_a_character_that_people_see() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    for shift in range(8):
        cut = cut_results(results(result("c", "." * shift + family * 1000)), 300, ESTIMATOR)
        kept = block(cut)["content"].partition("\n\n[Cut")[0][shift:]
        assert kept == family * (len(kept) // len(family))


def test_16_a_cut_that_would_save_nothing_is_not_made() -> None:
    text = "a b " * 220  # 880 characters, of which 850 have room
    assert block(cut_results(results(result("c", text)), 300, ESTIMATOR))["content"] == text


def test_16_no_allowance_at_all_leaves_notices_and_never_raises() -> None:
    for allowance in (0, -5, 3, 50):
        cut = cut_results(results(result("a", TEXT), result("b", BASE64)), allowance, ESTIMATOR)
        assert (block(cut)["content"], block(cut)["error"]) == (SKIPPED, SKIPPED_ERROR)


def test_16_the_record_and_the_log_name_sizes_and_tools_and_no_content() -> None:
    history = items(message("assistant", call("a", "read\nfile"), call("b")))
    originals = results(result("a", TEXT), result("b", BASE64))
    names = tool_names(protocol_map(history, originals))
    cut = cut_results(originals, 300, ESTIMATOR, names=names)
    assert cut.log == (
        "truncated result of read file (a): 5,016 to 893 characters",
        "left out binary result of look (b): 6,828 to 26 characters",
    )
    assert cut.result.warning == f"The current input was cut to fit: {cut.log[0]}; {cut.log[1]}."
    assert cut.result.accepted
    assert (cut.result.error, cut.result.original_size) == (None, originals[0].tokens)
    assert cut.result.final_size == item(cut.result.content[0]).tokens


def test_a_tokenizer_is_held_to_the_allowance_too() -> None:
    dense = PreparationEstimator(len, name="one a character")  # 3.5 times what the characters suggest
    originals = (*results(result("a", TEXT), result("b", TEXT)),)
    cut = cut_results(originals, 600, dense)
    held = [dense.text(block(cut, place)["content"]) for place in (0, 1)]
    assert sum(held) + len(SKIPPED_ERROR) + 4 <= 600
    assert "[Cut to fit" in block(cut)["content"]
    sparse = PreparationEstimator(lambda text: len(text) / 6, name="six a token")
    assert len(block(cut_results(results(result("a", TEXT)), 400, sparse))["content"]) > 2200
