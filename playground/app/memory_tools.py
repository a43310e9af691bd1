"""What the model's tools would do: their schemas, and one call of one of them, or a patch by hand."""

from __future__ import annotations

import json
import uuid
from functools import lru_cache

import streamlit as st

from playground.app import markup
from playground.app.material import change_project
from playground.app.memory_changes import last_patch, now, said, say, send
from playground.app.roles import role
from playground.concurrency import run_sync
from playground.errors import InvalidInputError, PlaygroundError
from playground.tokens import TokenEstimator
from playground.tools import Tool, ToolContext
from playground.views.working_memory_tools import (
    Answer,
    ToolView,
    answered,
    failed,
    parsed_input,
    patch_view,
    pretty,
    sample_input,
    sample_patch,
    tools_total,
    tools_view,
)
from playground.working_memory import WorkingMemorySnapshot, create_working_memory
from playground.working_memory.handle import InMemoryWorkingMemory
from playground.working_memory.tools import working_memory_tools
from playground.workspace import Project
from playground.workspace.working_memory import ProjectMemory

__all__ = ["tools_panel"]

PREFIX = "working_memory"
VERBS = ("read", "add", "update")
PATCH = "a patch by hand"
CALLERS = ("the agent", "a sub-agent")
SHOWN = ("Schema", "Answer")
ANSWER = "tool_answer"
"""Session state: what the last call gave."""
INPUTS_OF = "tool_inputs_of"
"""Session state: the project that the inputs name items of."""
SAMPLES = "tool_samples"
"""Session state: the inputs that nobody wrote or sent yet, by tool; they follow the memory."""
INPUT_LIMIT = 100_000  # characters
JSON: str | None = "json"  # how code is coloured; None leaves it plain
HEIGHT = 300  # px of the input, and of what stands beside it


def tools_panel(project: Project, snapshot: WorkingMemorySnapshot) -> None:
    """Show the tools, a box for one call, and what came of the last."""
    views, total = _shown_tools()
    _start_inputs(project, snapshot)
    with st.container(key="panel_tools"):
        markup.head("What the model's tools would do", total)
        with st.container(key="tool_head", horizontal=True, gap="small"):
            chosen = st.segmented_control(
                "Tool",
                list(views),
                default=f"{PREFIX}_add",
                key="tool_chosen",
                required=True,
                label_visibility="collapsed",
                persist_state="session",
            )
            shown = st.segmented_control(
                "Shown",
                SHOWN,
                default=SHOWN[0],
                key="tool_shown",
                required=True,
                label_visibility="collapsed",
                persist_state="session",
            )
        with st.container(key="tool_columns"):
            call, beside = st.columns(2, gap="small")
        with call:
            markup.caption(views[chosen].description)
            if chosen == PATCH:
                _patch_form(project)
            else:
                _call_form(project, chosen)
        with beside:
            _beside(views[chosen], shown)


@lru_cache(maxsize=1)
def _shown_tools() -> tuple[dict[str, ToolView], str]:
    """Return the tools in words, and what they cost: the same whatever memory they would work on."""
    memory = InMemoryWorkingMemory(create_working_memory(scope=PREFIX, now=0))
    tools, counter = working_memory_tools(memory=memory, prefix=PREFIX), TokenEstimator()
    views = {view.name: view for view in tools_view(tools, counter)}
    return {**views, PATCH: patch_view()}, tools_total(tools, counter)


def _call_form(project: Project, name: str) -> None:
    verb = name.removeprefix(f"{PREFIX}_")
    key = f"tool_input_{verb}"
    with st.container(key="tool_form"):
        _input(key, "Input of the call")
        left, right = st.columns(2, gap="small")
        left.text_input(
            "Id of the call",
            key="tool_call_id",
            placeholder="id of the call: a new one",
            label_visibility="collapsed",
            persist_state="session",
            max_chars=INPUT_LIMIT,
        )
        right.selectbox(
            "Caller", CALLERS, key="tool_caller", label_visibility="collapsed", persist_state="session"
        )
        st.button(f"Call {name}", key=f"tool_run_{verb}", on_click=_call, args=(project.name, verb, name, key))


def _patch_form(project: Project) -> None:
    key = "tool_input_patch"
    with st.container(key="tool_form"):
        _input(key, "Patch")
        with st.container(horizontal=True, gap="small"):
            st.button("Apply the patch", key="tool_run_patch", on_click=_apply, args=(project.name, key))
            st.button(
                "Take the last sent",
                key="tool_last_patch",
                on_click=_take_last,
                args=(project.name, key),
                disabled=last_patch(project.name) is None,
            )
            st.button("Write one for now", key="tool_new_patch", on_click=_renew)


def _start_inputs(project: Project, snapshot: WorkingMemorySnapshot) -> None:
    """Put inputs to start from into the boxes; those that nobody touched follow the memory."""
    state = st.session_state
    if state.get(INPUTS_OF) != project.name:
        state[INPUTS_OF], state[ANSWER], state["tool_call_id"] = project.name, None, ""
        state[SAMPLES] = dict.fromkeys((*VERBS, "patch"))
    written = {name: text for name, text in state[SAMPLES].items() if text is not None}
    fresh = {verb: sample_input(verb, snapshot) for verb in VERBS} | {"patch": sample_patch(snapshot, role())}
    for name in [*state[SAMPLES]]:
        if name in written and state.get(f"tool_input_{name}") != written[name]:
            del state[SAMPLES][name]
        else:
            state[f"tool_input_{name}"] = state[SAMPLES][name] = fresh[name]


def _input(key: str, label: str) -> None:
    st.text_area(
        label,
        key=key,
        height=HEIGHT - 96,
        max_chars=INPUT_LIMIT,
        label_visibility="collapsed",
        persist_state="session",
    )


def _beside(view: ToolView, shown: str) -> None:
    answer = st.session_state.get(ANSWER)
    if shown == SHOWN[0]:
        markup.caption(view.total)
        body, language = view.schema, JSON
    elif isinstance(answer, Answer):
        markup.caption(answer.title)
        body, language = answer.body, None if answer.failed else JSON
    else:
        markup.caption("No call yet.")
        return
    with st.container(key="raw_tool"):
        st.code(body, language=language, wrap_lines=True, height=HEIGHT if language else "content")


def _call(project_name: str, verb: str, name: str, key: str) -> None:
    """Call one tool; a callback. What it changes is kept, as an edit is."""
    state = st.session_state
    state[SAMPLES].pop(verb, None)

    def called(project: Project) -> Project:
        memory = ProjectMemory(project, now=now())
        tools = {tool.name: tool for tool in working_memory_tools(memory=memory, prefix=PREFIX)}
        context = ToolContext(
            tool_call_id=str(state["tool_call_id"]).strip() or f"call-{uuid.uuid4().hex}",
            model_step=0,
            messages=project.messages,
            agent_path=() if state["tool_caller"] == CALLERS[0] else ("sub-agent",),
        )
        receipt = run_sync(_awaited(tools[name], str(state[key]), context))
        state[ANSWER] = answered(name, receipt)
        return memory.project

    try:
        change_project(project_name, called)
    except PlaygroundError as error:
        state[ANSWER] = failed(name, error)
    say(None)
    state["tool_shown"] = SHOWN[1]


async def _awaited(tool: Tool, text: str, context: ToolContext) -> dict[str, object]:
    return dict(await tool.execute(parsed_input(text), context))


def _apply(project_name: str, key: str) -> None:
    """Apply the patch that somebody wrote; a callback."""
    state = st.session_state
    state[SAMPLES].pop("patch", None)
    try:
        patch = parsed_input(str(state[key]))
    except InvalidInputError as error:
        state[ANSWER] = failed("The patch", error, sent="sent")
        say(None)
    else:
        send(project_name, patch)
        notice = said()
        if notice is not None:
            state[ANSWER] = Answer(notice.title, "".join(text for text, _ in notice.sentence), failed=True)
    state["tool_shown"] = SHOWN[1]


def _take_last(project_name: str, key: str) -> None:
    patch = last_patch(project_name)
    if patch is not None:
        st.session_state[key] = pretty(json.loads(patch))


def _renew() -> None:
    st.session_state[SAMPLES]["patch"] = None
