"""Whether the JVM flags of a plan start a real JVM: python -m alluxio_fuse.plan.flags PLAN.json [JAVA]."""

import json
import subprocess
import sys
from pathlib import Path

from alluxio_fuse.plan.document import Plan


def flag_sets(plan: Plan) -> dict[tuple[str, ...], list[str]]:
    """{flags: [host.service]} of a plan, each set of flags once."""
    sets: dict[tuple[str, ...], list[str]] = {}
    for host, services in plan.nodes.items():
        for name, service in services.items():
            if "jvm_flags" in service:
                sets.setdefault(tuple(service["jvm_flags"].amount), []).append(f"{host}.{name}")
    return sets


def refusal(flags: tuple[str, ...], java: str = "java") -> str | None:
    """What a JVM says against these flags; None if it starts."""
    answer = subprocess.run([java, *flags, "-version"], capture_output=True, text=True, check=False)
    return None if answer.returncode == 0 else (answer.stdout + answer.stderr).strip()


def main() -> int:
    """Start a JVM with each set of flags; 1 if one does not start."""
    plan = Plan.load(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    failed = 0
    for flags, services in flag_sets(plan).items():
        said = refusal(flags, *sys.argv[2:3])
        print(f"{'FAILED' if said else 'starts'}  {services[0]}  {' '.join(flags)}" + (f"\n{said}" if said else ""))
        failed += said is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
