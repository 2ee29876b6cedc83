"""An error on private data is raised again with its cause, whose text quotes the record."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("canaries in refusals",)


def plant() -> AbstractContextManager[None]:
    """Chain the exception that was swallowed."""
    from metricdp.errors import InputError
    from metricdp.privacy import _vault

    def quietly(rule: str, work: Any, fault: str | None = None) -> Any:
        try:
            return work()
        except Exception as error:
            raise InputError(rule) from error

    return patched(_vault, "_quietly", quietly)
