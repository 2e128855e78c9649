"""One self-contained HTML page."""

from __future__ import annotations

from html import escape


def page(title: str, body: str) -> str:
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>"
        "<meta name='viewport' content='width=device-width'><style>body{margin:2em auto;max-width:48em;padding:0 1em;"
        "color:#222;background:#fff}td{padding:.1em .6em .1em 0}</style></head>"
        f"<body>{body}</body></html>\n"
    )
