"""Names and links in a source: which ones check and warm leave out, and which ones Alluxio 2.9.6 cannot serve."""

from __future__ import annotations

CHARACTER = "`?` or `\\` in the name"
BEYOND_BMP = "a character beyond U+FFFF in the name, such as an emoji"
NOT_UTF8 = "not UTF-8"
BROKEN_LINK = "a link to nothing"
LINK_OUT = "a link that leads out of the source"
ENDLESS_LINK = "a link to a folder that holds it"
HIDDEN = "hidden"
CONTROL = "name has a control character"


def hidden_name(name: str) -> bool:
    """Whether a file of this name is left out as hidden."""
    return name.startswith(".")


def hidden_path(path: str) -> bool:
    """Whether a path has a hidden part."""
    return any(hidden_name(part) for part in path.split("/"))


def has_control_character(name: str) -> bool:
    """Whether a name has a character that would break lines and terminals."""
    return any(ord(char) < 32 for char in name)


def left_out(path: str) -> str | None:
    """Why check and warm do not read a path that the mount may serve."""
    if hidden_path(path):
        return HIDDEN
    return CONTROL if has_control_character(path) else None


def unreadable_name(name: str) -> str | None:
    """Why Alluxio 2.9.6 cannot serve a file of this name: measured by tests/upkeep/test_names.py."""
    if "?" in name or "\\" in name:
        return CHARACTER
    try:
        name.encode()
    except UnicodeEncodeError:
        return NOT_UTF8
    return BEYOND_BMP if any(ord(char) > 0xFFFF for char in name) else None
