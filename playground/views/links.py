"""Checking a link: which of its values no control can take.

A link carries ids and numbers only. A value that fits no control is named to the reader and the control keeps
its default; nothing else of the link is lost.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from playground.borders import cluster_border
from playground.views.knobs import CANDIDATES, KNOBS, KnobSpec

__all__ = ["LinkProblem", "check_link", "number_in", "sample_titles"]

TITLE_SHOWN = 72  # code points of a question in the list of samples
SHOWN = 40  # code points of a bad value that a notice repeats
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class LinkProblem:
    """One value that was not used."""

    name: str
    """The control's name in the link."""
    value: str
    """What the link says, cut and without control characters; untrusted text."""
    allowed: str
    """What it may be."""


def check_link(
    values: Mapping[str, str], *, choices: Mapping[str, Collection[str]], limits: Mapping[str, tuple[int, int]]
) -> tuple[LinkProblem, ...]:
    """Return the values of a link that its controls cannot take, in the link's order.

    Args:
        values: The link's parameters; names that belong to no control are left alone.
        choices: Allowed values of each control that offers a choice.
        limits: Least and greatest whole number of each field that takes a number.
    """
    knobs: dict[str, KnobSpec] = {**KNOBS, CANDIDATES.name: CANDIDATES}  # type: ignore[dict-item]  # a str is enough
    problems = []
    for name, value in values.items():
        allowed = ""
        if name in knobs:
            spec = knobs[name]
            if number_in(value, spec.least, spec.most) is None:
                allowed = f"{spec.written(spec.least)} to {spec.written(spec.most)}"
        elif name in limits:
            least, most = limits[name]
            number = number_in(value, least, most)
            if number is None or number != int(number):
                allowed = f"a whole number from {least:,} to {most:,}"
        elif name in choices and value not in choices[name]:
            known = sorted(choices[name])
            allowed = ", ".join(known) if len(known) <= 6 else f"one of {len(known):,} known names"
        if allowed:
            problems.append(LinkProblem(name, _shown(value), allowed))
    return tuple(problems)


def number_in(text: str, least: float, most: float) -> float | None:
    """Return the finite number a text writes if it lies in the range, else ``None``."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and least <= number <= most else None


def sample_titles(questions: Mapping[str, str]) -> dict[str, str]:
    """Return what a list of sample questions shows for each id: its question, shortened and unique."""
    short = {sample: _short(question) or sample for sample, question in questions.items()}
    times = Counter(short.values())
    return {sample: text if times[text] == 1 else f"{text} ({sample})" for sample, text in short.items()}


def _short(question: str) -> str:
    line = " ".join(question.split())
    if len(line) <= TITLE_SHOWN:
        return line
    cut = line[: cluster_border(line, TITLE_SHOWN, 0)]
    return f"{cut.rpartition(' ')[0] or cut}…"


def _shown(value: str) -> str:
    clean = _CONTROL.sub("\ufffd", value)
    return clean if len(clean) <= SHOWN else clean[: SHOWN - 1] + "…"
