"""OpenQuake's source models: NRML 0.5, read with the standard library.

    read_nrml(path, place)                  every source's ruptures, as a Forecast

sources       simpleFaultSource, characteristicFaultSource (with a simpleFaultGeometry or one planarSurface)
frequencies   truncGutenbergRichterMFD, incrementalMFD, arbitraryMFD
relations     those of magnitude_area.py that have OpenQuake's names

Anything else is refused by its name and line. So are groups of sources that exclude each other, clusters, ruptures that are not of
a Poisson process, and lists of hypocentres or slips: ignoring them would change the forecast. Depths are km below z = 0.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.parsers import expat

import numpy as np

from craton.errors import UserError, words_of
from craton.hazard.forecast.faults import Floating, SimpleFault, fault_ruptures, simple_fault, whole_surface_ruptures
from craton.hazard.forecast.forecast import Forecast
from craton.hazard.forecast.magnitude_area import RELATIONS
from craton.hazard.forecast.magnitude_frequency import MagnitudeFrequency, gutenberg_richter, magnitude_frequency
from craton.hazard.forecast.reading import located
from craton.hazard.forecast.rupture import Array, Rupture, Surface
from craton.hazard.forecast.surfaces import surface_of_nodes
from craton.seismology.geometry.grid import Grid

__all__ = ["read_nrml"]

NAMESPACE = "http://openquake.org/xmlns/nrml/0.5"
SEPARATOR = " "
KM = 1e3
CUT = "exactly"
"""Simple faults are cut as OpenQuake cuts them with that side as its rupture_mesh_spacing: ruptures are the same."""
SOURCES = ("simpleFaultSource", "characteristicFaultSource")
FREQUENCIES = ("truncGutenbergRichterMFD", "incrementalMFD", "arbitraryMFD")
INDEPENDENT = {"src_interdep": "indep", "rup_interdep": "indep", "cluster": "false"}
"""Attributes of a group, and the only value of each that is understood."""
KNOWN = {
    "simpleFaultSource": ("simpleFaultGeometry", "magScaleRel", "ruptAspectRatio", "rake", *FREQUENCIES),
    "characteristicFaultSource": ("surface", "rake", *FREQUENCIES),
}
"""Children of a source."""


@dataclass
class Element:
    """An element of the file, with its line."""

    tag: str
    attributes: dict[str, str]
    line: int
    namespace: str = ""
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def named(self, tag: str) -> Iterator[Element]:
        """Children with that tag."""
        return (child for child in self.children if child.tag == tag)


@dataclass(frozen=True)
class Reader:
    """A file, and what is wrong in it."""

    path: Path
    place: Grid
    floating: Floating
    bin_width: float

    def wrong(self, at: Element, what: str, allowed: str) -> UserError:
        """An error that names the file and the line."""
        return UserError(f"{self.path}:{at.line}: {what}; allowed: {allowed}")

    def child(self, of: Element, tag: str) -> Element:
        """The only child with that tag. UserError for none or several."""
        found = list(of.named(tag))
        if len(found) != 1:
            raise self.wrong(of, f"{len(found)} {tag} in {of.tag}", "one")
        return found[0]

    def numbers(self, at: Element, text: str, what: str) -> Array:
        """Numbers (n,) from words. UserError for what is no finite number, or nothing."""
        try:
            found = np.array(text.split(), dtype=float)
        except ValueError:
            found = np.array([np.nan])
        if not found.size or not np.isfinite(found).all():
            raise self.wrong(at, f"{what} = '{' '.join(text.split())[:60]}'", "finite numbers")
        return found

    def number(self, at: Element, text: str, what: str) -> float:
        """A number from a word. UserError for several, or none."""
        found = self.numbers(at, text, what)
        if len(found) != 1:
            raise self.wrong(at, f"{what} = '{text.strip()[:60]}'", "one number")
        return float(found[0])

    def attribute(self, at: Element, name: str) -> float:
        """An attribute's number. UserError where it is missing."""
        if name not in at.attributes:
            raise self.wrong(at, f"{at.tag} without {name}", f"{name}, a number")
        return self.number(at, at.attributes[name], name)

    def value(self, of: Element, tag: str) -> float:
        """The number in the only child with that tag."""
        at = self.child(of, tag)
        return self.number(at, at.text, tag)


def read_nrml(
    path: str | os.PathLike[str], place: Grid, *, floating: Floating | None = None, bin_width: float = 0.1
) -> Forecast:
    """The ruptures of every source of a file. UserError names the line.

    floating: side of subfaults and step between positions (the aspect ratio and the relation are the file's, and simple faults are
    cut as OpenQuake cuts them). bin_width: of truncated Gutenberg-Richter distributions.
    """
    reader = Reader(Path(path), place, floating or Floating(), bin_width)
    root = _parsed(reader.path)
    if root.tag != "nrml" or root.namespace != NAMESPACE:
        raise reader.wrong(root, f"<{root.tag}> of namespace '{root.namespace}'", f"<nrml> of {NAMESPACE}")
    if tree := next(root.named("logicTree"), None):
        raise reader.wrong(tree, "a logicTree", "a source model; each that the tree names as a [[model]]")
    model = reader.child(root, "sourceModel")
    ruptures: list[Rupture] = []
    names: set[str] = set()
    for source in _sources(reader, model):
        name = source.attributes.get("id", "")
        if not name or name in names:
            raise reader.wrong(source, f"{source.tag} of id '{name}'", "an id, and each once")
        names.add(name)
        with located(reader.path, source.line):
            ruptures += _ruptures(reader, source, name)
    if not ruptures:
        raise reader.wrong(model, "no ruptures", f"one or more of {', '.join(SOURCES)}")
    return Forecast(tuple(ruptures))


def _sources(reader: Reader, model: Element) -> Iterator[Element]:
    """Those of the model and of its groups, checked."""
    for one in model.children:
        if one.tag != "sourceGroup":
            yield _checked(reader, one)
            continue
        for name, meant in INDEPENDENT.items():
            given = one.attributes.get(name, meant)
            if given.lower() != meant:
                raise reader.wrong(one, f"sourceGroup with {name} = '{given}'", meant)
        yield from (_checked(reader, source) for source in one.children)


def _checked(reader: Reader, source: Element) -> Element:
    if source.tag not in SOURCES:
        raise reader.wrong(source, f"{source.tag} '{source.attributes.get('id', '')}'", ", ".join(SOURCES))
    process = source.attributes.get("temporalOccurrenceModel", "Poisson")
    if not process.startswith("Poisson"):
        raise reader.wrong(source, f"temporalOccurrenceModel = '{process}'", "Poisson")
    for child in source.children:
        if child.tag not in KNOWN[source.tag]:
            raise reader.wrong(child, f"{child.tag} in {source.tag}", ", ".join(KNOWN[source.tag]))
    return source


def _ruptures(reader: Reader, source: Element, name: str) -> list[Rupture]:
    frequency = _frequency(reader, source)
    rake = reader.value(source, "rake")
    if source.tag == "simpleFaultSource":
        named = reader.child(source, "magScaleRel")
        if named.text.strip() not in RELATIONS:
            raise reader.wrong(named, f"magScaleRel {named.text.strip()}", ", ".join(RELATIONS))
        aspect_ratio = reader.value(source, "ruptAspectRatio")
        floating = replace(reader.floating, relation=named.text.strip(), aspect_ratio=aspect_ratio, cut=CUT)
        return fault_ruptures(_fault(reader, source, name, rake), frequency, floating)
    return whole_surface_ruptures(name, _surface(reader, reader.child(source, "surface"), name, rake), frequency)


def _fault(reader: Reader, source: Element, name: str, rake: float) -> SimpleFault:
    at = reader.child(source, "simpleFaultGeometry")
    listed = reader.child(reader.child(at, "LineString"), "posList")
    trace = reader.numbers(listed, listed.text, "posList")
    if len(trace) % 2 or len(trace) < 4:
        raise reader.wrong(listed, f"posList of {len(trace)} numbers", "longitude and latitude of two points or more")
    return simple_fault(
        name,
        trace_lon_lat=trace.reshape(-1, 2),
        place=reader.place,
        upper_depth_m=reader.value(at, "upperSeismoDepth") * KM,
        lower_depth_m=reader.value(at, "lowerSeismoDepth") * KM,
        dip_deg=reader.value(at, "dip"),
        rake_deg=rake,
    )


def _surface(reader: Reader, surface: Element, name: str, rake: float) -> Surface:
    tags = [child.tag for child in surface.children]
    if tags == ["simpleFaultGeometry"]:
        return _fault(reader, surface, name, rake).surface(reader.floating.spacing_m, CUT)
    if tags == ["planarSurface"]:
        return _plane(reader, surface.children[0], rake)
    told = ", ".join(tags) or "nothing"
    raise reader.wrong(surface, f"a surface of {told}", "one simpleFaultGeometry, or one planarSurface")


def _plane(reader: Reader, plane: Element, rake: float) -> Surface:
    """Cut evenly between its four corners."""
    corners = {}
    for tag in ("topLeft", "topRight", "bottomLeft", "bottomRight"):
        at = reader.child(plane, tag)
        lon, lat, depth = (reader.attribute(at, axis) for axis in ("lon", "lat", "depth"))
        corners[tag] = np.array([*(float(v) for v in reader.place.x_y(lon, lat)), depth * KM])
    left, right = corners["bottomLeft"] - corners["topLeft"], corners["bottomRight"] - corners["topRight"]
    top, bottom = corners["topRight"] - corners["topLeft"], corners["bottomRight"] - corners["bottomLeft"]
    width, length = (float(np.linalg.norm(a) + np.linalg.norm(b)) / 2 for a, b in ((left, right), (top, bottom)))
    down = np.linspace(0, 1, max(1, round(width / reader.floating.spacing_m)) + 1)[:, None, None]
    along = np.linspace(0, 1, max(1, round(length / reader.floating.spacing_m)) + 1)[None, :, None]
    upper = corners["topLeft"] + along * top
    lower = corners["bottomLeft"] + along * bottom
    return surface_of_nodes(upper * (1 - down) + lower * down, rake, reader.place.azimuth_deg)


def _frequency(reader: Reader, source: Element) -> MagnitudeFrequency:
    found = [child for child in source.children if child.tag in FREQUENCIES]
    if len(found) != 1:
        raise reader.wrong(
            source, f"{len(found)} magnitude-frequency distributions", f"one of {', '.join(FREQUENCIES)}"
        )
    at = found[0]
    if at.tag == "truncGutenbergRichterMFD":
        b, low, high = (reader.attribute(at, name) for name in ("bValue", "minMag", "maxMag"))
        a = reader.attribute(at, "aValue")
        with located(reader.path, at.line):
            return gutenberg_richter(b, low, high, a_value=a, bin_width=reader.bin_width)
    listed = reader.child(at, "occurRates")
    rates = reader.numbers(listed, listed.text, "occurRates")
    if at.tag == "incrementalMFD":
        magnitudes = reader.attribute(at, "minMag") + reader.attribute(at, "binWidth") * np.arange(len(rates))
    else:
        at = reader.child(at, "magnitudes")
        magnitudes = reader.numbers(at, at.text, "magnitudes")
    return magnitude_frequency(magnitudes, rates, f"{reader.path}:{listed.line}")


def _parsed(path: Path) -> Element:
    """The whole file."""
    parser = expat.ParserCreate(namespace_separator=SEPARATOR)
    top = Element("", {}, 0)
    open_ones = [top]

    def begin(name: str, attributes: dict[str, str]) -> None:
        namespace, _, tag = name.rpartition(SEPARATOR)
        one = Element(tag, attributes, parser.CurrentLineNumber, namespace)
        open_ones[-1].children.append(one)
        open_ones.append(one)

    def end(_: str) -> None:
        open_ones.pop()

    def text(data: str) -> None:
        open_ones[-1].text += data

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = begin, end, text
    parser.buffer_text = True
    try:
        with path.open("rb") as stream:
            parser.ParseFile(stream)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; allowed: a source model in NRML 0.5") from None
    except LookupError as error:  # of an encoding that its first line names
        raise UserError(f"{path}:1: not valid XML: {words_of(error)}; allowed: UTF-8") from None
    except expat.ExpatError as error:
        raise UserError(f"{path}:{error.lineno}: not valid XML: {expat.ErrorString(error.code)}") from None
    return top.children[0]
