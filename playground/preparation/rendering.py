"""One rendering of a request: every contribution asked for anew, counted as it was rendered.

Contents of plugins are awaited first; everything else is read in one go after them, so that no text is older
than the contents. A host that changes the context meanwhile costs one more rendering, and no more than one.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from playground.errors import ContextChangedError, InvalidInputError
from playground.preparation.budget import PreparationBudget, make_budget
from playground.preparation.composition import (
    Developer,
    PluginTexts,
    Sections,
    compose,
    heading_of,
    resolve_template,
)
from playground.preparation.context_state import ContextState
from playground.preparation.item_counting import native_tools_tokens, response_format_tokens, tools_tokens
from playground.preparation.items import Item, Json, detached
from playground.preparation.plugins import content_of
from playground.preparation.ports import StoreHandler, raise_if_cancelled
from playground.preparation.protocol import ProtocolMap, protocol_map
from playground.preparation.pruning import prune, pruned_tokens
from playground.preparation.results import ContextPrepareOptions, RequestOptions
from playground.preparation.store_overview import store_overview
from playground.preparation.zones import date_line

__all__ = ["Rendering", "render", "render_anyway"]

ATTEMPTS = 2  # of one phase: the first, and one more for a host that changed something meanwhile


@dataclass(frozen=True, slots=True, eq=False)
class Rendering:
    """A request as it would be now; nothing in it changes any more.

    Attributes:
        developer: The developer message.
        tools: The definitions that are sent.
        request: What goes beside input and tools.
        history: The history's items.
        current_input: The current input's items.
        groups: What belongs together in both, and what no request may hold.
        budget: What the request counts, in tokens.
    """

    developer: Developer
    tools: tuple[Json, ...]
    request: RequestOptions
    history: tuple[Item, ...]
    current_input: tuple[Item, ...]
    groups: ProtocolMap
    budget: PreparationBudget

    def input_tokens(self, items: tuple[Item, ...]) -> int:
        """Count items as the request's current input, in tokens."""
        return pruned_tokens(items, self.groups.dropped, start=len(self.history))

    def input_count(self) -> int:
        """Return how many items of the request are current input."""
        return len(prune(self.current_input, self.groups.dropped, start=len(self.history)).items)

    def with_input(self, items: tuple[Item, ...]) -> Rendering:
        """Return the same with a current input of the same calls and results in the same places."""
        budget = self.budget
        breakdown = budget.breakdown.model_copy(update={"current_input": self.input_tokens(items)})
        recounted = make_budget(
            max_tokens=budget.max_tokens,
            response_reserve=budget.response_reserve,
            system_tokens=budget.system_message_tokens,
            breakdown=breakdown,
        )
        return replace(self, current_input=items, budget=recounted)

    def items(self) -> tuple[tuple[Json, ...], tuple[Json, ...]]:
        """Return history and current input as the request has them, as copies."""
        dropped = self.groups.dropped
        current_input = prune(self.current_input, dropped, start=len(self.history))
        return prune(self.history, dropped).items, current_input.items


async def render(state: ContextState, options: ContextPrepareOptions) -> Rendering:
    """Render a request from the context as it is.

    Raises:
        ContextChangedError: When the host changed the context during both attempts.
        InvalidToolProtocolError: When an id of a call or of a result occurs twice.
        InvalidInputError: When a contribution is malformed.
        CallCancelledError: When the signal was set.
        InvalidRequestError: When the context was destroyed meanwhile.
    """
    for _ in range(ATTEMPTS):
        rendering = await _attempt(state, options)
        if rendering is not None:
            return rendering
    raise ContextChangedError(
        "The context changed while preparing it, twice.", remedy="Retry once nothing changes it any more."
    )


async def render_anyway(state: ContextState, options: ContextPrepareOptions) -> Rendering:
    """Render for an estimate: where the host goes on changing the context, the last state counts."""
    rendering = await _attempt(state, options)
    if rendering is not None:
        return rendering
    return _assembled(state, options, await _contents(state, options))


async def _attempt(state: ContextState, options: ContextPrepareOptions) -> Rendering | None:
    """Render once; None where the host changed something meanwhile."""
    before = state.conversation.mutations
    contents = await _contents(state, options)
    if state.conversation.mutations != before:
        return None
    rendering = _assembled(state, options, contents)
    return rendering if state.conversation.mutations == before else None


async def _contents(state: ContextState, options: ContextPrepareOptions) -> dict[str, str | None]:
    state.ensure_alive()
    contents: dict[str, str | None] = {}
    for plugin in tuple(state.plugins.values()):
        contents[plugin.name] = await content_of(plugin)
        state.ensure_alive()
        raise_if_cancelled(options.signal)
    return contents


def _assembled(
    state: ContextState, options: ContextPrepareOptions, contents: Mapping[str, str | None]
) -> Rendering:
    """Put a rendering together, without awaiting anything."""
    estimator = state.estimator
    history, current_input = state.conversation.history, state.conversation.current_input
    developer = compose(_sections(state, contents), estimator)
    tools = _tools(state, options)
    request = _request(options, tools)
    groups = protocol_map(history, current_input)
    parts = {
        "instructions": estimator.text(request.instructions),
        "tools": tools_tokens(tools, estimator),
        "native_tools": native_tools_tokens(request.native_tools, estimator),
        "response_format": response_format_tokens(request.response_format, estimator),
        "conversation": pruned_tokens(history, groups.dropped),
        "current_input": pruned_tokens(current_input, groups.dropped, start=len(history)),
    }
    budget = make_budget(
        max_tokens=state.window(provider=options.model_max_context_tokens),
        response_reserve=state.settings.response_reserve,
        system_tokens=developer.tokens,
        breakdown=developer.breakdown.model_copy(update=parts),
    )
    return Rendering(developer, tools, request, history, current_input, groups, budget)


def _sections(state: ContextState, contents: Mapping[str, str | None]) -> Sections:
    settings = state.settings
    schemas = {id(store): store.get_store_schema() for store in state.plugins.stores.values()}
    plugins = []
    for plugin in state.plugins.values():
        schema = schemas.get(id(plugin)) if isinstance(plugin, StoreHandler) else None
        heading = heading_of(plugin.name, schema.display_name if schema else None)
        instructions = plugin.get_instructions()
        if instructions is not None and not isinstance(instructions, str):
            raise InvalidInputError(
                f"The instructions of the plugin {plugin.name} are a {type(instructions).__name__}.",
                remedy="Return a text or None.",
            )
        plugins.append(PluginTexts(plugin.name, heading, instructions, contents.get(plugin.name)))
    return Sections(
        date_line=date_line(state.now(), settings.timezone, settings.date_granularity),
        system_prompt=resolve_template(settings.system_prompt, state.variables()),
        overview=store_overview(list(schemas.values())),
        plugins=tuple(plugins),
    )


def _tools(state: ContextState, options: ContextPrepareOptions) -> tuple[Json, ...]:
    found: Any = state.tools.definitions() if options.get_tools is None else options.get_tools()
    if inspect.iscoroutine(found):
        found.close()
    if isinstance(found, str | Mapping) or not isinstance(found, list | tuple):
        raise InvalidInputError(
            f"get_tools returned a {type(found).__name__}.",
            remedy="Return a list, from a synchronous function.",
        )
    wrong = [tool for tool in found if not isinstance(tool, Mapping)]
    if wrong:
        raise InvalidInputError(
            f"get_tools returned a {type(wrong[0]).__name__}.", remedy="Return definitions."
        )
    return tuple([detached(tool) for tool in found])


def _request(options: ContextPrepareOptions, tools: tuple[Json, ...]) -> RequestOptions:
    """Return what the callback adds for these tools; instructions that it gives replace the static ones."""
    static = RequestOptions.read({"instructions": options.instructions})
    if options.get_request_options is None:
        return static
    given = RequestOptions.read(options.get_request_options(detached(tools)))
    return given if given.instructions is not None else replace(given, instructions=static.instructions)
