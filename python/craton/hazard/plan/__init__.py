"""What a map of many sites will take on a machine: simulations, node hours, bytes, wall clock."""
