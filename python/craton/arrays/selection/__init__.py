"""What NumPy's indices pick of a distributed array: nothing is fetched until its elements are asked for.

indexing: integers, slices and arrays of indices -> ranges along each dimension. elements: what a part of an array is to NumPy and
to Python. parts: m[rows, cols] of a matrix, v[indices] of a vector.
"""
