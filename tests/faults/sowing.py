"""Sow each seed alone, run the tests that are to find it, and make the table.

    python -m tests.faults.sowing --write docs/faults.md

Prints what found each; the exit code is 1 when one was not found. First the tests are
run as they are: they must pass, or they would find everything.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click

from tests.faults.seeds import SEEDS

ROOT = Path(__file__).parents[2]
SOWN = Path(__file__).parent / "sown"
LONGEST = 1_200.0  # seconds; what hangs under a seed was found, too
BEGIN, END = "<!-- seeds -->", "<!-- end of seeds -->"
FOUND = re.compile(r"^(?:FAILED|ERROR) \S*?(\w+\.py)::(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Finding:
    """What found a seed, None when nothing did, and after how many seconds."""

    test: str | None
    seconds: float


def search(name: str) -> Finding:
    """Run the tests that are to find the seed *name*, up to the first that does."""
    paths = [str(SOWN), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {"BATCHFX_TEST_SEED": name, "PYTHONPATH": os.pathsep.join(paths)}
    return run(SEEDS[name].tests, environment)


def run(tests: tuple[str, ...], environment: dict[str, str]) -> Finding:
    """Run *tests* up to the first that fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    began = time.monotonic()
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=ROOT,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Finding("(it hangs)", time.monotonic() - began)
    seconds = time.monotonic() - began
    if done.returncode == 0:
        return Finding(None, seconds)
    found = FOUND.search(done.stdout)
    assert done.returncode == 1, done.stdout + done.stderr
    assert found is not None, done.stdout
    return Finding(found[2], seconds)


def table(findings: dict[str, Finding]) -> str:
    """Return what was found as a table of Markdown."""
    lines = ["| Fault | Found by | Seconds |", "| --- | --- | ---: |"]
    for name, finding in findings.items():
        what = finding.test
        by = "**not found**" if what is None else what.replace("_", " ")
        by = by.removeprefix("test ")
        lines.append(f"| {SEEDS[name].what} | {by} | {finding.seconds:.0f} |")
    return "\n".join(lines)


def write(path: Path, text: str) -> None:
    """Put the table into a page, between its marks."""
    page = path.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


@click.command()
@click.option("--seed", "names", multiple=True, default=list(SEEDS))
@click.option("--write", "page", type=click.Path(path_type=Path))
@click.option("--check/--no-check", default=True, help="That they pass without seeds.")
def main(*, names: tuple[str, ...], page: Path | None, check: bool) -> None:
    """Sow, look, and tell."""
    for tests in dict.fromkeys(SEEDS[name].tests for name in names) if check else ():
        assert run(tests, {}).test is None, tests
    findings: dict[str, Finding] = {}
    for name in names:
        findings[name] = search(name)
        print(f"{name}: {findings[name]}", flush=True)
    if page is not None:
        write(page, table(findings))
    sys.exit(any(finding.test is None for finding in findings.values()))


if __name__ == "__main__":
    main()
