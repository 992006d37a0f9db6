"""The built pages, which are part of the package; their source is in `/web`."""

from importlib.resources import files


def static_file(name: str) -> bytes:
    """A file of the built pages."""
    return files("lakebed.ui").joinpath("static", name).read_bytes()
