"""The developer message: everything that is no conversation, joined in one text.

Pure. What it shows is passed in as strings that were read just now; they are what is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from playground.preparation.budget import BudgetBreakdown
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.items import Json, text_block
from playground.preparation.listing import listed

__all__ = [
    "PERSISTENT_INSTRUCTIONS",
    "Developer",
    "PluginTexts",
    "Sections",
    "compose",
    "heading_of",
    "resolve_template",
]

SEPARATOR = "\n\n---\n\n"
PERSISTENT_INSTRUCTIONS = "persistent_instructions"
"""Name of the plugin whose content comes before all others'."""
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]{1,40})\s*\}\}")


@dataclass(frozen=True, slots=True)
class PluginTexts:
    """What one plugin adds.

    Attributes:
        name: Its name.
        heading: What its sections are called.
        instructions: How to use it.
        content: What it holds now.
    """

    name: str
    heading: str
    instructions: str | None = None
    content: str | None = None


@dataclass(frozen=True, slots=True)
class Sections:
    """What a developer message is made of.

    Attributes:
        date_line: Comes last, always.
        system_prompt: Its variables are resolved already.
        overview: The overview of all stores.
        plugins: The plugins, in the order of their registration.
    """

    date_line: str
    system_prompt: str | None = None
    overview: str | None = None
    plugins: tuple[PluginTexts, ...] = ()


@dataclass(frozen=True, slots=True)
class Developer:
    """A developer message.

    Attributes:
        text: All of it.
        tokens: What the text counts, without framing.
        breakdown: What its parts count, each alone and without its heading; the rest of a budget is 0.
    """

    text: str
    tokens: int
    breakdown: BudgetBreakdown

    def message(self) -> Json:
        """Return it as the first item of a request."""
        return {"type": "message", "role": "developer", "content": [text_block("developer", self.text)]}


def compose(sections: Sections, estimator: PreparationEstimator) -> Developer:
    """Join sections in their fixed order; what is blank has no section, the date line is always there."""
    plugins = sections.plugins
    persistent = [plugin.content for plugin in plugins if plugin.name == PERSISTENT_INSTRUCTIONS]
    contents = [plugin for plugin in plugins if plugin.name != PERSISTENT_INSTRUCTIONS]
    parts = [
        _section("System prompt", sections.system_prompt),
        *[_section("Persistent instructions", content) for content in persistent],
        _section("Instructions for context plugins", _instructions(sections)),
        *[_section(plugin.heading, plugin.content) for plugin in contents],
        sections.date_line,
    ]
    text = SEPARATOR.join(filter(None, parts))
    breakdown = BudgetBreakdown(
        system_prompt=_tokens(sections.system_prompt, estimator),
        persistent_instructions=sum([_tokens(content, estimator) for content in persistent]),
        plugin_instructions=_tokens(sections.overview, estimator)
        + sum([_tokens(plugin.instructions, estimator) for plugin in plugins]),
        plugin_contents={plugin.name: _tokens(plugin.content, estimator) for plugin in contents},
    )
    return Developer(text, estimator.text(text), breakdown)


def heading_of(name: str, display_name: str | None = None) -> str:
    """Return what a plugin's sections are called: its store's display name, else its own in words."""
    return listed(display_name or " ".join(word[:1].upper() + word[1:] for word in name.split("_") if word))


def resolve_template(prompt: str | None, values: Mapping[str, str | None]) -> str | None:
    """Put values in the place of variables such as ``{{MODEL}}``, in either case.

    A variable without a value gives nothing; one that is not known stays as it is. Values stay in one line, and
    are not looked through again.
    """
    if not prompt or "{{" not in prompt:
        return prompt

    def value(found: re.Match[str]) -> str:
        name = found[1].upper()
        return listed(values[name] or "") if name in values else found[0]

    return _VARIABLE.sub(value, prompt)


def _instructions(sections: Sections) -> str:
    parts = [sections.overview if _shown(sections.overview) else None]
    parts += [
        f"## {plugin.heading}\n\n{plugin.instructions}"
        for plugin in sections.plugins
        if _shown(plugin.instructions)
    ]
    return "\n\n".join(filter(None, parts))


def _section(heading: str, text: str | None) -> str | None:
    return f"# {heading}\n\n{text}" if _shown(text) else None


def _shown(text: str | None) -> bool:
    return bool(text and not text.isspace())


def _tokens(text: str | None, estimator: PreparationEstimator) -> int:
    return estimator.text(text) if _shown(text) else 0
