"""Benchmarks that `craton bench` lists and runs: one module each, registered by the decorator `registry.benchmark`.

To add one, write a module here with a function that takes a `Run` and yields `Measurement`s, each beside a limit of the
machine that it has measured in the same run.
"""
