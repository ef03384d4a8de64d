"""The command `craton`, with the commands of no application: `doctor` and `example` are three quarters of its lines."""
