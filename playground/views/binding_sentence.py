"""What binds, as a sentence: the two numbers that matter, then how much did not fit and of which kind."""

from __future__ import annotations

from playground.compiler.binding import Binding
from playground.compiler.manifest import ContextManifest, EntryKind
from playground.views.words import KIND_NOUNS, KIND_ORDER, Sentence, count, joined, marked, percent, plural

__all__ = ["binding_sentence"]


def binding_sentence(binding: Binding, manifest: ContextManifest) -> Sentence:
    """Return the sentence of one compile.

    Args:
        binding: What limits it.
        manifest: The compile.
    """
    return marked(f"{_head(binding, manifest)}. {_left_out(binding, manifest)}".rstrip())


def _head(binding: Binding, manifest: ContextManifest) -> str:
    """The two numbers that matter, between double stars."""
    budget = manifest.budget
    ratio, cap = count(binding.ratio_tokens), count(binding.max_tokens)
    match binding.limit:
        case "max_tokens":
            return f"The ratio would allow **{ratio}** tokens; max tokens stops at **{cap}**"
        case "ratio":
            free = percent(budget.ratio)
            return f"Max tokens would allow **{cap}** tokens; {free} of the free room stops at **{ratio}**"
        case "working_memory_tokens":
            own = count(budget.working_memory_tokens)
            return (
                f"The budget has **{count(budget.context_tokens)}** tokens; working memory stops at **{own}**"
            )
        case "candidates":
            more = plural(binding.left_out.get("limit", 0), "record")
            return f"Everything considered fits; **{more}** stood beyond the candidate limit"
        case "mandatory":
            total = plural(budget.context_tokens, "token")
            return f"Mandatory content takes **{count(budget.required_tokens)}** of **{total}**"
        case "room":
            most = count(budget.input_tokens)
            return f"The request takes **{count(budget.used_tokens)}** tokens; the model accepts **{most}**"
    total = plural(budget.context_tokens, "token")
    return f"Everything offered is in, with **{count(budget.selected_tokens)}** of **{total}** used"


def _left_out(binding: Binding, manifest: ContextManifest) -> str:
    out = sum(binding.left_out_for_budget.values())
    if not out:
        return ""
    kinds: list[EntryKind] = [kind for kind in KIND_ORDER if binding.left_out_for_budget.get(kind)]
    lines = "working-memory" in kinds
    # All that was offered, as the note beside the question counts it; the strip says why the others are out.
    offered = sum(lines or entry.kind != "working-memory" for entry in manifest.entries)
    total = f"{count(offered)} candidates and lines" if lines else plural(offered, "candidate")
    head = f"{count(out)} of {total} did not fit, "
    if len(kinds) == 1:
        one, many = KIND_NOUNS[kinds[0]]
        return f"{head}{'a' if out == 1 else 'all of them'} {one if out == 1 else many}."
    parts = [plural(binding.left_out_for_budget[kind], KIND_NOUNS[kind]) for kind in kinds]
    return f"{head}{joined(parts)}."
