"""Writes a double helix of B-DNA as an XYZ file, from the sequence of one strand.

    python make_dna.py ATGCA > dna5.xyz
    craton scf run dna5.xyz --basis sto-3g --threads 2

Heavy atoms are where X-ray fibre diffraction has them: S. Arnott and D. W. L. Hukins, Biochem. Biophys. Res. Commun. 47, 1504
(1972), 36 degrees and 3.38 Angstrom from one pair of bases to the next. Hydrogen atoms are put at usual distances and angles. Each
phosphate has a proton in place of a counterion, so that the molecule is neutral.
"""

import sys

import numpy as np

TURN_DEG, RISE_ANGSTROM = 36.0, 3.38

# radius (Angstrom), angle (degrees), height (Angstrom) about the helix's axis
BACKBONE = {
    "O3'": (8.75, 97.4, 3.63), "OP1": (10.20, 91.1, 1.86), "OP2": (8.82, 103.3, 1.29), "P": (8.91, 95.2, 2.08),
    "O5'": (7.73, 88.0, 1.83), "C5'": (7.70, 79.8, 2.77), "O4'": (6.22, 66.0, 1.83), "C4'": (7.59, 69.9, 2.04),
    "C3'": (8.20, 69.9, 0.64), "C2'": (7.04, 73.2, -0.24), "C1'": (5.86, 67.4, 0.47),
}  # fmt: skip
BASES = {
    "A": {
        "N9": (4.63, 76.6, 0.42), "C8": (4.84, 93.0, 0.50), "N7": (3.95, 105.4, 0.43), "C5": (2.74, 94.0, 0.28),
        "N6": (1.83, 154.0, 0.14), "C6": (1.41, 107.2, 0.15), "N1": (0.86, 40.1, 0.03), "C2": (2.17, 30.6, 0.04),
        "N3": (3.24, 47.0, 0.16), "C4": (3.33, 70.5, 0.28),
    },
    "G": {
        "N9": (4.63, 76.6, 0.42), "C8": (4.82, 93.2, 0.50), "N7": (3.92, 105.7, 0.42), "C5": (2.70, 94.0, 0.28),
        "O6": (1.71, 154.6, 0.13), "C6": (1.39, 109.3, 0.15), "N1": (0.92, 37.9, 0.03), "N2": (3.01, 4.2, -0.10),
        "C2": (2.28, 28.7, 0.03), "N3": (3.29, 46.7, 0.16), "C4": (3.33, 70.3, 0.28),
    },
    "C": {
        "N1": (4.63, 76.6, 0.42), "C6": (4.99, 92.2, 0.52), "C5": (4.35, 107.0, 0.47), "N4": (2.76, 136.6, 0.27),
        "C4": (2.94, 110.0, 0.32), "N3": (2.31, 83.9, 0.22), "O2": (3.69, 47.9, 0.18), "C2": (3.40, 67.4, 0.27),
    },
    "T": {
        "N1": (4.63, 76.6, 0.42), "C6": (5.01, 92.3, 0.52), "C7": (5.40, 119.8, 0.58), "C5": (4.38, 106.9, 0.47),
        "O4": (2.82, 136.3, 0.27), "C4": (2.98, 111.9, 0.32), "N3": (2.36, 85.2, 0.23), "O2": (3.64, 47.8, 0.18),
        "C2": (3.42, 67.3, 0.27),
    },
}  # fmt: skip
PARTNER = {"A": "T", "T": "A", "G": "C", "C": "G"}
HYDROGENS = {
    "A": {"C8": 1, "C2": 1, "N6": 2}, "G": {"C8": 1, "N1": 1, "N2": 2}, "C": {"C5": 1, "C6": 1, "N4": 2},
    "T": {"C6": 1, "N3": 1, "C7": 3},
}  # fmt: skip
OF_SUGAR = {"C1'": 1, "C2'": 2, "C3'": 1, "C4'": 1, "C5'": 2}
LENGTH = {"C": 1.09, "N": 1.01, "O": 0.97}
BONDED = 1.95
"""Angstrom: heavy atoms nearer to each other are bonded."""


def placed(cylindrical, step, other_strand):
    """Cartesian coordinates of an atom of the pair of bases that is so many steps along the helix."""
    radius, angle, height = cylindrical
    sign = -1.0 if other_strand else 1.0
    turned = np.radians(sign * angle + TURN_DEG * step)
    return np.array([radius * np.cos(turned), radius * np.sin(turned), sign * height + RISE_ANGSTROM * step])


def strand(bases, other_strand):
    """(symbol, hydrogen atoms that it needs, position) of one strand's heavy atoms; bases in the order of steps."""
    atoms = []
    along = -1 if other_strand else 1  # where the residue on the 5' side is
    first, last = (len(bases) - 1, 0) if other_strand else (0, len(bases) - 1)
    for step, base in enumerate(bases):
        for name, where in BACKBONE.items():
            if name == "O3'":  # of this residue: written with the phosphate of the residue on its 3' side
                atoms.append(("O", int(step == first), placed(where, step - along, other_strand)))
            elif name in ("P", "OP1", "OP2"):
                if step != last:  # the 5' end has a hydroxyl group instead
                    atoms.append((name[0], int(name == "OP1"), placed(where, step, other_strand)))
            else:
                wanted = int(step == last) if name == "O5'" else OF_SUGAR.get(name, 0)
                atoms.append((name[0], wanted, placed(where, step, other_strand)))
        for name, where in BASES[base].items():
            atoms.append((name[0], HYDROGENS[base].get(name, 0), placed(where, step, other_strand)))
    return atoms


def unit(vector):
    """Of length 1."""
    return vector / np.linalg.norm(vector)


def with_hydrogens(atoms):
    """Symbols and positions, hydrogen atoms after the heavy ones, away from what is bonded to theirs."""
    symbols, positions = [each[0] for each in atoms], np.array([each[2] for each in atoms])
    added = []
    apart = np.linalg.norm(positions[:, None] - positions, axis=2)
    for n, (symbol, wanted, at) in enumerate(atoms):
        if not wanted:
            continue
        near = [m for m in np.flatnonzero(apart[n] < BONDED) if m != n]
        bonds = [unit(positions[m] - at) for m in near]
        if len(bonds) + wanted == 4 and len(bonds) > 1:  # tetrahedral
            back = unit(-np.sum(bonds, axis=0))
            if wanted == 1:
                directions = [back]
            else:
                across, half = unit(np.cross(bonds[0], bonds[1])), np.radians(54.75)
                directions = [np.cos(half) * back + s * np.sin(half) * across for s in (1, -1)]
        elif len(bonds) == 2:  # in a ring
            directions = [unit(-np.sum(bonds, axis=0))]
        else:  # at the end of a bond: methyl, amino, hydroxyl
            behind = next(m for m in np.flatnonzero(apart[near[0]] < BONDED) if m not in (n, near[0]))
            axis = -bonds[0]
            beside = positions[behind] - positions[near[0]]
            beside = unit(beside - np.dot(beside, axis) * axis)
            angle = np.radians(60.0 if symbol == "N" else 70.5)
            turns = {1: (180,), 2: (0, 180), 3: (60, 180, 300)}[wanted]
            other = np.cross(axis, beside)
            directions = [
                np.cos(angle) * axis + np.sin(angle) * (np.cos(np.radians(t)) * beside + np.sin(np.radians(t)) * other)
                for t in turns
            ]
        added += [at + LENGTH[symbol] * each for each in directions]
    return symbols + ["H"] * len(added), np.concatenate([positions, np.reshape(added, (-1, 3))])


def double_helix(sequence):
    """Symbols and positions in Angstrom, of a sequence from its 5' end."""
    wrong = sorted(set(sequence) - set(PARTNER))
    if wrong or not sequence:
        sys.exit(f"make_dna: sequence '{sequence[:40]}'; allowed: letters A, C, G, T, at least one")
    upwards = sequence[::-1]  # steps go from the 3' end of the first strand
    return with_hydrogens(strand(upwards, False) + strand([PARTNER[each] for each in upwards], True))


def main():
    """Writes the file to the standard output."""
    if len(sys.argv) != 2:
        sys.exit("make_dna: allowed: python make_dna.py SEQUENCE, such as ATGCA")
    symbols, positions = double_helix(sys.argv[1].upper())
    print(f"{len(symbols)}\nB-DNA, {sys.argv[1].upper()} and its partner, every phosphate with a proton")
    for symbol, at in zip(symbols, positions, strict=True):
        print(f"{symbol:2} " + " ".join(f"{x:12.6f}" for x in at))


if __name__ == "__main__":
    main()
