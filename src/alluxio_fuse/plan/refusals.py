"""What a plan is refused for: each finding names the variable, its value, the reason and the remedy."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason for a refusal. `invariant` is the name under which `alluxio_force` would accept it, if it can be."""

    path: str
    value: str
    reason: str
    remedy: str
    invariant: str | None = None

    def __str__(self) -> str:
        force = f" (or accept it: alluxio_force: [{self.invariant}])" if self.invariant else ""
        return f"{self.path}: {self.value}\n    why: {self.reason}\n    do:  {self.remedy}{force}"


class Refused(Exception):  # noqa: N818 - the word of the domain
    """No plan: every finding at once."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = merged(findings)
        super().__init__("\n".join(str(found) for found in self.findings))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A remedy for an unknown name."""
    known = sorted(known)
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}"


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once; those that only differ by node (`node: variable`) as one, with its nodes."""
    nodes: dict[Finding, list[str]] = {}
    for found in findings:
        node, separator, variable = found.path.partition(": ")
        bare = replace(found, path=variable) if separator else found
        names = nodes.setdefault(bare, [])
        if separator and node not in names:
            names.append(node)
    ordered = sorted(nodes, key=lambda found: (found.path, found.reason))
    return tuple(
        replace(found, path=f"{_shortened(nodes[found])}: {found.path}") if nodes[found] else found for found in ordered
    )


def _shortened(names: list[str]) -> str:
    return ", ".join(names) if len(names) < 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"
