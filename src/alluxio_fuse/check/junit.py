"""The check as JUnit XML: a test case for each finding, and one for the verdict on all of them."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from alluxio_fuse.check.gate import Finding
from alluxio_fuse.check.verdict import Check


def render(check: Check) -> str:
    """FAIL is a failure, CANNOT TELL an error."""
    suites = ET.Element("testsuites", name="alluxio-fuse check")
    for dataset in check.datasets:
        _suite(suites, f"{dataset.name} on {dataset.host}", check.made, dataset.findings)
    for one in check.fleet:
        if one.findings:
            _suite(suites, f"{one.name} on all nodes", check.made, one.findings)
    said = "; ".join(check.reasons)
    whole = ET.SubElement(suites, "testsuite", name="verdict", timestamp=check.made, tests="1")
    case = ET.SubElement(whole, "testcase", classname="verdict", name=check.verdict)
    if check.verdict != "PASS":
        kind = "failure" if check.verdict == "FAIL" else "error"
        ET.SubElement(case, kind, message=said, type=check.verdict)
        whole.set(f"{kind}s", "1")
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True)


def _suite(suites: ET.Element, name: str, made: str, findings: Sequence[Finding]) -> None:
    suite = ET.SubElement(suites, "testsuite", name=name, timestamp=made, tests=str(len(findings)))
    for finding in findings:
        case = ET.SubElement(suite, "testcase", classname=name.partition(" on ")[0], name=finding.reason)
        if finding.outcome != "PASS":
            kind = "failure" if finding.outcome == "FAIL" else "error"
            ET.SubElement(case, kind, message=finding.reason, type=finding.outcome)
    for outcome, attribute in (("FAIL", "failures"), ("CANNOT TELL", "errors")):
        suite.set(attribute, str(sum(finding.outcome == outcome for finding in findings)))
