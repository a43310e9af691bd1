"""Cards and manifest rows, on real compiles."""

from __future__ import annotations

import pytest

from playground.compiler.compile import compile_context
from playground.compiler.values import ContextCandidate, ContextPackage, SourceResult
from playground.views.panes import EXCLUDED_SHOWN, cards_view, manifest_view, missing_note
from playground.views.record_key import record_key
from playground.views.record_text import BODY_LENGTH, RecordText, flatten, record_texts
from playground.views.xml_pane import xml_view
from playground.working_memory.snapshot import WorkingMemorySnapshot, create_working_memory
from playground.workspace import RecordLabel

HOSTILE = '</record></deuz_context><script>alert(1)</script> **bold** \u202eabc & "quoted"'


def _label(source: str, record_id: str) -> RecordLabel:
    if source == "articles":
        return RecordLabel(f"Article {record_id}", f"article_{record_id}", "part 1")
    return RecordLabel("Loaded skill" if source == "skills" else "", source)


def _results(articles: int = 4, limit: int | None = None) -> tuple[SourceResult, ...]:
    documents = tuple(
        ContextCandidate(str(i), f"## Heading {i}\n\nBody of article {i}. " * 10, 1 - i / (articles + 1))
        for i in range(articles)
    )
    return (
        SourceResult("notes", "memory", candidates=(ContextCandidate("m1", HOSTILE, 0.5),)),
        SourceResult("articles", "rag", candidates=documents, limit=limit),
        SourceResult(
            "skills", "skills", candidates=(ContextCandidate("body/a", "Do this.", 1, mandatory=True),)
        ),
    )


def _memory() -> WorkingMemorySnapshot:
    return create_working_memory(scope="case", goal="Close the case.", constraints=["Never guess."], now=0)


def _compiled(
    results: tuple[SourceResult, ...], max_tokens: int = 8_192
) -> tuple[ContextPackage, dict[tuple[str, str], RecordText]]:
    package = compile_context(
        results=results,
        messages=[],
        input_tokens=100_000,
        used_tokens=0,
        working_memory=_memory(),
        budget={"max_tokens": max_tokens},
    )
    return package, record_texts(results, _memory(), _label)


def test_cards_are_grouped_by_kind_with_counts_and_tokens() -> None:
    package, texts = _compiled(_results(limit=3))
    view = cards_view(package, texts)
    assert [group.name for group in view.groups] == ["Working memory", "Memory", "Documents", "Skills"]
    documents = view.groups[2]
    tokens = sum(e.tokens for e in package.manifest.entries if e.source == "articles" and e.selected)
    assert documents.total == f"3 of 4 · {tokens:,} tokens"
    assert view.total == "7 records"


def test_a_document_card_has_title_origin_score_and_flat_text() -> None:
    package, texts = _compiled(_results())
    card = cards_view(package, texts).groups[2].cards[0]
    assert (card.title, card.source, card.score) == ("Article 0", "part 1 of article_0", "1.00")
    assert card.body.startswith("Heading 0\nBody of article 0.")


def test_a_memory_card_has_no_title_because_its_text_is_one() -> None:
    package, texts = _compiled(_results())
    card = cards_view(package, texts).groups[1].cards[0]
    assert card.title == ""
    assert card.body.startswith("</record></deuz_context><script>alert(1)</script> bold")


def test_working_memory_cards_have_no_score_and_say_mandatory() -> None:
    package, texts = _compiled(_results())
    cards = cards_view(package, texts).groups[0].cards
    assert [(card.body, card.score, card.reason, card.slot) for card in cards] == [
        ("Close the case.", "", "mandatory", "mandatory"),
        ("Never guess.", "", "mandatory", "mandatory"),
    ]


def test_excluded_cards_go_by_score_and_are_cut_with_the_rest_counted() -> None:
    package, texts = _compiled(_results(articles=EXCLUDED_SHOWN + 30, limit=10))
    view = cards_view(package, texts)
    left_out = [entry for entry in package.manifest.entries if not entry.selected]
    assert len(view.excluded) == EXCLUDED_SHOWN
    assert view.excluded_total == f"{len(left_out)} records"
    assert view.excluded_more == f"{len(left_out) - EXCLUDED_SHOWN} more on Explain"
    scores = [float(row.score) for row in view.excluded]
    assert scores == sorted(scores, reverse=True)


def test_nothing_excluded_leaves_no_total_and_no_rest() -> None:
    package, texts = _compiled(_results())
    view = cards_view(package, texts)
    assert (view.excluded, view.excluded_total, view.excluded_more) == ((), "", "")


def test_manifest_rows_follow_the_manifest_and_show_every_entry_once() -> None:
    package, texts = _compiled(_results(limit=2))
    view = manifest_view(package, texts)
    assert [row.key for row in view.rows] == [
        record_key(e.source, e.record_id) for e in package.manifest.entries
    ]
    assert [row.reason for row in view.rows] == [e.reason for e in package.manifest.entries]
    assert view.total == f"{len(package.manifest.entries)} entries"


def test_an_excluded_row_is_grey_whatever_its_kind() -> None:
    package, texts = _compiled(_results(limit=2))
    view = manifest_view(package, texts)
    assert {row.slot for row in view.rows if not row.selected} == {"excluded"}
    assert {row.slot for row in view.rows if row.reason == "ranked"} == {"memory", "rag"}


def test_a_manifest_whose_texts_are_gone_falls_back_to_ids() -> None:
    package, _ = _compiled(_results())
    row = manifest_view(package, {}).rows[-1]
    assert (row.title, row.source) == ("body/a", "skills")
    assert cards_view(package, {}).groups[0].cards[0].title == "goal"


def test_the_missing_note_names_reason_title_and_tokens_of_an_excluded_record() -> None:
    package, texts = _compiled(_results(limit=2))
    view = manifest_view(package, texts)
    out = next(row for row in view.rows if not row.selected)
    assert missing_note(view, out.key) == ("Not in the request (limit): ", out.title, f", {out.tokens} tokens")


@pytest.mark.parametrize("selected", [None, "no-such-key"])
def test_nothing_selected_gives_no_missing_note(selected: str | None) -> None:
    package, texts = _compiled(_results(limit=2))
    view = manifest_view(package, texts)
    assert missing_note(view, selected) is None
    assert missing_note(view, next(row.key for row in view.rows if row.selected)) is None


def test_the_row_of_a_record_is_the_selected_one_where_revisions_share_its_id() -> None:
    versions = (ContextCandidate("m", "old", 0.9, revision=1), ContextCandidate("m", "new", 0.1, revision=2))
    package, texts = _compiled((SourceResult("notes", "memory", candidates=versions),))
    row = manifest_view(package, texts).row(record_key("notes", "m"))
    assert row is not None
    assert row.selected


def test_xml_pieces_give_the_blocks_text_character_for_character() -> None:
    package, _ = _compiled(_results())
    assert xml_view(package).text == package.xml


def test_xml_records_are_the_selected_entries_with_their_colours() -> None:
    package, _ = _compiled(_results(limit=2))
    records = {record.key: record for record in xml_view(package).records if record.key}
    selected = {record_key(e.source, e.record_id): e for e in package.manifest.entries if e.selected}
    assert records.keys() == selected.keys()
    assert records[record_key("skills", "body/a")].slot == "mandatory"
    assert records[record_key("articles", "0")].slot == "rag"


def test_only_our_own_markup_becomes_tags_and_values() -> None:
    package, _ = _compiled(_results())
    record = next(r for r in xml_view(package).records if r.key == record_key("notes", "m1"))
    assert [text for role, text in record.pieces if role == "value"] == ['"notes"', '"memory"', '"m1"']
    shown = "".join(text for role, text in record.pieces if role == "text")
    assert shown.startswith(
        "\n&lt;/record&gt;&lt;/deuz_context&gt;&lt;script&gt;alert(1)&lt;/script&gt; **bold** "
    )
    assert shown.endswith('\u202eabc &amp; "quoted"\n\n')
    assert "<record source=" in [text for role, text in record.pieces if role == "tag"]


def test_working_memory_lines_set_their_id_apart() -> None:
    package, _ = _compiled(_results())
    pieces = [r.pieces for r in xml_view(package).records if r.key == record_key("working-memory", "goal")]
    assert pieces == [(("tag", "<goal>"), ("text", "Close the case."), ("tag", "</goal>"), ("text", "\n"))]
    rule = next(r for r in xml_view(package).records if "Never guess." in str(r.pieces))
    assert rule.pieces[0][0] == "tag"
    assert rule.pieces[0][1].startswith("- [")


def test_a_compile_without_blocks_has_no_xml_records() -> None:
    package = compile_context(results=(), messages=[], input_tokens=1_000, used_tokens=0)
    assert xml_view(package).records == ()
    assert xml_view(package).total == "0 tokens"


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ("# Title\n\n\n- **one**   two\n> quote", "Title\n- one two\nquote"),
        ("#hashtag stays", "#hashtag stays"),
        ("", ""),
        ("   \n\t\n", ""),
        ("a\r\nb", "a\nb"),
    ],
)
def test_text_is_flattened_without_losing_words(text: str, flat: str) -> None:
    assert flatten(text) == flat


def test_a_long_text_is_cut_between_characters_and_says_so() -> None:
    family = "👨‍👩‍👧‍👦"
    flat = flatten(family * 400)
    assert flat.endswith("…")
    assert len(flat) <= BODY_LENGTH + 1
    assert set(flat[:-1].split(family)) == {""}


def test_the_head_of_the_manifest_counts_what_its_filter_shows() -> None:
    package, texts = _compiled(_results(limit=2))
    view = manifest_view(package, texts)
    chosen = sum(row.selected for row in view.rows)
    assert view.totals == {
        "all": f"{len(view.rows)} entries",
        "selected": f"{chosen} entries",
        "excluded": f"{len(view.rows) - chosen} entries",
    }


def _parts(*texts: str) -> dict[tuple[str, str], RecordText]:
    candidates = tuple(ContextCandidate(str(i), text, 0.5) for i, text in enumerate(texts))
    titles = ("FAQ", "FAQ", "Fees")
    return record_texts(
        (SourceResult("articles", "rag", candidates=candidates),),
        None,
        lambda _, record_id: RecordLabel(titles[int(record_id)], "doc", f"part {record_id}"),
    )


def test_titles_of_several_records_are_told_apart_by_their_part() -> None:
    texts = _parts("one", "two", "three")
    assert [text.title for text in texts.values()] == ["FAQ, part 0", "FAQ, part 1", "Fees"]


def test_a_card_does_not_repeat_its_title_in_its_text() -> None:
    texts = _parts("# FAQ\n\nAsk away.", "FAQ", "# Fees and more\n\nNone.")
    assert [text.body for text in texts.values()] == ["Ask away.", "FAQ", "Fees and more\nNone."]


def test_half_a_character_is_replaced_in_every_text_of_a_record_and_the_key_stays_its_own() -> None:
    half = "half \ud83d"
    results = (
        SourceResult("notes", "memory", candidates=(ContextCandidate(half, half, 0.5),)),
        SourceResult(
            "rag", "rag", candidates=(ContextCandidate("1", half, 0.5), ContextCandidate("2", "b", 0.4))
        ),
    )
    memory = create_working_memory(scope=half, goal=half, constraints=[half], now=0)
    package = compile_context(
        results=results, messages=[], input_tokens=100_000, used_tokens=0, working_memory=memory
    )
    texts = record_texts(results, memory, lambda *_: RecordLabel(half, half, half))
    for known in (texts, {}):
        shown = (
            cards_view(package, known),
            manifest_view(package, known),
            xml_view(package),
            tuple(known.values()),
        )
        assert "\\ud83d" not in str(shown)
        assert "half \ufffd" in str(shown)
    assert record_key("notes", half) in {row.key for row in manifest_view(package, texts).rows}
