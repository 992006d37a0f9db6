"""Which members of a ZIP are data: archives carry notes, licences and shadows of files beside it."""

import zipfile

from lakebed.errors import SourceError

_ENCRYPTED = 0x1
_DATA_ENDING = ".csv"


def data_members(archive: zipfile.ZipFile, *, key: str) -> list[zipfile.ZipInfo]:
    """The members to read, in their order: all that are called .csv, or the only one, whatever it is called.

    Raises SourceError where that does not tell, and where a member cannot be unpacked.
    """
    files = [member for member in archive.infolist() if _is_file(member)]
    named = [member for member in files if member.filename.lower().endswith(_DATA_ENDING)]
    if not named and len(files) > 1:
        shown = ", ".join(member.filename for member in files[:5])
        raise SourceError(
            f"{key}: none of the {len(files)} files in it is called .csv, so what is data is not known: {shown}",
            remedy="Name the data .csv in the archive, or unpack it.",
        )
    members = named or files
    if not members:
        raise SourceError(f"{key}: there is no file in the archive", remedy="Copy the file again.")
    for member in members:
        _require_readable(member, key)
    return members


def _is_file(member: zipfile.ZipInfo) -> bool:
    """Not a folder, nor what a Mac puts beside each file: `__MACOSX/...`, `._name`, `.DS_Store`."""
    name = member.filename.rsplit("/", 1)[-1]
    # A member without a name is no folder either, and Python's own question for one would not survive it.
    is_folder = member.filename.endswith("/")
    return not is_folder and not member.filename.startswith("__MACOSX/") and not name.startswith(".")


def _require_readable(member: zipfile.ZipInfo, key: str) -> None:
    if member.flag_bits & _ENCRYPTED:
        raise SourceError(f"{key}: {member.filename} in it is encrypted", remedy="Unpack it first.")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise SourceError(
            f"{key}: {member.filename} in it is packed by ZIP method {member.compress_type}, which is unknown",
            remedy="Pack it again with deflate, which is what every tool does by default.",
        )
