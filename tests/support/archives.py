"""Archives of tables, unpacked."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path


def unpack(archive: Path, folder: Path, wanted: Callable[[str], bool] | None = None) -> None:
    """Lay the members of ``archive`` whose names are ``wanted`` (None: all) out below ``folder``."""
    with tarfile.open(archive) as tar:
        # Python before 3.11.4 knows no filters, and looks at no attribute.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(folder, members=[m for m in tar if wanted is None or wanted(m.name)])
