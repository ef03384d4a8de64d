"""The command language that all applications share: groups, options, launching, printing."""
