"""Which version of a project a session sees."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from playground.app.shelf import SHELF_SIZE


def _script() -> None:
    import streamlit as st

    from playground.app.shelf import changed_sample, discard, keep
    from playground.workspace import Project

    for name in st.session_state.pop("to_keep", ()):
        keep(Project(name=name, digest=f"sha256:{name}"))
    for name in st.session_state.pop("to_discard", ()):
        discard(name)
    own = changed_sample("mine")
    st.text(own.digest if own else "as it came")
    for name, value in st.session_state.items():
        st.text(f"{name}: {type(value).__name__}")


def _app() -> AppTest:
    return AppTest.from_function(_script, default_timeout=20)


def _with(app: AppTest, **state: tuple[str, ...]) -> str:
    for name, value in state.items():
        app.session_state[name] = value
    app.run()
    assert not app.exception
    return str(app.text[0].value)


def test_a_session_sees_what_it_changed_until_it_discards_it() -> None:
    app = _app()
    assert _with(app) == "as it came"
    assert _with(app, to_keep=("mine",)) == "sha256:mine"
    assert _with(app) == "sha256:mine"
    assert _with(app, to_discard=("mine",)) == "as it came"
    assert _with(app, to_discard=("mine",)) == "as it came"
    assert _with(app, to_keep=("mine",)) == "sha256:mine"


def test_another_session_sees_the_project_as_it_came() -> None:
    assert _with(_app(), to_keep=("mine",)) == "sha256:mine"
    assert _with(_app()) == "as it came"


def test_a_session_discards_its_own_project_only() -> None:
    other, app = _app(), _app()
    _with(other, to_keep=("mine",))
    assert _with(app, to_keep=("mine", "yours"), to_discard=("yours",)) == "sha256:mine"
    assert _with(app, to_discard=("mine",)) == "as it came"
    assert _with(other) == "sha256:mine"


def test_the_least_recently_used_project_goes_first_when_the_shelf_is_full() -> None:
    app = _app()
    _with(app, to_keep=("mine",))
    others = tuple(f"other {number}" for number in range(SHELF_SIZE))
    assert _with(app, to_keep=others[:-1]) == "sha256:mine"
    assert _with(app, to_keep=others) == "as it came"


def test_a_session_that_changes_its_project_often_takes_no_other_sessions_place() -> None:
    other, busy = _app(), _app()
    _with(other, to_keep=("mine",))
    for _ in range(SHELF_SIZE + 1):
        _with(busy, to_keep=("mine",))
    assert _with(other) == "sha256:mine"


def test_session_state_holds_a_name_and_no_project() -> None:
    app = _app()
    _with(app, to_keep=("mine",))
    assert [text.value for text in app.text[1:]] == ["material_owner: str"]
