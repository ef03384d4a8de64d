"""The simulated machine, and how a program runs on it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any


ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build/simulated"
NAMES = (
    "assembly",
    "counters",
    "fock",
    "halo",
    "multigrid",
    "rma_assembly",
    "scattered",
    "small_updates",
    "stealing",
    "wave_output",
    "waves",
)
# Edison, a Cray XC30: groups of 6 chassis of 16 routers of 4 nodes, 0.26 us a hop. A rank has half a node and its 8 GB/s; links are
# so many of these: 1 between routers of a chassis, 4 between chassis, and of 23.7 TB/s between all groups 28 between two.
GROUPS, HOSTS = 15, 15 * 6 * 16 * 8
TOPOLOGY = f"{GROUPS},28;6,4;16,1;8"
HOP_US, BYTES_PER_S = 0.26, 4e9
MESSAGE_S = 1e-6  # looking at one message
EAGER_BYTES = 65536  # longer messages wait until their receiver asks
RECEIVES = 4  # of short messages that overlap, as a machine's do that do not wait
LEAST_EAGER = 64  # however they are folded: Craton's barriers and alarms must not wait
SETTINGS = [
    "smpi/privatization:no", "smpi/simulate-computation:no", "smpi/test:0", "smpi/iprobe:0", "smpi/grow-injected-times:no",
    "contexts/stack-size:512", "network/crosstraffic:0", "surf/precision:1e-5", "smpi/allgather:bruck",
    "smpi/bcast:binomial_tree", "smpi/allreduce:rdb", "smpi/barrier:ompi_recursivedoubling",
    "smpi/bw-factor:0:1", "smpi/lat-factor:0:1",  # else those of messages over Ethernet, by their folded size
]  # fmt: skip


RANK_IS_HALF_A_NODE = 1  # ranks of a host, which has half of a node's bandwidth
NODE = 16  # ranks of a host that is a whole node
WITHIN_NODE_BYTES_PER_S = 20e9  # copies between the ranks of a host, all together


def finer(seconds: float) -> list[str]:
    """The settings, with times told apart that differ by so much."""
    return [f"surf/precision:{seconds:g}" if each.startswith("surf/precision") else each for each in SETTINGS]


def platform(bytes_per_s: float, within_bytes_per_s: float) -> str:
    """SimGrid's description of the machine."""
    return (
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1"><zone id="world" routing="Full">\n'
        f'<cluster id="machine" topology="DRAGONFLY" topo_parameters="{TOPOLOGY}" prefix="n" suffix=""'
        f' radical="0-{HOSTS - 1}" speed="10Gf" bw="{bytes_per_s:.0f}Bps" lat="{HOP_US}us"'
        f' loopback_bw="{within_bytes_per_s:.0f}Bps" loopback_lat="0.1us" sharing_policy="SPLITDUPLEX"/>\n</zone></platform>\n'
    )


def run_program(
    program: str,
    ranks: int,
    values: dict[str, float],
    fold: float = 1.0,
    clocks: bool = True,
    settings: list[str] = SETTINGS,
    ranks_per_host: int = RANK_IS_HALF_A_NODE,
    environment: dict[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Runs a program on so many ranks, and as many clocks, spread evenly over the machine; the lines that it printed.

    A fold divides bandwidths, and the bytes of what is sent before the receiver asks, by its square. Several ranks of a host are
    neighbours in their order, and the host is a node. `environment`: variables that the program has beside those there are.
    """
    bandwidth = BYTES_PER_S if ranks_per_host == RANK_IS_HALF_A_NODE else 2 * BYTES_PER_S
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "platform.xml").write_text(platform(bandwidth / fold**2, WITHIN_NODE_BYTES_PER_S / fold**2))
        used = -(-ranks // ranks_per_host)
        hosts = [f"n{rank // ranks_per_host * HOSTS // used}" for rank in range(ranks)]
        processes = hosts + hosts if clocks else hosts
        (folder / "hosts").write_text("\n".join(processes) + "\n")
        platform_file, hosts_file = str(folder / "platform.xml"), str(folder / "hosts")
        command = ["smpirun", "-np", str(len(processes)), "-platform", platform_file, "-hostfile", hosts_file]
        command += [f"--cfg={setting}" for setting in settings]
        command += [f"--cfg=smpi/send-is-detached-thresh:{max(EAGER_BYTES / fold**2, LEAST_EAGER):.0f}"]
        command += [str(PROGRAMS / program), *(f"{name}={value}" for name, value in values.items())]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | (environment or {}))
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        own = next((line for line in done.stderr.splitlines() if line.startswith("craton:")), done.stderr[-2000:])
        raise RuntimeError(f"{program} on {ranks} ranks failed with status {done.returncode}:\n{own}")
    return lines
