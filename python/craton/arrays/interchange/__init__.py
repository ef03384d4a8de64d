"""Distributed arrays from and to other libraries: chunked arrays of Dask, Zarr and the like, matrices of PETSc."""
