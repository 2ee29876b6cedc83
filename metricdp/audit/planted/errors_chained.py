"""An error on private data is raised again with its cause, whose text quotes the record."""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("canaries in refusals",)


def plant() -> AbstractContextManager[None]:
    """Chain the exception that was swallowed."""
    from metricdp.privacy import _vault

    swallowed = "except Exception:  # swallowed on purpose, see above\n        pass"
    return rewritten(
        _vault,
        "_quietly",
        swallowed,
        "except Exception as error:\n        raise InputError(rule) from error",
    )
