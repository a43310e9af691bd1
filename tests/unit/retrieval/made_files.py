"""PDF and Word files made for a test."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PICTURE = b"q 100 0 0 100 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \xff EI Q"


def text_page(text: str) -> bytes:
    """Return the content of a page that shows one line."""
    return f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode("latin-1")


def pdf(pages: Sequence[bytes], *, password: str = "", title: str = "") -> bytes:
    """Return a PDF with these page contents."""
    writer = PdfWriter()
    font = DictionaryObject()
    for key, value in (("/Type", "/Font"), ("/Subtype", "/Type1"), ("/BaseFont", "/Helvetica")):
        font[NameObject(key)] = NameObject(value)
    for content in pages:
        page = writer.add_blank_page(200, 200)
        stream = DecodedStreamObject()
        stream.set_data(content)
        page[NameObject("/Contents")] = writer._add_object(stream)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if title:
        writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def raw_pdf(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """Return a PDF of these objects, numbered from 1, the first its catalogue."""
    body = b"%PDF-1.7\n"
    offsets = []
    for number, item in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n" % size
    end = b"trailer <</Root 1 0 R /Size %d %s>>\nstartxref\n%d\n%%%%EOF" % (size, trailer, len(body))
    return body + head + table + end


def docx(body: str, *, more: Mapping[str, bytes | str] | None = None) -> bytes:
    """Return a Word document with this WordprocessingML in its body."""
    main = f'<?xml version="1.0"?><w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {"[Content_Types].xml": _TYPES, "word/document.xml": main, **(more or {})}.items():
            archive.writestr(name, content)
    return target.getvalue()


def paragraph(text: str) -> str:
    """Return one paragraph of WordprocessingML."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"
