#!/usr/bin/env python3
"""Writes formulas.jsonl: raw samples and their calculated values.

Independent of fleetperf's code: the formulas are those of Microsoft's
"Calculating Counter Values" and docs/reference/counters.md, in exact rationals, rounded
once at the end. Each line is an input of `fleetperf calc` with a member
"expected", which calc ignores.

  tests/golden/formulas.py > tests/golden/formulas.jsonl
"""

import json
import random
from fractions import Fraction

# name: (value, formula, meaning of "time")
TYPES = {
    "PERF_COUNTER_RAWCOUNT_HEX": (0x00000000, "raw", None),
    "PERF_COUNTER_LARGE_RAWCOUNT_HEX": (0x00000100, "raw", None),
    "PERF_COUNTER_TEXT": (0x00000B00, "not_displayable", None),
    "PERF_COUNTER_RAWCOUNT": (0x00010000, "raw", None),
    "PERF_COUNTER_LARGE_RAWCOUNT": (0x00010100, "raw", None),
    "PERF_COUNTER_DELTA": (0x00400400, "delta", None),
    "PERF_COUNTER_LARGE_DELTA": (0x00400500, "delta", None),
    "PERF_SAMPLE_COUNTER": (0x00410400, "rate", "clock"),
    "PERF_COUNTER_QUEUELEN_TYPE": (0x00450400, "quotient", "clock"),
    "PERF_COUNTER_LARGE_QUEUELEN_TYPE": (0x00450500, "quotient", "clock"),
    "PERF_COUNTER_100NS_QUEUELEN_TYPE": (0x00550500, "quotient", "clock"),
    "PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE": (0x00650500, "quotient", "counter"),
    "PERF_COUNTER_COUNTER": (0x10410400, "rate", "clock"),
    "PERF_COUNTER_BULK_COUNT": (0x10410500, "rate", "clock"),
    "PERF_RAW_FRACTION": (0x20020400, "fraction", "counter"),
    "PERF_LARGE_RAW_FRACTION": (0x20020500, "fraction", "counter"),
    "PERF_COUNTER_TIMER": (0x20410500, "percentage", "clock"),
    "PERF_PRECISION_SYSTEM_TIMER": (0x20470500, "percentage", "counter"),
    "PERF_100NSEC_TIMER": (0x20510500, "percentage", "clock"),
    "PERF_PRECISION_100NS_TIMER": (0x20570500, "percentage", "counter"),
    "PERF_OBJ_TIME_TIMER": (0x20610500, "percentage", "counter"),
    "PERF_PRECISION_OBJECT_TIMER": (0x20670500, "percentage", "counter"),
    "PERF_SAMPLE_FRACTION": (0x20C20400, "percentage", "counter"),
    "PERF_COUNTER_TIMER_INV": (0x21410500, "inverse", "clock"),
    "PERF_100NSEC_TIMER_INV": (0x21510500, "inverse", "clock"),
    "PERF_COUNTER_MULTI_TIMER": (0x22410500, "multi", "clock"),
    "PERF_100NSEC_MULTI_TIMER": (0x22510500, "multi_100ns", "clock"),
    "PERF_COUNTER_MULTI_TIMER_INV": (0x23410500, "multi_inverse", "clock"),
    "PERF_100NSEC_MULTI_TIMER_INV": (0x23510500, "multi_inverse", "clock"),
    "PERF_AVERAGE_TIMER": (0x30020400, "average_timer", "counter"),
    "PERF_ELAPSED_TIME": (0x30240500, "elapsed", "counter"),
    "PERF_COUNTER_NODATA": (0x40000200, "not_displayable", None),
    "PERF_AVERAGE_BULK": (0x40020500, "quotient", "counter"),
    "PERF_SAMPLE_BASE": (0x40030401, "not_displayable", None),
    "PERF_AVERAGE_BASE": (0x40030402, "not_displayable", None),
    "PERF_RAW_BASE": (0x40030403, "not_displayable", None),
    "PERF_LARGE_RAW_BASE": (0x40030500, "not_displayable", None),
    "PERF_PRECISION_TIMESTAMP": (0x40030500, "not_displayable", None),
    "PERF_COUNTER_MULTI_BASE": (0x42030500, "not_displayable", None),
    "PERF_COUNTER_HISTOGRAM_TYPE": (0x80000000, "not_displayable", None),
}
ONE_SAMPLE = ("raw", "fraction", "elapsed")
WITH_FREQ = ("rate", "multi", "average_timer", "elapsed")
WITH_MULTI = ("multi", "multi_100ns", "multi_inverse")


def growth(older, newer, wraps):
    """None if it fell."""
    if newer >= older:
        return newer - older
    wrapped = (newer - older) % 2**32
    return wrapped if wraps and wrapped < 2**31 else None


def one_sample(formula, raw):
    if formula == "raw":
        return Fraction(raw["data"])
    time = raw["time"]
    if formula == "fraction":
        return Fraction(100 * raw["data"], time) if time else "zero_denominator"
    freq = raw["freq"]
    if freq <= 0:
        return "bad_frequency"
    if time < raw["data"]:
        return "negative_value"
    return Fraction(time - raw["data"], freq)


def two_samples(formula, kind, line):
    older, newer = line["raw0"], line["raw1"]
    n = growth(older["data"], newer["data"], False)
    if n is None:
        return "negative_value"
    if formula == "delta":
        return Fraction(n)
    base_wraps = kind == "counter" and line.get("base_size") == 4
    d = growth(older["time"], newer["time"], base_wraps)
    if d is None:
        return "negative_denominator"
    freq, multi = newer.get("freq"), newer.get("multi")
    if formula in WITH_FREQ and freq <= 0:
        return "bad_frequency"
    if d == 0:
        return "zero_denominator"
    if formula in WITH_MULTI and multi == 0:
        return "zero_multi"
    return {
        "rate": lambda: Fraction(n * freq, d),
        "quotient": lambda: Fraction(n, d),
        "percentage": lambda: Fraction(100 * n, d),
        "inverse": lambda: 100 * (1 - Fraction(n, d)),
        "multi": lambda: Fraction(100 * n * freq, d * multi),
        "multi_100ns": lambda: Fraction(100 * n, d * multi),
        "multi_inverse": lambda: 100 * (multi - Fraction(n, d)),
        "average_timer": lambda: Fraction(n, freq) / d,
    }[formula]()


def expected(line):
    known = {value: name for name, (value, _, _) in TYPES.items()}
    name = line["type"]
    name = known.get(name, name) if isinstance(name, int) else name
    if name not in TYPES:
        return {"status": "unknown_type"}
    _, formula, kind = TYPES[name]
    if formula == "not_displayable":
        return {"status": "not_displayable"}
    if line["raw0"] is not None and line.get("type0", line["type"]) != line["type"]:
        return {"status": "type_mismatch"}
    if formula in ONE_SAMPLE:
        result = one_sample(formula, line["raw1"])
    elif line["raw0"] is None:
        result = "need_two_samples"
    else:
        result = two_samples(formula, kind, line)
    if isinstance(result, str):
        return {"status": result}
    return {"status": "ok", "value": float(result)}


EDGES = [0, 1, 2, 2**31, 2**32 - 1, 2**53 - 1, 2**53 + 1, 2**63 - 1, 2**63,
         2**64 - 2, 2**64 - 1]


def number(rng):
    if rng.random() < 0.4:
        return rng.choice(EDGES)
    return rng.getrandbits(rng.choice([8, 20, 32, 45, 64]))


def pair(rng):
    """An older and a newer number, mostly in order."""
    a, b = number(rng), number(rng)
    if rng.random() < 0.85:
        a, b = min(a, b), max(a, b)
    if rng.random() < 0.1:
        b = a
    return a, b


def used(name):
    """The members of the newer sample without which there is no answer."""
    _, formula, kind = TYPES[name]
    return ({"time"} if kind else set()) | (
        {"freq"} if formula in WITH_FREQ else set()) | (
        {"multi"} if formula in WITH_MULTI else set())


def only(members, raw):
    return {k: v for k, v in raw.items() if k == "data" or k in members}


def cases(name, rng):
    value, formula, _ = TYPES[name]
    base = {"type": name, "data_size": 8}
    sample = {"data": 100, "time": 1000, "freq": 10**7, "multi": 2}
    later = {"data": 175, "time": 1300, "freq": 10**7, "multi": 2}
    yield base | {"raw0": sample, "raw1": later}
    yield base | {"type": value, "raw0": sample, "raw1": later}
    yield base | {"raw0": None, "raw1": later}
    yield base | {"raw0": later, "raw1": sample}  # swapped
    yield base | {"raw0": sample, "raw1": later, "type0": "PERF_COUNTER_LARGE_DELTA"}
    # A type requires only the members that it uses.
    of_older = used(name) & {"time"} if formula not in ONE_SAMPLE else set()
    yield base | {"raw0": only(of_older, sample), "raw1": only(used(name), later)}
    yield base | {"raw0": None, "raw1": only(used(name), later)}
    if formula not in ONE_SAMPLE:
        yield base | {"raw0": None, "raw1": only(set(), later)}
    yield base | {"raw0": only(set(), sample), "raw1": only(used(name), later),
                  "type0": "PERF_COUNTER_LARGE_DELTA"}
    for changed in ({"time": 1000}, {"data": 100}, {"freq": 0}, {"freq": -1},
                    {"multi": 0}, {"time": 999}, {"data": 99}):
        yield base | {"raw0": sample, "raw1": later | changed}
    # The largest value of 4 bytes. 4-byte data wraps only on request.
    for old, new in ((5, 2**32 - 1), (2**32 - 1, 5)):
        yield base | {"data_size": 4, "raw0": sample | {"data": old},
                      "raw1": later | {"data": new}}
    # A 4-byte base wraps if it advances by less than half of its range.
    for old, new in ((2**32 - 100, 200), (2**31 + 1, 0), (2**31, 0), (5, 4)):
        yield base | {"base_size": 4, "raw0": sample | {"time": old},
                      "raw1": later | {"time": new}}
    for _ in range(12):
        data, time = pair(rng), pair(rng)
        freq = rng.choice([1, 3_579_545, 10**7, 2**63, 2**64 - 1])
        multi = rng.choice([1, 3, 64, 2**32 - 1])
        yield base | {
            "raw0": {"data": data[0], "time": time[0], "freq": freq, "multi": multi},
            "raw1": {"data": data[1], "time": time[1], "freq": freq, "multi": multi},
        }


def main():
    rng = random.Random(20261121)
    lines = [line for name in TYPES for line in cases(name, rng)]
    for name in ("PERF_DOUBLE_RAW", 0x00012000, 0x12345678, 2**32):
        lines.append({"type": name, "data_size": 8, "raw0": None,
                      "raw1": {"data": 1, "time": 2}})
    for line in lines:
        print(json.dumps(line | {"expected": expected(line)}))


if __name__ == "__main__":
    main()
