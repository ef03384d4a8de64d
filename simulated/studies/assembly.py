"""The assembly of French et al. (2015), tables I and II: updates of a convergent matrix.

Two updates of each rank are simulated: longer runs go on at the pace of the updates.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, fields

from studies.machine import MESSAGE_S, finer, run_program

LAYERS = 16
FOLDED_SIDE = LAYERS * 509
"""Of 16 layers. 509 cells are dealt out as evenly as the true 13,750; with 512 one rank of 1,024 gets 2.5 times the mean."""
UPDATES = 2  # simulated, of each rank, if the command line does not say
BLOCK = 64  # rows and columns of a block, Craton's default
BYTES_IN_FLIGHT = 64 << 20  # what Craton allows a rank by default
MEASURED = 5  # times
LONG = 64  # updates of each rank in table II
ONE_SIDED_RANKS = 256  # up to which MPI-3's one-sided operations are simulated beside


@dataclass(frozen=True)
class PaperSide:
    """A matrix side of the paper: the pace of its updates, by differences of table I, their columns, and the table."""

    pace_s: float
    columns: int  # of an update, assumed (docs/simulation.md says from what)
    updates: int  # in all
    seconds: dict[int, float]  # by ranks


SIDES = {
    1.1e5: PaperSide(
        (1271.40 - 322.24) / 192, 10800, 32768, {4: 39948.20, 16: 10016.61, 64: 2538.74, 256: 640.96, 1024: 171.68}
    ),
    2.2e5: PaperSide((2318.57 - 592.80) / 192, 21600, 32768, {16: 18079.84, 64: 4622.56, 256: 1173.27, 1024: 321.92}),
    8.2e5: PaperSide((4703.16 - 2399.96) / 128, 43200, 65536, {256: 4703.16, 1024: 1279.66}),
}
WEAK_SIDE = 2.2e5
WEAK = {16: 591.18, 64: 592.50, 256: 597.24, 1024: 609.96}  # table II, UPC++, seconds
WEAK_MPI = {64: 1064.50, 256: 1345.66, 1024: 3467.65}


@dataclass(frozen=True)
class Work:
    """What the work of a message takes on this machine: seconds per index, byte and byte."""

    bin_s: float
    pack_s: float
    merge_s: float


@dataclass(frozen=True)
class FineTimes:
    """How finely a job's times are told apart, and how many of its messages overlap: the finer, the longer a simulation takes."""

    precision_s: float
    save_up_s: float  # of work, before a clock advances
    messages_in_flight: int  # of a rank, unless Craton's own bound allows less
    receives: int  # of short messages that overlap at their receiver


COARSE = FineTimes(1e-5, 1e-4, 8, 1)  # for updates of seconds


@dataclass(frozen=True)
class Point:
    """One simulated job."""

    by: str  # "craton", or "mpi3" for its one-sided operations
    side: float
    ranks: int
    updates: int  # of each rank
    pace_s: float
    seconds: float
    update_s: float  # in calls of update, per update
    longest_update_s: float  # of the rank that spent most
    latest_s: list[float]  # of each update: how late it was handed on by the rank that was latest
    messages: int  # 0 where they are MPI's own
    bytes: int
    sums_right: bool
    host_s: float  # that the simulation took here

    @property
    def keeps_up(self) -> bool:
        """Whether each rank hands on an update before the next one comes: only then do long runs follow from short ones."""
        return self.longest_update_s < self.pace_s

    def seconds_of(self, updates: float) -> float:
        """A job of so many updates of each rank."""
        return self.seconds + (updates - self.updates) * self.pace_s


def folded_columns(side: float) -> int:
    """Of an update of the matrix that is simulated in place of this one."""
    return LAYERS * round(SIDES[side].columns * FOLDED_SIDE / side / LAYERS)


def measure_work() -> Work:
    """The work of 128 updates, by this machine's clock: the best of some runs, which what else it does disturbs least."""
    columns = folded_columns(WEAK_SIDE)
    values: dict[str, float] = {"side": FOLDED_SIDE, "update": columns, "updates": 8, "measure": 1}
    runs = [Work(**run_program("assembly", 16, values)[-1]) for _ in range(MEASURED)]
    return Work(*(min(getattr(run, each.name) for run in runs) for each in fields(Work)))


def simulate(side: float, ranks: int, updates: int, work: Work, by: str = "craton") -> Point:
    """One job, folded."""
    return simulate_job(side, ranks, updates, work, side / FOLDED_SIDE, folded_columns(side), SIDES[side].pace_s, by)


def simulate_job(
    side: float,
    ranks: int,
    updates: int,
    work: Work,
    fold: float,
    columns: int,
    pace: float,
    by: str = "craton",
    fine: FineTimes = COARSE,
    folded_side: int = FOLDED_SIDE,
) -> Point:
    """A job of a matrix side, folded by so much; `columns`: of an update of the folded matrix."""
    values: dict[str, float] = {
        "side": folded_side, "update": columns, "updates": updates, "pace_s": pace, "fold": fold,
        "block": max(1, round(BLOCK / fold)), **asdict(work),
    }  # fmt: skip
    begin = time.monotonic()
    if by == "craton":
        message = 4 * columns**2 / 2 / ranks  # bytes, about
        values |= {
            "bytes_in_flight": min(BYTES_IN_FLIGHT / fold**2, fine.messages_in_flight * message),
            "message_s": MESSAGE_S,
            "receives": fine.receives,
            "save_up_s": fine.save_up_s,
        }
        found = run_program("assembly", ranks, values, fold, settings=finer(fine.precision_s))[-1]
    else:
        found = run_program("rma_assembly", ranks, values, fold, clocks=False)[-1]
    return Point(
        by, side, ranks, updates, pace, found["seconds"], found["update_seconds"] / updates,
        found["longest_update_seconds"] / updates, found["latest_seconds"], found.get("messages", 0), found.get("bytes", 0),
        found["sums_right"], time.monotonic() - begin,
    )  # fmt: skip
