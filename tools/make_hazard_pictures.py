"""Draws the hazard pictures of docs/images from a finished run of the example, and photographs its report as browsers show it.

    craton hazard run examples/hazard/basin.toml
    python tools/make_hazard_pictures.py basin-run

hazard_basin.png and hazard_timeline.png are made of pictures of the run; hazard_report_1280.png and hazard_report_400.png are
what a headless Chromium (tools/bootstrap --browser) shows in windows of 1280 and 400 pixels.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import PIL.Image
from craton.runs.files import replaced

IMAGES = pathlib.Path(__file__).resolve().parent.parent / "docs/images"
ROWS = (("map", "models-basin"), ("disaggregation-basin", "seismogram-basin"))
WIDTH, GAP = 1300, 20
WINDOWS = {1280: 3050, 400: 4300}
"""Width and height in pixels of what is photographed: the map and the first site."""
SECONDS_ALLOWED = 120


def beside(images):
    """Images of one height side by side, as wide as the picture."""
    ratios = [image.width / image.height for image in images]
    height = int((WIDTH - GAP * (len(images) - 1)) / sum(ratios))
    row = PIL.Image.new("RGB", (WIDTH, height), "white")
    at = 0
    for image, ratio in zip(images, ratios, strict=True):
        width = int(ratio * height)
        row.paste(image.resize((width, height), PIL.Image.Resampling.LANCZOS), (at, 0))
        at += width + GAP
    return row


def collage(pictures):
    """Rows of pictures, one below the other."""
    rows = [beside([PIL.Image.open(pictures / f"{name}.png").convert("RGB") for name in names]) for names in ROWS]
    whole = PIL.Image.new("RGB", (WIDTH, sum(row.height for row in rows) + GAP * (len(rows) - 1)), "white")
    top = 0
    for row in rows:
        whole.paste(row, (0, top))
        top += row.height + GAP
    return whole


def photographed(page, width, height):
    """The page in a window of that size."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("no chromium on the PATH; tools/bootstrap --browser installs it")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        taken = pathlib.Path(folder) / "page.png"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        window = [f"--user-data-dir={folder}/profile", f"--window-size={width},{height}", f"--screenshot={taken}"]
        command = [chromium, *options, *window, "--proxy-server=http://127.0.0.1:9", page.resolve().as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS_ALLOWED)
        return PIL.Image.open(taken).convert("RGB")


def save(image, name):
    """With all colours: few would mix up those of lines."""
    with replaced(IMAGES / name) as aside:
        image.save(aside, format="png", optimize=True)
    print(IMAGES / name)


def main():
    run = pathlib.Path(sys.argv[1])
    save(collage(run / "pictures"), "hazard_basin.png")
    save(PIL.Image.open(run / "pictures/timeline.png").convert("RGB"), "hazard_timeline.png")
    for width, height in WINDOWS.items():
        save(photographed(run / "report.html", width, height), f"hazard_report_{width}.png")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
