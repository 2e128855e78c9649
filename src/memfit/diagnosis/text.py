"""A log as plain text: whatever its size and encoding, without terminal escapes and control characters."""

from __future__ import annotations

import re
from typing import IO

from memfit.device.oom import mentions_out_of_memory

CHUNK = 4 * 2**20
KEPT = 24 * 2**20  # of a larger log: its beginning, its end, and the parts that speak of memory
MANY_ESCAPES = 300_000
_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,256}(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROL = bytes({*range(32), 127} - {0x09, 0x0A, 0x0D})
_HIGH = bytes(byte if byte < 128 else ord("?") for byte in range(256))
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]+"
)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_stream(stream: IO[bytes]) -> str:
    """The whole of it, or of a huge one what matters, in memory that does not grow with it."""
    head = stream.read(CHUNK)
    parts, size = [clean(head)], len(head)
    wide = head[:2] if head[:2] in _UTF16 else b""
    while chunk := stream.read(CHUNK):
        if not chunk.endswith(b"\n"):
            chunk += stream.readline(CHUNK)
        parts.append(clean(wide + chunk))
        size += len(chunk)
        if size > KEPT:
            parts = [parts[0], *(part for part in parts[1:-1] if mentions_out_of_memory(part)), parts[-1]]
            parts = [parts[0], *parts[1:][-KEPT // CHUNK :]]
    return "".join(parts)


def clean(text: bytes | str) -> str:
    """Plain text of any bytes; what is no text becomes question marks or nothing."""
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if raw[:2] in _UTF16:
        raw = raw[: len(raw) // 2 * 2].decode("utf-16", "replace").encode("utf-8", "replace")
    if (
        0 < raw.count(b"\x1b") < MANY_ESCAPES
    ):  # of more, only the escape itself is taken out, with the control characters
        raw = _ESCAPE.sub(b"", raw)
    raw = raw.translate(None, _CONTROL).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:  # junk: replacing each wrong byte on its own would take long
        return raw.translate(_HIGH).decode("ascii")


def printable(text: str) -> str:
    """`text` as it may go to a terminal, on one line."""
    return _INVISIBLE.sub("", text.replace("\n", " ").replace("\t", " "))
