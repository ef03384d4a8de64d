def level() -> str:
    """The level of the x86-64 architecture that this processor and system have; empty on others."""
