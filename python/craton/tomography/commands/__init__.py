"""The commands of `craton tomography`."""

from craton.cli.group import group
from craton.tomography.commands import observed, pictures, planning, priors, runs, theory

app = group(
    """Invert seismograms for the shear-wave structure of the whole mantle.

    Start with:

        craton example global
        cd global
        craton tomography run demo.toml --ranks 2
    """
)
for part in (runs, planning, priors, pictures, theory):
    app.add_typer(part.app)
app.add_typer(observed.app, name="data", rich_help_panel="Observed seismograms")
