"""Vectors as points in a plane, so that people see what lies near what.

Pure and deterministic: the same vectors in another order give the very same points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from playground.errors import InvalidInputError
from playground.retrieval.index import Vectors

__all__ = ["Plane", "Points", "principal_plane"]

Points = npt.NDArray[np.float64]
"""``(n, 2)``."""
AXES = 2
NO_SHARE = 1e-12  # of the variance; what a direction holds by rounding alone, float32 has seven digits
LEADS = 1 - 1e-6  # of the largest component; nearer ones count as equal, so that rounding turns no sign


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """Vectors seen from where they differ most.

    Attributes:
        points: ``(n, 2)`` float64, in the order of the vectors, around 0; in the units of the vectors.
        shares: Which part of all variance each axis holds, the first the larger; both 0 without any.
    """

    points: Points
    shares: tuple[float, float]


def principal_plane(vectors: Vectors) -> Plane:
    """Project vectors onto their first two principal axes. O(n d min(n, d)).

    Every vector has the same weight. An axis points where its leading component is positive: the first of those
    whose absolute value is the largest. Vectors are taken in the order of their bytes and not in the one they
    come in, so that rounding, and axes of equal variance, come out the same in any order. An axis that holds no
    variance, because there are fewer than three vectors or they are equal, or lie on a line, gives 0.

    Args:
        vectors: ``(n, d)`` float32, finite; n and d may be 0.

    Raises:
        InvalidInputError: When the array has another number of dimensions, or a number is not finite.

    References:
        Jolliffe, Principal Component Analysis, 2nd edition, 2002, section 3.5: by singular values of the
        centred matrix.
    """
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise InvalidInputError(
            f"These vectors have the shape {vectors.shape}, or one of their numbers is not finite.",
            remedy="Pass one row of finite numbers for each.",
        )
    count = len(vectors)
    points = np.zeros((count, AXES))
    if vectors.size == 0:
        return Plane(points, (0.0, 0.0))
    rows = vectors.astype(np.float64) + 0.0  # -0.0 becomes 0.0: equal rows have equal bytes
    keys = [row.tobytes() for row in rows]
    order = sorted(range(count), key=keys.__getitem__)
    centred = rows[order]
    centred -= centred[0]  # equal rows minus their mean may leave rounding that would look like variance
    centred -= centred.mean(axis=0)
    # Of a tall matrix only the triangle: it has the same axes, and a tenth of the work.
    _, values, axes = np.linalg.svd(np.linalg.qr(centred, mode="r"), full_matrices=False)
    variance = values**2
    total = float(variance.sum())
    shares = [0.0] * AXES
    for axis in range(min(AXES, len(values))):
        share = float(variance[axis]) / total if total else 0.0
        if share > NO_SHARE:
            shares[axis] = share
            points[order, axis] = centred @ (axes[axis] * _sign(axes[axis]))
    # By rounding equal rows could come out a little apart: the first in order stands for all.
    first = {keys[at]: at for at in reversed(order)}
    return Plane(points[[first[key] for key in keys]], (shares[0], shares[1]))


def _sign(axis: npt.NDArray[np.float64]) -> float:
    size = np.abs(axis)
    leading = int(np.argmax(size >= LEADS * size.max()))
    return 1.0 if axis[leading] > 0 else -1.0
