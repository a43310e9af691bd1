from __future__ import annotations

import threading

import pytest

from playground import CancelToken
from playground.errors import CallCancelledError


def test_a_token_is_open_until_it_is_cancelled_and_stays_cancelled() -> None:
    token = CancelToken()
    seen = [token.cancelled]
    token.raise_if_cancelled()
    token.cancel()
    token.cancel()
    seen.append(token.cancelled)
    assert seen == [False, True]
    with pytest.raises(CallCancelledError):
        token.raise_if_cancelled()


def test_tokens_do_not_share_their_state() -> None:
    one, two = CancelToken(), CancelToken()
    one.cancel()
    assert not two.cancelled


def test_another_thread_sees_the_cancellation() -> None:
    token = CancelToken()
    thread = threading.Thread(target=token.cancel)
    thread.start()
    thread.join()
    assert token.cancelled


def test_a_parent_cancels_its_children_and_a_child_never_its_parent() -> None:
    parent = CancelToken()
    one, two = CancelToken(parent), CancelToken(parent)
    one.cancel()
    assert (parent.cancelled, two.cancelled) == (False, False)
    parent.cancel()
    assert two.cancelled
