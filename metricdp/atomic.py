"""Writing a text file wholly or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(target: Path, text: str) -> None:
    """Write UTF-8 text through a temporary file beside `target`, with a new file's permissions; on failure nothing is left behind."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".metricdp.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
