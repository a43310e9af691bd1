"""The process in which foreign formats are parsed: a hang, a crash or a flood of memory ends with it.

It reads requests from standard input and answers on standard output, both as
frames of JSON or of a file's content.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from playground.errors import DocumentError
from playground.retrieval.csv_records import read_csv
from playground.retrieval.docx_markdown import read_docx
from playground.retrieval.html_markdown import read_html
from playground.retrieval.json_records import JsonRecord
from playground.retrieval.media_types import CSV, DOCX, HTML
from playground.retrieval.parsing_frames import read_frame, write_frame
from playground.retrieval.pdf_text import read_pdf

__all__ = ["main"]

GRACE = 10  # seconds after which the process ends by itself, should the one that started it be gone


def main(memory_limit: int) -> None:
    """Answer requests until there are no more, or one took so much memory that a fresh start is better."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not look like an answer
    logging.disable(logging.CRITICAL)
    _limit_memory(memory_limit)
    while (head := read_frame(requests)) is not None and (data := read_frame(requests)) is not None:
        request = json.loads(head)
        _set_alarm(request["timeLimit"] + GRACE)
        try:
            body = json.dumps(_answer(request["name"], request["mediaType"], data)).encode("ascii")
            exhausted = False
        except MemoryError:
            body, exhausted = json.dumps(_exhausted(request["name"])).encode("ascii"), True
        write_frame(answers, body)
        _set_alarm(0)
        if exhausted:
            return


def _answer(name: str, media_type: str, data: bytes) -> dict[str, Any]:
    warnings: list[str] = []
    try:
        records = _read(name, media_type, data, warnings.append)
    except DocumentError as error:
        return {"problem": error.problem, "remedy": error.remedy}
    except RecursionError:
        return {"problem": f"{name} nests too deep.", "remedy": "Print it as PDF and load that."}
    fields = [[record.position, record.text, record.id, record.title, record.meta] for record in records]
    return {"records": fields, "warnings": warnings}


def _exhausted(name: str) -> dict[str, Any]:
    problem = f"{name} needs too much memory to be read."
    return {"problem": problem, "remedy": "Split the file into smaller ones.", "exhausted": True}


def _read(name: str, media_type: str, data: bytes, warn: Callable[[str], None]) -> Sequence[JsonRecord]:
    if media_type == HTML:
        return read_html(name, data.decode("utf-8"))
    if media_type == CSV:
        return read_csv(name, data.decode("utf-8"), warn)
    return read_docx(name, data, warn) if media_type == DOCX else read_pdf(name, data, warn)


def _limit_memory(limit: int) -> None:
    if sys.platform != "win32":
        import resource  # noqa: PLC0415  # not on every system

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _set_alarm(seconds: float) -> None:
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)
