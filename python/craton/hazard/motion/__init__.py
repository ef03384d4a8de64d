"""Ground motion of a rupture at a site, by reciprocity, and its intensity."""
