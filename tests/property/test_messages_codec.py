from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playground.messages import (
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
    UnknownPart,
    as_message,
    decode_bytes,
    encode_bytes,
    message_to_json,
)
from tests.property.strategies import ANY_TEXT, examples

LEAVES = st.none() | st.booleans() | st.integers() | ANY_TEXT | st.binary(max_size=8)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(ANY_TEXT.filter(lambda k: k != "$deuzBytes"), inner, max_size=3)
    ),
    max_leaves=8,
)
OPTIONAL = st.none() | ANY_TEXT
PARTS = st.one_of(
    st.builds(TextPart, ANY_TEXT),
    st.builds(ImagePart, ANY_TEXT | st.binary(max_size=20), OPTIONAL),
    st.builds(ToolUsePart, ANY_TEXT, ANY_TEXT, VALUES, VALUES),
    st.builds(ToolResultPart, ANY_TEXT, VALUES, st.booleans()),
    st.builds(ReasoningPart, ANY_TEXT, OPTIONAL, OPTIONAL, st.booleans()),
    st.dictionaries(st.sampled_from(["data", "id", "rate"]), VALUES, max_size=3).map(
        lambda data: UnknownPart({"type": "audio", **data})
    ),
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    ANY_TEXT | st.lists(PARTS, max_size=4).map(tuple),
)


@examples(100)
@given(MESSAGES)
def test_any_message_survives_json_untouched(message: Message) -> None:
    data = message_to_json(message)
    assert as_message(data) == message
    text = json.dumps(data)
    # JSON joins a pair of surrogates; everything else comes back from text as well.
    if json.loads(text) == data:
        assert as_message(json.loads(text)) == message


@examples(60)
@given(MESSAGES)
def test_writing_a_message_changes_nothing_in_it(message: Message) -> None:
    before = copy.deepcopy(message)
    data = message_to_json(message)
    frozen = copy.deepcopy(data)
    as_message(data)
    assert message == before
    assert data == frozen


@examples(200)
@given(VALUES)
def test_bytes_come_back_from_their_json_form(value: Any) -> None:
    assert decode_bytes(encode_bytes(value)) == value


@examples(200)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["$deuzBytes", "a"]), inner, max_size=2)
        ),
        max_leaves=6,
    )
)
def test_reading_plain_data_never_raises(value: Any) -> None:
    decode_bytes(value)
