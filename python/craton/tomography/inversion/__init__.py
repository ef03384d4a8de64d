"""One inversion, its iterations and its folder.

A module for each part that the driver names. They are more than fifteen, because a schedule of periods, robust weights, exact sums,
the check of the theory and the judgement of the end stand beside the parts that they change, not in them.
"""
