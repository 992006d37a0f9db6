"""Which file paths may stand in SQL. They are quoted there too; this is the second lock on the door."""

import re
import unicodedata

# Characters that end or comment out a literal, escape, or expand as a glob.
_FORBIDDEN = {
    "'": "a quote",
    '"': "a quote",
    "`": "a quote",
    ";": "a semicolon",
    "\\": "a backslash",
    "\x00": "a zero byte",
}
_COMMENTS = ("--", "/*", "*/")
_ALLOWED = re.compile(r"[\w./=: %+@,()~#\-\[\]{}!&$^|<>?*]", re.UNICODE)


class PathValidator:
    """Validates and escapes file paths for SQL."""

    @staticmethod
    def validate_path_for_sql(path: str) -> None:
        """Raises ValueError for a path that could break out of a literal, climb out of its folder, or deceive a reader.

        What real paths contain is allowed: letters and digits of any script, spaces, `._-/=:%+@,()~#`.

        >>> PathValidator.validate_path_for_sql("/lake/größe=1/part 01.parquet")
        """
        if not path:
            raise ValueError("an empty path cannot be used in SQL")
        for letter, name in _FORBIDDEN.items():
            if letter in path:
                raise ValueError(f"{path!r} contains {name} and cannot be used in SQL")
        for mark in _COMMENTS:
            if mark in path:
                raise ValueError(f"{path!r} contains the SQL comment {mark} and cannot be used in SQL")
        if ".." in re.split(r"[/\\]", path):
            raise ValueError(f"{path!r} contains .., which climbs out of its folder")
        for letter in path:
            if _suspicious(letter):
                raise ValueError(f"{path!r} contains the suspicious character U+{ord(letter):04X}")
        if wrong := next((letter for letter in path if not _fits(letter)), None):
            raise ValueError(f"{path!r} contains {wrong!r}, which cannot be used in SQL")

    @staticmethod
    def escape_for_sql(path: str) -> str:
        """The path for the inside of a single-quoted SQL literal, validated first.

        >>> PathValidator.escape_for_sql("/lake/year=2026/part.parquet")
        '/lake/year=2026/part.parquet'
        """
        PathValidator.validate_path_for_sql(path)
        return path.replace("'", "''")


def _suspicious(letter: str) -> bool:
    """Control, bidirectional and zero-width characters, and code points that stand for nothing."""
    return unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp")


def _fits(letter: str) -> bool:
    # Marks (category M) are part of letters in many scripts, though \w does not count them.
    return _ALLOWED.fullmatch(letter) is not None or unicodedata.category(letter)[0] in "LMN"
