"""Halos of a wave run beside its computing (Cui et al. 2013)."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from studies.found import Curve, Found, Panel
from studies.machine import MESSAGE_S, RECEIVES, run_program

GRIDS = {64: (8, 4, 2), 512: (16, 8, 4), 4096: (32, 16, 8)}
RANKS, STEPS = (64, 512), 3
FEWEST = 64
# Strong scaling of section VI: seconds of a step of 45 billion points on nodes of Blue Waters, without and with ranks placed by the
# shape of the network.
PAPER_POINTS = (8960, 4480, 1120)
PAPER_S = {64: (4.006, 3.991), 512: (0.572, 0.554), 4096: (0.119, 0.077)}
NODE_POINTS_PER_S = math.prod(PAPER_POINTS) / (PAPER_S[FEWEST][0] * FEWEST)
DEVICE = 3.7  # a node with a device is so many times as fast (section V)


@dataclass(frozen=True)
class Case:
    """A grid on nodes of some speed; `fold`: points of a side are so many times fewer in the simulator."""

    points: tuple[int, ...]
    speed: float  # of nodes, beside those of section VI
    fold: int


LARGE, LARGE_ON_DEVICES = Case(PAPER_POINTS, 1.0, 10), Case(PAPER_POINTS, DEVICE, 10)
SMALL_ON_DEVICES = Case((1488, 744, 186), DEVICE, 3)  # figure 5's smallest, in the proportions of the large one
SMALL_ON_DEVICES_WORDS = f"{math.prod(SMALL_ON_DEVICES.points):.3g} points: simulated"
POINTS_OF_A_DEVICE = (400, 400, 325)  # figure 6, weak scaling: 52 million
PAPER_WEAK = 1.0  # section V: up to 8,192 nodes of Titan


# Output: strains of every tenth point along each side, as the paper has a thousandth of its points. Every so many steps a sample, and
# so many samples together.
THINNED, EVERY, SAMPLES, STRAIN_BYTES = 10, 10, 20, 6 * 4
OUTPUT_FOLD = 5  # of the points that are left, along each side
OUTPUT_RANKS = (64,)  # with 512 the simulator takes more than ten minutes


def as_many_for_each(ranks: int) -> Case:
    """Weak scaling: the points of a device on each of so many."""
    return Case(
        tuple(points * count for points, count in zip(POINTS_OF_A_DEVICE, GRIDS[ranks], strict=True)), DEVICE, 25
    )


def efficiency(case: Case, ranks: int) -> float:
    """Of a step: what its computing takes beside what it takes with its halos."""
    step_s = math.prod(case.points) / (NODE_POINTS_PER_S * case.speed * ranks)
    values = dict(zip(("px", "py", "pz"), map(float, GRIDS[ranks]), strict=True))
    values |= dict(zip(("nx", "ny", "nz"), (points / case.fold for points in case.points), strict=True))
    values |= {"step_s": step_s, "steps": STEPS, "message_s": MESSAGE_S, "receives": RECEIVES, "fold": case.fold}
    return step_s / float(run_program("waves", ranks, values, case.fold)[-1]["step_seconds"])


def compare_output(ranks: list[int], jobs: int) -> Found:
    """How long the strains of all bricks are on their way to the ranks that write them."""
    points = [count // THINNED for count in PAPER_POINTS]
    nbytes = math.prod(points) * SAMPLES * STRAIN_BYTES
    fold = math.sqrt(math.prod(points) / math.prod(count // OUTPUT_FOLD for count in points))

    def run(ranks: int) -> dict[str, float]:
        values = dict(zip(("px", "py", "pz"), map(float, GRIDS[ranks]), strict=True))
        values |= dict(zip(("nx", "ny", "nz"), (count // OUTPUT_FOLD for count in points), strict=True))
        return run_program("wave_output", ranks, values | {"samples": SAMPLES}, fold, clocks=False)[-1]

    found = Found("strains of a wave run on their way to the ranks that write them")
    print(f"\n{SAMPLES} samples of six strains at {math.prod(points):.3g} points, {1e-9 * nbytes:.1f} GB together:")
    print(f"  ranks   to the writers, s   GB/s   of {SAMPLES * EVERY} steps of nodes   of devices")
    right = True
    with ThreadPoolExecutor(jobs) as pool:
        for count, row in zip(ranks, pool.map(run, ranks), strict=True):
            seconds = row["seconds"]
            step_s = math.prod(PAPER_POINTS) / (NODE_POINTS_PER_S * count)
            part = seconds / (SAMPLES * EVERY * step_s)
            right &= bool(row["all_right"])
            found.rows.append({"ranks": count, "seconds": seconds, "of_nodes": part, "of_devices": part * DEVICE})
            print(
                f"  {count:5d} {seconds:19.3f} {1e-9 * nbytes / seconds:6.0f} {part:24.3%} {DEVICE * part:12.3%}",
                flush=True,
            )
    found.holds = {"each strain where it belongs": right}
    curves = [found.curve("nodes", "of_nodes", factor=100), found.curve("devices", "of_devices", factor=100)]
    found.panels = [Panel("Strains to the ranks that write them", f"% of {SAMPLES * EVERY} steps", curves)]
    return found


def compare_waves(ranks: list[int], jobs: int) -> Found:
    """Efficiency of a wave run's steps on more ranks, beside the paper's."""
    found = Found("halos of a wave run beside its computing: efficiency of a step")
    print("\na node to a rank: efficiency of a step")
    each = math.prod(POINTS_OF_A_DEVICE)
    print(
        f"            {math.prod(PAPER_POINTS):.3g} points: simulated       the paper's   {SMALL_ON_DEVICES_WORDS}"
        f"   {each:.3g} for each: simulated   the paper's"
    )
    print("  ranks         nodes        devices    nodes    placed   devices                  devices")
    with ThreadPoolExecutor(jobs) as pool:
        for count in ranks:
            nodes, devices, small, weak = pool.map(
                partial(efficiency, ranks=count),
                (LARGE, LARGE_ON_DEVICES, SMALL_ON_DEVICES, as_many_for_each(count)),
            )
            row = {
                "ranks": count,
                "nodes": nodes,
                "devices": devices,
                "small": small,
                "weak": weak,
                "paper_weak": PAPER_WEAK,
            }
            paper, placed = (
                FEWEST * first / (count * seconds)
                for first, seconds in zip(PAPER_S[FEWEST], PAPER_S[count], strict=True)
            )
            found.rows.append(row | {"paper": paper, "paper_placed": placed})
            print(
                f"  {count:5d} {nodes:13.2%} {devices:14.2%} {paper:8.1%} {placed:9.1%} {small:9.1%} {weak:24.2%}"
                f" {PAPER_WEAK:13.0%}",
                flush=True,
            )

    found.holds = {
        "weak scaling of devices within 1% of the paper's": all(row["weak"] >= 0.99 * PAPER_WEAK for row in found.rows),
    }

    if more := [row for row in found.rows if row["ranks"] > FEWEST]:  # which the paper's efficiencies are relative to
        found.holds["strong scaling of nodes at least the paper's"] = all(
            row["nodes"] >= row["paper_placed"] for row in more
        )

    def curve(label: str, key: str) -> Curve:
        return found.curve(label, key, factor=100, reference=key.startswith("paper"))

    strong = [
        curve("nodes", "nodes"),
        curve("devices", "devices"),
        curve(f"devices, {math.prod(SMALL_ON_DEVICES.points):.3g} points", "small"),
    ]
    strong += [curve("Cui et al. (2013), nodes", "paper"), curve("nodes that are placed", "paper_placed")]
    weak_curves = [curve("devices", "weak"), curve("Cui et al. (2013), devices", "paper_weak")]
    found.panels = [
        Panel(f"{math.prod(PAPER_POINTS):.3g} points in all", "efficiency, %", strong),
        Panel(f"{each:.3g} points for each", "efficiency, %", weak_curves),
    ]
    return found
