"""The command `craton`."""
