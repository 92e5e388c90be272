"""Compares values on pages with what /proc has said meanwhile."""

import json
import os
import re
import threading

from shape import columns_of, tables_of

PERIOD = 0.1  # seconds
# Values are rounded to four digits, and an agent reads between two readings.
TOLERANCE = 0.02
# Many may start and end between two readings.
FEWEST_PROCESSES = 10
FACTORS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def available_bytes():
    with open("/proc/meminfo") as file:
        return int(re.search(r"MemAvailable: +(\d+)", file.read())[1]) * 1024


def processes():
    return sum(name.isdigit() for name in os.listdir("/proc"))


def uptime():
    with open("/proc/uptime") as file:
        return float(file.read().split()[0])


SOURCES = {
    r"\Memory\Available Bytes": available_bytes,
    r"\System\Processes": processes,
    r"\System\System Up Time": uptime,
}


class Readings:
    """The smallest and the largest value of each source since the start."""

    def __init__(self):
        self.bounds = {}
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._read_once()
        self._thread.start()

    def stop(self):
        self._is_stopped.set()
        self._thread.join()

    def _read(self):
        while not self._is_stopped.wait(PERIOD):
            self._read_once()

    def _read_once(self):
        for path, read in SOURCES.items():
            value = read()
            low, high = self.bounds.get(path, (value, value))
            self.bounds[path] = (min(low, value), max(high, value))

    def check(self, text):
        """Checks the values of an output. Returns their number, and a sentence
        for each wrong one."""
        found = 0
        errors = []
        for path, value, unit in values_of(text):
            if path not in SOURCES:
                continue
            found += 1
            number = float(value.replace(",", "")) * FACTORS.get(unit, 1)
            low, high = self.bounds[path]
            tolerance = high * TOLERANCE
            if SOURCES[path] == processes:
                tolerance = max(tolerance, FEWEST_PROCESSES)
            if not low - tolerance <= number <= high + tolerance:
                errors.append(f"{path} is {value} {unit}, but /proc said "
                              f"{low:,} to {high:,}")
        return found, errors


def values_of(text):
    """The paths, values and units in an output: of the rows of tables, of JSON,
    and of the performance data of checks."""
    for header, rows in tables_of(text):
        columns = columns_of(header)
        starts = dict(columns)
        ends = {name: start + len(name) for name, start in columns}
        value = "VALUE" if "VALUE" in starts else "LAST"
        if not {"COUNTER", "UNIT", value} <= starts.keys():
            continue
        for row in rows:
            path = row[starts["COUNTER"]:].split("  ")[0]
            # Numbers are aligned on the right.
            number = row[:ends[value]].split(" ")[-1]
            if re.fullmatch(r"[\d,.]+", number):
                yield path, number, row[starts["UNIT"]:].split("  ")[0]
    for line in text.split("\n"):
        fields = json.loads(line) if line.startswith("{") else {}
        if {"path", "value"} <= fields.keys():
            yield fields["path"], str(fields["value"]), ""
    for path, number in re.findall(r"'\\\\[^\\']+(\\[^']+)'=([\d.]+)", text):
        yield path, number, ""
