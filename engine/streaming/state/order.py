"""The order in which many keys are looked up and set: so that neighbours, which are on one page, come together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

_FEW: Final = 512
"""So many keys are sorted as they are."""
_COMPARED: Final = 16
"""Bytes of a key that are compared of many: their order need not be exact, and numbers sort ten times as fast."""


def near_order(keys: Sequence[bytes]) -> list[int]:
    """Positions of ``keys``, about in the order of the keys. Of equal keys the order stays as it is."""
    if len(keys) <= _FEW:
        return sorted(range(len(keys)), key=keys.__getitem__)
    import numpy as np

    from bergsql.engine.streaming.state.cells import joined

    data, offsets = joined(keys)
    padded = np.append(data, np.zeros(_COMPARED, np.uint8))
    windows: Any = np.lib.stride_tricks.as_strided(padded, (len(data) + 1, _COMPARED), (1, 1), writeable=False)
    heads = windows[offsets[:-1]]
    lengths = np.diff(offsets)
    if lengths.min() < _COMPARED:
        heads *= np.arange(_COMPARED) < lengths[:, None]  # not what is of the next key
    numbers = heads.view(">u8").astype(np.uint64)
    order: list[int] = np.lexsort((numbers[:, 1], numbers[:, 0])).tolist()
    return order
