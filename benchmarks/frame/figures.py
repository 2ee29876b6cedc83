"""Figures of suites, as PNG files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from metricdp.atomic import whole_file
from metricdp.errors import InputError, MissingExtraError


def checked_folder(path: str) -> Path:
    """The folder for the figures, made if it is not there: before anything is measured.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    InputError
        It is a file, or cannot be made.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("drawing figures", "plots") from None
    folder = Path(path)
    reason = ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    if reason:
        raise InputError(f"--plots {path} is no folder and cannot be made one: {reason}")
    return folder


def figure(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(0.6 + 3.6 * max(n_columns, 1), 1.0 + 2.6 * n_rows), layout="constrained"
    )
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def saved(figure: Any, panel: Any, path: Path) -> Path:
    """With one legend below all panels; wholly or not at all."""
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    with whole_file(path) as file:
        file.write(picture.getvalue())
    return path
