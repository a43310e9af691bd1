"""Digests of texts, held to the vectors that the standard publishes."""

from __future__ import annotations

import hashlib

import pytest

from playground.digests import text_digest


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ],
)
def test_a_digest_is_the_sha256_of_the_text(text: str, digest: str) -> None:
    assert text_digest(text) == f"sha256:{digest}"


def test_a_digest_is_made_of_the_utf8_bytes_and_half_of_a_character_has_its_own() -> None:
    assert text_digest("größer 日") == "sha256:" + hashlib.sha256("größer 日".encode()).hexdigest()
    assert text_digest("\ud800") == "sha256:" + hashlib.sha256(b"\xed\xa0\x80").hexdigest()
    assert len({text_digest(text) for text in ("\ud800", "\ud801", "?", "\ufffd")}) == 4
