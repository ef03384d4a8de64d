"""Writes basin.h5, the ground of basin.toml and scenario.toml, and points.txt, places on a fault.

The ground is a bowl of slow sediments, 2.4 km deep, in rock that gets faster with depth.

    python make_basin.py

The files are there already; this is how they were made.
"""

from pathlib import Path

import h5py
import numpy as np

SIZE_KM = (60.0, 48.0, 24.0)
DEPTHS_M = (0, 300, 600, 1000, 1500, 2000, 2500, 3000, 4000, 6000, 10000, 16000, 24000)


def main() -> None:
    along, down = np.meshgrid(np.arange(10.8e3, 49.3e3, 1200.0), np.arange(1.2e3, 13.0e3, 1200.0), indexing="ij")
    rows = (f"{x:.0f} 14500 {z:.0f}\n" for x, z in zip(along.ravel(), down.ravel(), strict=True))
    Path(__file__).with_name("points.txt").write_text("".join(rows), encoding="utf-8")
    x, y = (np.arange(0.0, 1e3 * size + 1, 2000.0) for size in SIZE_KM[:2])
    z = np.array(DEPTHS_M, float)
    gx, gy, gz = np.meshgrid(x, y, z, indexing="ij")
    # distance from the bowl's middle, 1 at its rim; its floor is a paraboloid
    across = ((gx - 32e3) / 13e3) ** 2 + ((gy - 26e3) / 9e3) ** 2
    floor_m = 2400.0 * np.maximum(1 - across, 0)
    rock = np.minimum(2500.0 + 0.12 * gz, 3500.0)
    sediment = 1150.0 + 0.3 * gz
    vs = np.where(gz < floor_m, np.minimum(sediment, rock), rock)
    fields = {"vs": vs, "vp": 1.7 * vs + 300.0, "rho": 1900.0 + 0.24 * vs}
    with h5py.File(Path(__file__).with_name("basin.h5"), "w") as file:
        for name, values in fields.items():
            made = file.create_dataset(name, data=values.astype(np.float32), compression="gzip", shuffle=True)
            made.attrs["axes"] = "x y z"
        file["x"], file["y"], file["z"] = x, y, z


if __name__ == "__main__":
    main()
