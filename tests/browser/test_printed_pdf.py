"""A page printed by a real browser, read as people load it (issue 5, real files)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from playground.retrieval.documents import load_documents
from tests.browsers import ARGUMENTS

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Ferry times</title>
<style>section { break-after: page } .no { display: none }</style>
<section><h1>Ferry times</h1><p>Summer, from the old pier – „Überfahrt“.</p>
<ul><li>Bicycles ride free</li><li>Dogs on a lead</li></ul></section>
<section><h2>Fares</h2>
<table><tr><th>Who</th><th>Fare</th></tr>
<tr><td>Adults</td><td>4.50</td></tr></table>
</section>
<section><svg width="50" height="50"><rect width="50" height="50"/></svg></section>
<p>The last page.</p>
<p class="no">never printed</p></html>"""


def test_a_pdf_that_the_browser_printed_keeps_its_text_page_by_page(chromium: str, tmp_path: Path) -> None:
    page, printed = tmp_path / "ferry.html", tmp_path / "ferry.pdf"
    page.write_text(PAGE, encoding="utf-8")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    options = ["--headless", *ARGUMENTS, profile, "--no-pdf-header-footer", f"--print-to-pdf={printed}"]
    subprocess.run([chromium, *options, page.as_uri()], check=True, capture_output=True, timeout=60)
    result = load_documents([("ferry.pdf", printed.read_bytes()), ("ferry.html", PAGE.encode())])
    assert result.errors == ()
    from_pdf, from_html = result.documents
    assert (from_pdf.title, from_pdf.media_type) == ("Ferry times", "application/pdf")
    starts = from_pdf.meta["pageStarts"]
    pages = [from_pdf.text[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]
    assert len(pages) == 4
    assert "Summer, from the old pier – „Überfahrt“." in pages[0]
    assert "Dogs on a lead" in pages[0]
    assert " ".join(pages[1].split()) == "Fares Who Fare Adults 4.50"
    assert pages[2:] == ["", "The last page."]
    assert [warning.message.split(" of ")[0] for warning in result.warnings] == ["There is no text on page 3"]
    assert "| Adults | 4.50 |" in from_html.text
    assert "never printed" not in from_pdf.text
