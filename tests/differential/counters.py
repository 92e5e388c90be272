"""The counter types and their formulas, from docs/reference/counters.md."""

from fractions import Fraction

# name: (value, formula, reference, needed counters). The reference is what N is
# measured against.
TYPES = {
    "RAWCOUNT_HEX": (0x00000000, "raw", None),
    "LARGE_RAWCOUNT_HEX": (0x00000100, "raw", None),
    "RAWCOUNT": (0x00010000, "raw", None),
    "LARGE_RAWCOUNT": (0x00010100, "raw", None),
    "DELTA": (0x00400400, "delta", None),
    "LARGE_DELTA": (0x00400500, "delta", None),
    "SAMPLE_COUNTER": (0x00410400, "rate", "stamp"),
    "QUEUELEN_TYPE": (0x00450400, "quotient", "stamp"),
    "LARGE_QUEUELEN_TYPE": (0x00450500, "quotient", "stamp"),
    "100NS_QUEUELEN_TYPE": (0x00550500, "quotient", "time"),
    "OBJ_TIME_QUEUELEN_TYPE": (0x00650500, "quotient", "object"),
    "COUNTER_COUNTER": (0x10410400, "rate", "stamp"),
    "BULK_COUNT": (0x10410500, "rate", "stamp"),
    "RAW_FRACTION": (0x20020400, "fraction", "raw_base"),
    "LARGE_RAW_FRACTION": (0x20020500, "fraction", "large_raw_base"),
    "COUNTER_TIMER": (0x20410500, "percentage", "stamp"),
    "PRECISION_SYSTEM_TIMER": (0x20470500, "percentage", "timestamp_base"),
    "100NSEC_TIMER": (0x20510500, "percentage", "time"),
    "PRECISION_100NS_TIMER": (0x20570500, "percentage", "timestamp_base"),
    "OBJ_TIME_TIMER": (0x20610500, "percentage", "object"),
    "PRECISION_OBJECT_TIMER": (0x20670500, "percentage", "object"),
    "SAMPLE_FRACTION": (0x20C20400, "percentage", "sample_base"),
    "COUNTER_TIMER_INV": (0x21410500, "inverse", "stamp"),
    "100NSEC_TIMER_INV": (0x21510500, "inverse", "time"),
    "COUNTER_MULTI_TIMER": (0x22410500, "multi", "stamp"),
    "100NSEC_MULTI_TIMER": (0x22510500, "multi_100ns", "time"),
    "COUNTER_MULTI_TIMER_INV": (0x23410500, "multi_inverse", "stamp"),
    "100NSEC_MULTI_TIMER_INV": (0x23510500, "multi_inverse", "time"),
    "AVERAGE_TIMER": (0x30020400, "average_timer", "average_base"),
    "ELAPSED_TIME": (0x30240500, "elapsed", "object"),
    "AVERAGE_BULK": (0x40020500, "quotient", "average_base"),
}

# Counters that only serve others: type, size, and how they behave.
LINKED = {
    "raw_base": (0x40030403, 4, "gauge"),
    "large_raw_base": (0x40030500, 8, "gauge"),
    "timestamp_base": (0x40030500, 8, "grows"),
    "sample_base": (0x40030401, 4, "grows"),
    "average_base": (0x40030402, 4, "grows"),
    "object": (0x00010100, 8, "clock"),
    "object_freq": (0x00010100, 8, "frequency"),
    "multi": (0x00010000, 4, "components"),
}

ONE_SAMPLE = ("raw", "fraction", "elapsed")
NEEDS_MULTI = ("multi", "multi_100ns", "multi_inverse")
WITH_FREQ = ("rate", "multi", "average_timer")
BASES = ("raw_base", "large_raw_base", "timestamp_base", "sample_base",
         "average_base")
PERCENT = ("fraction", "percentage", "inverse", "multi", "multi_100ns",
           "multi_inverse")


class Counter:
    """A counter of a counterset."""

    def __init__(self, number, type_name, size, wraps):
        self.id = number
        self.type_name = type_name
        self.name = "Counter " + type_name
        self.type, self.formula, self.reference = TYPES[type_name]
        self.size = size
        self.wraps = wraps

    @property
    def one_sample(self):
        return self.formula in ONE_SAMPLE

    @property
    def linked(self):
        """The counters that the formula needs."""
        names = [self.reference] if self.reference in LINKED else []
        if self.formula == "elapsed":
            names.append("object_freq")
        if self.reference == "object":
            names.append("object_freq")
        if self.formula in NEEDS_MULTI:
            names.append("multi")
        return sorted(set(names))

    @property
    def is_ratio(self):
        return self.reference in BASES

    @property
    def unit(self):
        """By the type's suffix. Values of one unit can be added."""
        if self.type_name == "SAMPLE_COUNTER":
            return ""
        if self.formula in PERCENT:
            return "%"
        return {"rate": "1/s", "elapsed": "s", "average_timer": "s"}.get(
            self.formula, "")

    @property
    def default_function(self):
        return "avg" if self.unit in ("%", "s") or self.is_ratio else "sum"

    @property
    def adds_up_counters(self):
        """Whether the sum of values is the value of the sums of counters."""
        return self.formula in ("raw", "elapsed")

    @property
    def counts_ticks(self):
        """Whether N is in ticks of PerfTimeStamp."""
        return self.formula == "average_timer" or (
            self.reference == "stamp" and
            self.formula in ("percentage", "inverse", "multi_inverse",
                             "quotient"))

    def value(self, n, d, freq, multi):
        """The formula: a fraction or a status. Checks are in the documented
        order; n and d have not fallen."""
        if self.formula == "raw" or self.formula == "delta":
            return n
        if self.formula == "fraction":
            if d is None or d == 0:
                return "zero_denominator"
            return Fraction(100 * n, d)
        if self.formula == "elapsed":
            if d is None:
                return "zero_denominator"
            if freq is None or freq <= 0:
                return "bad_frequency"
            return "negative_value" if d < n else Fraction(d - n, freq)
        if self.formula in NEEDS_MULTI and multi is None:
            return "zero_multi"
        if d == 0:
            return "zero_denominator"
        if self.formula in NEEDS_MULTI and multi == 0:
            return "zero_multi"
        return {
            "rate": lambda: Fraction(n * freq, d),
            "quotient": lambda: Fraction(n, d),
            "percentage": lambda: Fraction(100 * n, d),
            "inverse": lambda: 100 * (1 - Fraction(n, d)),
            "multi": lambda: Fraction(100 * n * freq, d * multi),
            "multi_100ns": lambda: Fraction(100 * n, d * multi),
            "multi_inverse": lambda: 100 * (multi - Fraction(n, d)),
            "average_timer": lambda: Fraction(n, freq * d),
        }[self.formula]()
