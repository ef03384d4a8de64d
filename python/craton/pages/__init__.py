"""Reports and figures: one look for every application.

A report is data; templates turn it into one HTML file and escape every text. Functions that draw return a matplotlib Figure.

    from craton.pages.figures import new_figure, save_picture
    from craton.pages.page import Numbers, Page, Picture, Section, Table, Text, how_to_go_on, made_by, provenance, render, summary
    from craton.pages.style import ACCENT, drawing

    @drawing                                      # the settings of all figures; returns the Figure
    def residual_figure(residuals: list[float]) -> Figure:
        figure = new_figure(10.0, 3.0)            # inches
        axes = figure.subplots()
        axes.semilogy(residuals, "o-", color=ACCENT)
        axes.set(title="residual", xlabel="cycle")
        return figure

    def report(results: Results) -> str:          # HTML; the caller writes it
        numbers = Numbers([("12", "cycles"), ("3.1e-9", "relative residual")])
        picture = Picture(residual_figure(results.residuals), "Residual after each cycle.", "A line that falls to 3.1e-9.")
        blocks = [
            summary([Text("Solved to the tolerance.")], numbers),
            Section("Convergence", [picture]),
            Section("Levels", [Table(["level", "cells"], [["0", "4096"], ["1", "512"]]), Text("Halved each time.")]),
            how_to_go_on([("Draw this page again", "craton multigrid report my-run")]),
            provenance(record),
        ]
        return render(Page(record.title, "a multigrid solution", f"{made_by(record.versions, record.started)}.", blocks))

`Notice`, `Code`, `Details`, `Columns`, `Links` are the other blocks; `render_part` and `Part` are for pieces that other
processes draw. `projection` says where places are on a map; `maps` draws
globes and cross-sections.
"""
