"""Linear systems that are known by their products alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

f64 = NDArray[np.float64]


def gmres(
    apply: Callable[[f64, f64], f64],
    right_hand_side: f64,
    metric: Callable[[f64], f64],
    go_on: Callable[[int, float], bool],
) -> f64:
    """The x of A x = b by GMRES without restarts (Saad & Schultz 1986, doi:10.1137/0907058), for a few dozen steps.

    Residuals are measured by r . M r, M symmetric positive definite: apply(v, M v) is A v, metric(v) is M v. After each step
    go_on(steps, residual as a fraction of b's) says whether another is wanted.
    """
    image = metric(right_hand_side)
    size = float(np.sqrt(right_hand_side @ image))
    if size == 0.0:
        return np.zeros_like(right_hand_side)
    basis, images = [right_hand_side / size], [image / size]
    hessenberg = np.zeros((1, 0))
    while True:
        product = apply(basis[-1], images[-1])
        column = np.zeros(len(basis) + 1)
        for _ in range(2):  # once more: rounding leaves the first pass not quite orthogonal
            for index, (vector, its_image) in enumerate(zip(basis, images, strict=True)):
                part = float(product @ its_image)
                product = product - part * vector
                column[index] += part
        image = metric(product)
        column[-1] = np.sqrt(max(float(product @ image), 0.0))
        steps = len(basis)
        hessenberg = np.column_stack([np.pad(hessenberg, ((0, 1), (0, 0))), column])
        first = np.eye(1, steps + 1)[0]
        weights = np.linalg.lstsq(hessenberg, first, rcond=None)[0]
        residual = float(np.linalg.norm(first - hessenberg @ weights))
        exhausted = column[-1] <= 1e-14 * np.linalg.norm(column)
        if not go_on(steps, residual) or exhausted:
            return np.asarray(size * (np.stack(basis, axis=1) @ weights))
        basis.append(product / column[-1])
        images.append(image / column[-1])
