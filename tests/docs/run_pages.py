#!/usr/bin/env python3
"""Runs the commands of the documentation on a machine with a quick start, as
they are printed, and compares their output with the pages'.

  run_pages.py BUILD [--age SECONDS] [--update] [PAGE...]

BUILD is the directory of a build: build/release. Fails if a command fails or
prints no row, or if columns, units or texts differ from the page; and if a page
has no value that /proc confirms, or more blocks that cannot run here than it may
have. pages.py explains how pages mark their blocks. PAGE is a path below the
source tree; by default, all pages are run.

--update writes the outputs into the pages instead of comparing them.
--age SECONDS waits until the machine has samples that are this old, and as long
after a command in the background, as a reader would.
"""

import argparse
import contextlib
import pathlib
import re
import sys
import tempfile
import time

import pages
import quickstart
import readings
import shape
import terminal

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# The pages, in this order, and how many of their blocks cannot run here.
# tests/packages/two_machines runs those of operating.md.
PAGES = {
    "README.md": 1,
    "docs/tasks/quickstart.md": 0,
    "docs/tasks/queries.md": 0,
    "docs/tasks/charts.md": 0,
    "docs/tasks/operating.md": 30,
    "docs/tasks/api.md": 1,
    "docs/tasks/first-hour.md": 0,
}
# first-hour.md asks for the time from two minutes ago until one minute ago.
AGE = {"docs/tasks/first-hour.md": 70}
PATIENCE = 60
# Readers' machines have other names than those of the pages.
NAME_ON_PAGES = "web-1"
OTHER_NAME = "box"
# The exit statuses of `fleetperf check` for values in any state.
CHECK_STATUSES = range(3)


class Runner:
    def __init__(self, machine, proc, options):
        self.machine = machine
        self.proc = proc
        self.update = options.update
        self.age = options.age
        self.errors = []

    def fail(self, page, block, error):
        self.errors.append(f"{page.path.relative_to(SOURCE)}:{block.line}: {error}")

    def run(self, path):
        page = pages.Page(SOURCE / path)
        elsewhere = [b for b in page.blocks if b.language == "sh elsewhere"]
        if len(elsewhere) != PAGES[path]:
            self.fail(page, page.blocks[0], f"{len(elsewhere)} blocks are marked \"sh elsewhere\", "
                      f"and {PAGES[path]} are expected")
        confirmed = 0
        with contextlib.closing(terminal.Terminal(
                self.machine.directory, self.machine.environment)) as shell:
            # quickstart.md does this itself.
            if path != "docs/tasks/quickstart.md":
                shell.run(". .quickstart/env")
            for block in page.blocks:
                if block.language == "python":
                    self.write_program(block)
                elif block.language == "sh":
                    confirmed += self.run_block(page, block, shell)
        if confirmed == 0:
            self.fail(page, page.blocks[0], "no value of the page can be compared with /proc: "
                      f"show one of {', '.join(readings.SOURCES)}")
        if self.update:
            page.save()

    def write_program(self, block):
        file = self.machine.directory / block.text[0].removeprefix("# ")
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(block.text) + "\n")

    def run_block(self, page, block, shell):
        """Returns the number of values that /proc confirms."""
        results = [shell.run(command) for command in pages.commands_of(block)]
        if results and results[-1].command.endswith("&"):
            time.sleep(self.age)
        outputs = []
        confirmed = 0
        for result in results:
            output = "\n".join(line.rstrip() for line in result.output.split("\n")).strip("\n")
            if terminal.ENDLESS.search(result.command):
                output = output_of_live_table(output)
            outputs.append(output)
            for error in self.errors_of(result, output):
                self.fail(page, block, f"{error}: {result.command}\n{beginning_of(output)}")
            found, errors = self.proc.check(output)
            confirmed += found
            for error in errors:
                self.fail(page, block, f"{error}: {result.command}\n{beginning_of(output)}")
        text = joined(outputs)
        expected = page.output_of(block)
        if expected is not None and self.update:
            page.replace(expected, text.split("\n"))
        elif expected is not None:
            self.compare(page, expected, text)
        return confirmed

    def errors_of(self, result, output):
        is_check = result.command.startswith("fleetperf check ")
        if result.status != 0 and not (is_check and result.status in CHECK_STATUSES):
            yield f"exit status {result.status}"
        target = re.search(r"(?:> ?|--output )(\S+\.(?:csv|svg|png))$", result.command)
        if target:
            file = self.machine.directory / target[1]
            if not file.exists() or file.read_bytes().count(b"\n") < 2:
                yield f"{target[1]} has no data"
        elif result.command.startswith("fleetperf ") and not shape.has_data(output):
            yield "no data"

    def compare(self, page, block, text):
        expected = shape.shape_of("\n".join(block.text))
        actual = shape.shape_of(text)
        if shape.agree(expected, actual, pages.LEFT_OUT in block.text):
            return
        missing = [s for s in expected if s not in actual]
        added = [s for s in actual if s not in expected]
        self.fail(page, block, "the output differs from the page, which\n"
                  f"  has alone: {missing}\n  lacks: {added}\nThe output is\n{beginning_of(text)}")


def beginning_of(text):
    return "\n".join(text.split("\n")[:terminal.ROWS])


def joined(outputs):
    """The outputs of several commands, with an empty line at those of several
    lines."""
    outputs = [output for output in outputs if output]
    is_short = all("\n" not in output for output in outputs)
    return ("\n" if is_short else "\n\n").join(outputs)


def output_of_live_table(text):
    """The last complete table of a table that is printed again and again."""
    headers = [match.start() for match in terminal.HEADER.finditer(text)]
    if len(headers) < 2:
        return text
    lines = text[:headers[-1]].split("\n")
    before = text[:headers[-2]].count("\n")
    # The title of the last table is above its header.
    return "\n".join(lines[before:-2]).strip("\n")


def wait_for_age(machine, seconds):
    """Waits until the machine has samples that are this old."""
    if seconds == 0:
        return
    deadline = time.monotonic() + seconds + PATIENCE
    while not machine.fleetperf(
            "query", r"\System\Processes", "--from", f"-{seconds}s",
            "--to", f"-{seconds - 2}s"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no samples that are {seconds} s old")
        time.sleep(1)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--age", type=int, default=0)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("page", nargs="*")
    options = parser.parse_intermixed_args()
    paths = options.page or list(PAGES)
    for path in paths:
        if path not in PAGES:
            parser.error(f"{path} is none of {', '.join(PAGES)}")
    with tempfile.TemporaryDirectory(prefix="fleetperf-pages-") as directory:
        machine = quickstart.Quickstart(
            SOURCE, options.build.resolve(), directory,
            NAME_ON_PAGES if options.update else OTHER_NAME)
        proc = readings.Readings()
        runner = Runner(machine, proc, options)
        try:
            machine.start()
            for path in paths:
                wait_for_age(machine, max(options.age, AGE.get(path, 0)))
                started = time.monotonic()
                runner.run(path)
                print(f"{path}: {time.monotonic() - started:.1f} s")
        finally:
            machine.stop()
            proc.stop()
            for error in runner.errors:
                print(error, file=sys.stderr)
    sys.exit(1 if runner.errors else 0)


if __name__ == "__main__":
    main()
