"""What an output on a page and the output on any machine have in common: the
columns and units of tables, the keys of JSON, the heads of CSV, and the texts
of other lines without their numbers, times and names of instances."""

import csv
import json
import re

from pages import LEFT_OUT

# Tables have these only where a value needs them, or, the names, where they
# differ: what all rows have in common is above a table that is too wide.
OPTIONAL_COLUMNS = {
    "CAUSE", "COUNTER", "COVERED", "ENDED", "GAPS", "INSTANCE", "LATE",
    "LOST TICKS", "MACHINE", "NEWEST SAMPLE", "PRESENCE", "SHARE", "TREND"}
OPTIONAL_KEYS = {
    "breaks", "cause", "coverage", "newest_sample", "partial", "presence",
    "share"}
HEADER = re.compile(r"[A-Z#%][A-Z0-9#%:_./()-]*( +[A-Z0-9#%:_./()-]+)*")
# A head of CSV has no value.
CSV_ROW = re.compile(r'^[^, ]+,"?\\.*,[^ ]*\d|^"\d[^"]*",')
# What follows in a title describes these values: what they cover, how they are
# ranked.
DETAILS = re.compile(r", |; |: | \(")
# A time axis has the date at midnight.
TICK = r"([0-9:.]+|[A-Z][a-z]{2} \d\d)"
CHART = re.compile(f"[┤│└┴⠀-⣿]|^ *{TICK}(  +{TICK})+$")
LEGEND = re.compile(r"^(\S)\1 ")

MASKS = [
    (r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", "TIME"),
    (r"\b\d\d:\d\d(:\d\d)?(Z| UTC)?", "TIME"),
    (r"https://\S+", "ADDRESS"),
    (r"^FLEETPERF [A-Z]+.*", "FLEETPERF STATE"),  # the text depends on it
    (r"\\\\[^\\]+\\", r"\\\\MACHINE\\"),
    (r"\d[\d,.]*(e[+-]?\d+)?", "N"),
    (r"\bN(ns|us|µs|ms|s|m|min|h|d)(N(ns|us|µs|ms|s|m|min|h|d))*(?!\w)", "DURATION"),
    (r"\b[KMGT]iB\b", "B"),
    (r"(\\[^\\(]+)\([^()]*\)\\", r"\1(INSTANCE)\\"),
]


def unit_of(text):
    """A unit without the prefix that depends on the value."""
    text = re.sub(r"^[KMGT]i(?=B)", "", text)
    return re.sub(r"^([kMGT](?=bit|Hz)|[nuµm](?=s$))", "", text)


def columns_of(header):
    """The names of the columns of a table, and where each of them starts."""
    return [(match[0], match.start())
            for match in re.finditer(r"\S+( \S+)*", header)]


def is_header(line):
    # The last line of a title may be one word in capitals.
    return "  " in line and HEADER.fullmatch(line) is not None


def table_shape(header, rows):
    columns = columns_of(header)
    units = set()
    for name, start in columns:
        if name == "UNIT":
            units = {unit_of(row[start:].split(" ")[0]) for row in rows
                     if row[start:start + 1].strip()}
    return ("table", tuple(name for name, _ in columns
                           if name not in OPTIONAL_COLUMNS),
            frozenset(units))


def tables_of(text):
    """The header and the rows of each table of a text."""
    tables = []
    for line in text.split("\n"):
        if is_header(line):
            tables.append((line, []))
        elif not line.strip():
            tables.append((None, []))
        elif tables and tables[-1][0] is not None and line != LEFT_OUT:
            tables[-1][1].append(line)
    return [(header, rows) for header, rows in tables if header is not None]


def line_shape(line):
    if line.startswith("{"):
        return ("json", frozenset(json.loads(line)) - OPTIONAL_KEYS)
    if CHART.search(line):
        return ("chart",)
    if LEGEND.search(line):
        return ("legend",)
    if CSV_ROW.search(line):
        return ("csv", len(next(csv.reader([line]))))
    if not line.startswith('"'):
        line = DETAILS.split(line.strip())[0]
    for pattern, replacement in MASKS:
        line = re.sub(pattern, replacement, line)
    return ("line", line)


def shape_of(text):
    """The shapes of the tables and lines of a text, each of them once."""
    shapes = []
    table = None  # the index in `tables` of the table that the line belongs to
    tables = tables_of(text)
    seen = 0
    for line in text.split("\n"):
        if is_header(line):
            shapes.append(table_shape(*tables[seen]))
            table = seen
            seen += 1
        elif not line.strip():
            table = None
        elif table is None and line != LEFT_OUT and not line.startswith("\\"):
            shapes.append(line_shape(line))
    return list(dict.fromkeys(shapes))


def agree(on_page, actual, has_left_out):
    """Whether the shapes of a page's output and of another one agree. Lines that
    the page leaves out may have further units."""
    if not has_left_out:
        return on_page == actual
    return len(on_page) == len(actual) and all(
        ours[:2] == theirs[:2] and (len(ours) < 3 or ours[2] <= theirs[2])
        for ours, theirs in zip(on_page, actual))


def has_data(text):
    """Whether an output has numbers, and each table a row."""
    return (re.search(r"\d", text) is not None
            and all(rows for _, rows in tables_of(text)))
