"""A model: its parameters, its fields anywhere in the mantle, files of it for other programs."""
