"""The plugins of a context, in the order in which they came, with the tools and stores that they bring."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from playground.errors import InvalidInputError, InvalidRequestError
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.in_context_memory import InContextMemoryPlugin
from playground.preparation.persistent_instructions import PersistentInstructionsPlugin
from playground.preparation.ports import Clock, ContextPlugin, StoreHandler
from playground.preparation.store_tools import store_tools
from playground.preparation.tool_catalog import ToolCatalogPlugin
from playground.preparation.tool_manager import ToolManager
from playground.preparation.working_memory_plugin import WorkingMemoryPlugin
from playground.values import shown

__all__ = ["DEFAULT_FEATURES", "Features", "Plugins", "content_of", "feature_plugins"]

Features = Mapping[str, bool | ContextPlugin] | Collection[str]
DEFAULT_FEATURES: Mapping[str, bool] = {
    "working_memory": True,
    "in_context_memory": True,
    "persistent_instructions": False,
    "tool_catalog": False,
}
"""The plugins that a context can bring along, and which it does unless it is told otherwise."""


class Plugins(Mapping[str, ContextPlugin]):
    """Plugins by name, in the order of their registration.

    Args:
        tools: Takes the tools of each; with the first store also the five tools that all stores share.
    """

    def __init__(self, tools: ToolManager) -> None:
        self._tools = tools
        self._plugins: dict[str, ContextPlugin] = {}
        self._stores: dict[str, StoreHandler] = {}

    def __getitem__(self, name: str) -> ContextPlugin:
        return self._plugins[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plugins)

    def __len__(self) -> int:
        return len(self._plugins)

    @property
    def stores(self) -> dict[str, StoreHandler]:
        """The stores by id."""
        return dict(self._stores)

    def register(self, plugin: ContextPlugin) -> None:
        """Add a plugin with its tools and, if it is one, its store.

        Raises:
            InvalidInputError: When it has no name or lacks a method.
            InvalidRequestError: When there is a plugin, a tool or a store of that name; nothing was added then.
        """
        name = _checked_name(plugin)
        if name in self._plugins:
            raise InvalidRequestError(
                f"A plugin called {name} is already registered.",
                remedy="Give each plugin a name of its own; pass one in place of a feature's as that feature.",
            )
        tools, store_id = list(plugin.get_tools() or ()), None
        if isinstance(plugin, StoreHandler):
            store_id = plugin.get_store_schema().store_id
            if store_id in self._stores:
                raise InvalidRequestError(
                    f"A store called {store_id} is already registered.",
                    remedy="Give each store an id of its own.",
                )
            if not self._stores:
                tools += store_tools(lambda: self.stores)
        self._register_tools(tools)
        self._plugins[name] = plugin
        if store_id is not None and isinstance(plugin, StoreHandler):
            self._stores[store_id] = plugin

    def clear(self) -> None:
        """Forget all plugins."""
        self._plugins.clear()
        self._stores.clear()

    def _register_tools(self, tools: Collection[Any]) -> None:
        known = self._tools.names
        try:
            for tool in tools:
                self._tools.register(tool)
        except BaseException:
            for name in self._tools.names[len(known) :]:
                self._tools.unregister(name)
            raise


def feature_plugins(
    features: Features | None, *, clock: Clock, estimator: PreparationEstimator
) -> list[ContextPlugin]:
    """Return the plugins of features, always in one order.

    Args:
        features: Which are switched on or off by name, the others as by default; in place of True a plugin of
            that name that is set up already, ``{"tool_catalog": ToolCatalogPlugin(groups)}`` for example. Or
            exactly those that are on, so that an empty collection leaves all of them off.
        clock: Tells the stores the time.
        estimator: Counts for inspection.

    Raises:
        InvalidInputError: For a feature that there is not, and for a plugin of another name.
    """
    makers: dict[str, Callable[[], Any]] = {
        "persistent_instructions": lambda: PersistentInstructionsPlugin(estimator=estimator),
        "working_memory": lambda: WorkingMemoryPlugin(clock=clock, estimator=estimator),
        "in_context_memory": lambda: InContextMemoryPlugin(clock=clock, estimator=estimator),
        "tool_catalog": lambda: ToolCatalogPlugin(estimator=estimator),
    }
    wanted = _switched_on(features)
    return [wanted[name] or make() for name, make in makers.items() if name in wanted]


async def content_of(plugin: ContextPlugin) -> str | None:
    """Return what a plugin shows now.

    Raises:
        InvalidInputError: When that is no text; names the plugin.
    """
    content: Any = plugin.get_content()
    if inspect.isawaitable(content):
        content = await content
    if content is not None and not isinstance(content, str):
        raise InvalidInputError(
            f"The content of the plugin {plugin.name} is {shown(content)}.", remedy="Return a text or None."
        )
    return content


def _switched_on(features: Features | None) -> dict[str, ContextPlugin | None]:
    """Return the features that are on, each with the plugin that is given for it."""
    if features is None:
        features = DEFAULT_FEATURES
    if isinstance(features, str | bytes) or not isinstance(features, Collection):
        raise InvalidInputError(
            f"The features are {shown(features)}.", remedy="Pass a mapping or a list of names."
        )
    unknown = [name for name in features if not isinstance(name, str) or name not in DEFAULT_FEATURES]
    if unknown:
        raise InvalidInputError(
            f"There is no feature {shown(unknown[0])}.", remedy=f"There are {', '.join(DEFAULT_FEATURES)}."
        )
    if not features or not isinstance(features, Mapping):
        return dict.fromkeys(features)
    # Any plugin is on, also one that is empty and therefore false.
    settings = {**DEFAULT_FEATURES, **features}.items()
    return {name: _given(name, on) for name, on in settings if hasattr(on, "name") or on}


def _given(name: str, setting: Any) -> ContextPlugin | None:
    if getattr(setting, "name", name) != name:
        raise InvalidInputError(
            f"The plugin for the feature {name} is called {shown(setting.name)}.",
            remedy="Add it by register_plugin.",
        )
    return setting if hasattr(setting, "name") else None


def _checked_name(plugin: Any) -> str:
    name = getattr(plugin, "name", None)
    if not isinstance(name, str) or not name:
        raise InvalidInputError(f"A plugin has the name {shown(name)}.", remedy="Give it a name.")
    if not isinstance(plugin, ContextPlugin):
        wanted = [method for method in vars(ContextPlugin) if not method.startswith("_")]
        missing = [method for method in wanted if not hasattr(plugin, method)]
        raise InvalidInputError(
            f"The plugin {name} lacks {', '.join(missing)}.", remedy="Subclass BasePlugin for the defaults."
        )
    return name
