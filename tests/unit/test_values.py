from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, field_validator

from playground import ContextBudget, ContextCandidate, ContextCompiler, InvalidInputError, compile_context
from playground.compiler.querying import check_sources
from playground.exports import to_openai
from playground.memory.arguments import checked_choices, checked_flag, checked_number, checked_time
from playground.messages import Message
from playground.retrieval.search import ChunkSearch
from playground.sources import ChatRecord
from playground.values import RecordedValue, Value, shown, whole_number
from tests.host import Spy, step


class Size(Value):
    """A value for these tests."""

    width: Annotated[int, Field(ge=0)]
    name: str = ""

    @field_validator("name")
    @classmethod
    def _short(cls, name: str) -> str:
        if len(name) > 3:
            raise InvalidInputError("at most 3 characters", remedy="Cut it.")
        return name


class RecordedSize(RecordedValue):
    """A recorded value for these tests."""

    max_width: int = 1


def test_a_value_is_frozen_closed_and_hashable() -> None:
    size = Size(width=1)
    with pytest.raises(ValueError, match="frozen"):
        size.width = 2  # type: ignore[misc]  # that is the point
    assert size.width == 1
    assert hash(size) == hash(Size(width=1))
    with pytest.raises(InvalidInputError, match="depth"):
        Size(width=1, depth=2)  # type: ignore[call-arg]  # that is the point


@pytest.mark.parametrize(
    "build",
    [
        lambda: Size(width=-1),
        lambda: Size.parse({"width": -1}),
        lambda: Size.parse_json('{"width": -1}'),
        lambda: Size.parse_json("{"),
        lambda: Size.parse(5),
        lambda: Size.parse(None),
        Size,
    ],
)
def test_whatever_is_wrong_with_a_value_is_our_own_error(build: object) -> None:
    with pytest.raises(InvalidInputError, match="Size is not valid"):
        build()  # type: ignore[operator]  # lambdas of one type


def test_every_bad_field_is_named_and_no_content_is_repeated() -> None:
    with pytest.raises(InvalidInputError) as caught:
        Size.parse({"width": -7777, "name": "SECRET"})
    message = str(caught.value)
    assert "width" in message
    assert "name" in message
    assert "at most 3 characters" in message
    assert "7777" not in message
    assert "SECRET" not in message


def test_recorded_values_are_written_in_camel_case_and_read_in_both() -> None:
    value = RecordedSize(max_width=5)
    assert value.model_dump(by_alias=True) == {"maxWidth": 5}
    assert RecordedSize.parse({"maxWidth": 5}) == RecordedSize.parse({"max_width": 5}) == value


def test_numbers_that_are_not_finite_are_refused() -> None:
    class Ratio(Value):
        """A number."""

        value: float

    for bad in (float("nan"), float("inf")):
        with pytest.raises(InvalidInputError):
            Ratio(value=bad)


class Note(RecordedValue):
    """A recorded value with a version, nested values and free data, for these tests."""

    version: Literal[3] = 3
    long_name: str = ""
    sizes: tuple[RecordedSize, ...] = ()
    absent: str | None = None
    free: dict[str, Any] = Field(default_factory=dict)


def test_r154_a_recorded_value_is_written_as_canonical_json() -> None:
    note = Note(long_name="é\n\x00", sizes=(RecordedSize(),), free={"b": None, "a": [1.5, True]})
    assert note.to_json() == (
        '{"version":3,"longName":"é\\n\\u0000","sizes":[{"maxWidth":1}],"free":{"b":null,"a":[1.5,true]}}'
    )
    assert Note.from_json(note.to_json()) == note
    assert Note.from_json(note.to_json().encode()) == note
    assert Note.from_json('{"version": 3, "long_name": "either spelling"}').long_name == "either spelling"


@pytest.mark.parametrize(
    "text",
    [
        "\ud800",
        "x\udc00",
        "a\udc00\ud800b",
        "\ud83d\ude00",
        "\ud83d\ud83d\ude00\ude00",
        "x\ud83d\ude00y\ud83d\ude00\U0001f600",
        "\U0001f600",
        "\\ud83d\\ude00",
        "\u2028\x7f",
    ],
)
def test_any_text_survives_json_that_encodes_to_utf8(text: str) -> None:
    note = Note(long_name=text, free={"deep": [{"text": text}]})
    written = note.to_json().encode()
    assert Note.from_json(written) == note
    data = json.loads(written)
    assert data["version"] == 3
    assert Note.recorded(data) == note
    assert data == json.loads(written), "the caller's data was changed"


def test_halves_of_a_character_stand_as_pieces_and_all_else_as_it_is() -> None:
    assert Note(long_name="\ud83d\ude00!").to_json() == (
        '{"version":3,"longName":{"$deuzText":["\\ud83d","\\ude00!"]},"sizes":[],"free":{}}'
    )
    assert '"longName":"\\ud83d!"' in Note(long_name="\ud83d!").to_json()


@pytest.mark.parametrize(
    "lookalike",
    [["a", "b"], ["\ud83d\ude00"], ["\ud83d", 5], ["\ud83d"], [], "text", None, {"$deuzText": ["x", "y"]}],
    ids=repr,
)
def test_what_only_looks_like_pieces_stays_plain_data(lookalike: Any) -> None:
    note = Note(free={"$deuzText": lookalike, "more": {"$deuzText": lookalike}})
    if lookalike == ["\ud83d\ude00"]:  # its own text is written in pieces, and comes back from them
        assert "$deuzText" in note.to_json()
    assert Note.from_json(note.to_json()) == note
    assert Note.recorded(json.loads(note.to_json())) == note


def test_data_that_is_deep_is_read_as_it_is_and_data_that_holds_itself_does_not_hang() -> None:
    deep: list[Any] = ["\ud83d\ude00"]
    for _ in range(5_000):
        deep = [deep]
    found = Note.recorded({"version": 3, "free": {"deep": deep}}).free["deep"]
    for _ in range(5_000):
        (found,) = found
    assert found == ["\ud83d\ude00"]
    endless: dict[str, Any] = {"version": 3}
    endless["free"] = endless
    with pytest.raises(InvalidInputError, match="no JSON form"):
        Note.recorded(endless).to_json()


@pytest.mark.parametrize(
    "free",
    [
        {"x": {1, 2}},
        {"x": float("nan")},
        {"\ud83d\ude00": 1},
        {"x": [{"\ud83d\ude00": "\ud83d\ude00"}]},
        {"$deuzText": ["\ud83d", "\ude00"]},
        {"x": {"$deuzText": ("\ud83d", "\ude00")}},
    ],
    ids=repr,
)
def test_free_data_without_a_json_form_is_refused_rather_than_changed(free: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="Note has no JSON form"):
        Note(free=free).to_json()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "3", "{}", "\x00", "[" * 100_000, b"\xff", None, 5, '{"version":3,"other":1}'],
    ids=lambda text: repr(text)[:30],
)
def test_r159_text_that_is_not_the_recorded_value_is_the_callers_mistake(text: Any) -> None:
    with pytest.raises(InvalidInputError, match="Note"):
        Note.from_json(text)


@pytest.mark.parametrize("version", [0, 2, 4, "3", None, 3.5, True, [3]])
def test_r246_another_version_of_a_recorded_value_is_refused(version: object) -> None:
    with pytest.raises(InvalidInputError, match="Note has version"):
        Note.from_json(json.dumps({"version": version}))
    with pytest.raises(InvalidInputError, match="version"):
        Note.recorded({"version": version})


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


class OddText(str):
    __slots__ = ()

    def __getitem__(self, key: object) -> str:
        raise RuntimeError("no piece")

    def __repr__(self) -> str:
        return self


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        ("a", "'a'"),
        (None, "None"),
        ("x" * 1_000, "'" + "x" * 49),
        (10**5_000, "a huge int"),
        ([10**5_000], "a list without a text"),
        (Unshowable(), "a Unshowable without a text"),
        (type("N" * 500, (Unshowable,), {})(), "a " + "N" * 30 + " without a text"),
        (OddText("odd"), "odd"),
        ("\ud800", r"'\ud800'"),
    ],
    ids=lambda value: f"{type(value).__name__:.20}",
)
def test_any_value_is_shown_in_at_most_50_characters(value: object, text: str) -> None:
    assert shown(value) == text
    assert len(shown(value)) <= 50
    assert type(shown(value)) is str


HUGE = 10**5_000
ENTRY_POINTS: dict[str, Callable[[Any], object]] = {
    "whole_number": lambda value: whole_number(value, "It"),
    "version": lambda value: Note.from_json('{"version": 4}') if value is HUGE else Note.parse(value),
    "role": lambda value: Message(value, "hi"),
    "score": lambda value: ContextCandidate("a", "t", value),
    "budget": lambda value: ContextBudget(ratio=value),
    "step": lambda value: step(ContextCompiler(sources=[]), value),
    "refresh": lambda value: step(ContextCompiler(sources=[]), refresh=value),
    "source id": lambda value: check_sources([Spy(id=value)]),
    "source kind": lambda value: check_sources([Spy(kind=value)]),
    "required": lambda value: check_sources([Spy(required=value)]),
    "max_tokens": lambda value: to_openai([], model_id="m", max_tokens=value if value is not HUGE else -HUGE),
    "flag": lambda value: checked_flag(value, "it"),
    "number": lambda value: checked_number(value, "it", most=1),
    "time": lambda value: checked_time(value, "it"),
    "choices": lambda value: checked_choices([value], "it", ["a"]),
    "search": lambda value: ChunkSearch([], mode=value),
    "chat": lambda value: ChatRecord.from_json({"chatId": "c", "messages": [], "updatedAt": [value]}),
    "placement": lambda value: compile_context(
        results=(), messages=(), input_tokens=1, used_tokens=0, refresh=value
    ),
}


@pytest.mark.parametrize("value", [HUGE, Unshowable()], ids=["huge", "unshowable"])
@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_a_value_that_cannot_be_shown_is_refused_like_any_other(name: str, value: object) -> None:
    with pytest.raises(InvalidInputError):
        ENTRY_POINTS[name](value)


@pytest.mark.parametrize("time", [None, True, 1.5, "5", 2**53 + 1, -(2**53) - 1])
def test_what_a_database_cannot_keep_as_a_time_is_refused(time: Any) -> None:
    with pytest.raises(InvalidInputError, match="recorded_at is"):
        checked_time(time, "recorded_at")


def test_a_key_that_is_no_text_is_the_callers_mistake_at_any_depth() -> None:
    for data in ({5: "x"}, {"width": 1, None: 2}, {"width": 1, b"name": "x"}):
        with pytest.raises(InvalidInputError, match="no text"):
            Size.parse(data)
    with pytest.raises(InvalidInputError, match="no text"):
        Note.parse({"sizes": [{5: 1}]})
    with pytest.raises(InvalidInputError, match="no text"):
        Note(sizes=[{5: 1}])
