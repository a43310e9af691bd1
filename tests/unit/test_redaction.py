"""Error texts are recorded short and without credentials."""

from __future__ import annotations

import time

import pytest

from playground.redaction import MESSAGE_LENGTH, redact

SECRET = "dXNlcjpzM2NyM3Q5X2xvbmc"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Basic {SECRET}",
        f"authorization: Bearer {SECRET}",
        f"Proxy-Authorization: Basic {SECRET}",
        f"Cookie: session={SECRET}; theme=dark",
        f"AWS_SECRET_ACCESS_KEY={SECRET}",
        f'{{"api_key": "{SECRET}"}}',
        f"x-api-key: {SECRET}",
        f"pwd={SECRET}",
        f"password='{SECRET} with blanks'",
        f"access_token={SECRET}&user=ada",
        f"github_pat_{SECRET}",
        f"ghp_{SECRET}",
        f"AIza{SECRET}",
        f"hf_{SECRET}",
        f"sk-ant-{SECRET}",
        f"AKIA{SECRET}",
        f"https://ada:{SECRET}@db.example.org/x",
        f"redis://:{SECRET}@db.example.org",
        f"postgres://ada:{SECRET}@part@db.example.org/x",
        f"eyJhbGciOiJIUzI1NiJ9.{SECRET}.sig",
    ],
)
def test_r63_a_credential_of_any_usual_shape_is_replaced(text: str) -> None:
    shown = redact(f"request failed: {text}")
    assert SECRET not in shown
    assert "[redacted]" in shown
    assert shown.startswith("request failed")


@pytest.mark.parametrize(
    "text",
    [
        "The index has 5 tokens too many.",
        "no such table: chunks",
        "https://db.example.org:5432/x did not answer",
        "Source 'rag' did not answer within 30 s.",
    ],
)
def test_ordinary_messages_stay_as_they_are(text: str) -> None:
    assert redact(text) == text


def test_r63_a_long_message_is_cut_and_a_credential_behind_the_cut_does_not_slip_through() -> None:
    shown = redact("x" * 150 + f" token={SECRET * 20} " + "y" * 10_000)
    assert len(shown) == MESSAGE_LENGTH
    assert SECRET not in shown


@pytest.mark.parametrize(
    "text", ["a" * 20_000, "-" * 20_000, "token" * 4_000, "://" * 6_000, "eyJ" + "a-" * 9_000]
)
def test_no_text_makes_redaction_crawl(text: str) -> None:
    started = time.process_time()
    redact(text)
    assert time.process_time() - started < 2


def test_lone_surrogates_are_replaced_so_that_a_manifest_encodes() -> None:
    assert redact("bad \ud800 text") == "bad \ufffd text"
