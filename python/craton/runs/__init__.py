"""One run: its folder, record, progress and status, what its ranks agree on, its checkpoints. The same for every application.

    files        files that are whole or not there; HDF5, text, JSON
    agreement    on_root: rank 0 does it; on_all: every rank does; all get a result or all raise
    folder       RunFolder: an application names its files, the rest is here
    record       Record: record.json, what was run; an application adds fields
    running      begun, resumed, finished: a run from its first line to its last
    progress_file, status    progress.json while a run goes on, and Status, which anybody reads from a folder at any time
    checkpoints  an HDF5 file that says whose it is
    iterative    what solvers share that iterate until they converge
    progress     the bar          words    numbers for people          process_memory    bytes

An application's run is these lines, on every rank:

    class WavesFolder(RunFolder[WavesRecord]):
        app, record_type = "waves", WavesRecord
        seismograms = RunFile("seismograms.h5")
        checkpoint = RunFile("checkpoint.h5", "working")

    def run(config, comm, *, overwrite=False):
        folder = WavesFolder(config.run.directory)
        start = Start("waves", config.to_dict(), str(config.path), PHASES, comm.size, threads)
        with begun(comm, folder, start, overwrite, inputs) as (place, progress):
            progress.enter("steps", total=steps, unit="steps")      # place: the folder to write to
            progress.update(done)                                   # as often as it likes
            ...
            finished(comm, folder, place, progress, record)         # results are in place, record.json written, progress.json gone

    def resume(directory, comm):
        folder = WavesFolder(directory)
        stored = on_root(comm, folder.to_resume)                    # what it was started with; UserError in a line
        with resumed(comm, folder, Start(...)) as (place, progress):
            ...                                                     # the same as above

    def status(directory) -> Status:
        return find_status(WavesFolder(directory))                  # needs no MPI; the application may add to .rows
"""
