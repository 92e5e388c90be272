"""The values of one series in windows of time, in exact arithmetic.

Written from docs/reference/query-rules.md and docs/reference/counters.md, not
from the aggregator's code.
"""

import collections
from fractions import Fraction

import rules
from counters import BASES, NEEDS_MULTI, WITH_FREQ
from history import SECOND

# A value in a window. `growth` is what ratios are combined from; `scale` is the
# size of the terms of a difference that the number may be. A field is None where
# the rules leave it open.
Value = collections.namedtuple(
    "Value", "status number cause breaks coverage presence growth scale",
    defaults=[None, "", 0, 1, 1, None, 0])
# A point that need not be there is optional.
Point = collections.namedtuple("Point", "time value optional", defaults=[False])

# Samples that the rules allow to be missing decide what it is.
ANYTHING = Value("anything", cause=None, breaks=None, coverage=None)

# The rules leave open whether a ratio that holds is combined as a ratio.
HELD = "held"

# Two neighboring samples, or a sample of formulas that use one. A sound piece
# has growth: (n, d, freq, multi).
Piece = collections.namedtuple(
    "Piece", "start end status cause growth length interval")


class Series:
    """A counter of an instance of a machine."""

    def __init__(self, machine, counterset, key, counter):
        self.machine = machine
        self.counterset = counterset
        self.key = key  # (instance name, instance id and occurrence)
        self.counter = counter
        self.ticks = [t for t in machine.ticks[counterset]
                      if t.samples is not None]
        self.shortest = min(t.interval for t in machine.ticks[counterset])
        self.samples = [t for t in self.ticks if key in t.samples]
        self.pieces = list(self.make_pieces())
        self.intervals = list(self.make_intervals()) if rules.PRESENCE else []

    @property
    def is_aggregate(self):
        return self.key[0] == "_Total" or self.key[0].endswith(",_Total")

    def path(self, index):
        name = self.key[0]
        number = f"#{index}" if index else ""
        instance = f"({name}{number})" if name else ""
        return f"\\{self.counterset}{instance}\\{self.counter.name}"

    def raw(self, tick):
        """N, D, F and M at a tick; None where there is no value."""
        values = tick.samples[self.key].values
        reference = self.counter.reference
        d = {None: 0, "stamp": tick.stamp, "time": tick.time}.get(
            reference, values.get(reference))
        freq = (values["object_freq"] if self.counter.formula == "elapsed"
                else tick.freq)
        return values[self.counter.name], d, freq, values.get("multi")

    # Pieces.

    def make_pieces(self):
        if self.counter.one_sample:
            yield from map(self.piece_of_sample, self.samples)
            return
        before = dict(zip(map(id, self.ticks[1:]), self.ticks))
        older = None
        for newer in self.samples:
            tick = before.get(id(newer))
            if self.is_born(newer, older, tick):
                yield self.piece_between(tick, newer, self.at_birth(tick))
            elif older is not None:
                yield self.piece_between(older, newer, None)
            older = newer

    def is_born(self, newer, older, tick):
        """Whether a first sample has a piece that begins with the tick before."""
        life = newer.samples[self.key].life
        return (rules.PRESENCE and life in self.machine.born and tick is not None and
                (older is None or older.samples[self.key].life != life) and
                tick.epoch == newer.epoch and not break_of(tick, newer))

    def at_birth(self, tick):
        """Counters begin at 0."""
        d = {"stamp": tick.stamp, "time": tick.time}.get(
            self.counter.reference, 0)
        return 0, d, tick.freq, None

    def piece_of_sample(self, tick):
        n, d, freq, _ = self.raw(tick)
        value = "gap" if n is None else self.counter.value(n, d, freq, None)
        sound = not isinstance(value, str)
        cause = {"negative_value": "reset"}.get(value, "no_value")
        return Piece(tick.time, tick.time, "ok" if sound else value,
                     "" if sound else cause, (n, d, freq, None) if sound else None, 0, tick.interval)

    def piece_between(self, older, newer, start):
        status, cause = self.problem(older, newer, start)
        growth = None
        if not status:
            n0, d0, _, _ = start or self.raw(older)
            n1, d1, freq, multi = self.raw(newer)
            growth = (self.grown_n(n0, n1), self.grown_d(d0, d1), freq, multi)
        return Piece(older.time, newer.time, status or "ok", cause, growth,
                     length_of(older, newer), newer.interval)

    def problem(self, older, newer, start):
        """The first condition that makes the piece a break."""
        if start is None and older.epoch != newer.epoch:
            return "gap", "agent_restart"
        if start is None and (older.samples[self.key].life !=
                              newer.samples[self.key].life):
            return "gap", "new_life"
        n0, d0, _, _ = start or self.raw(older)
        n1, d1, freq, multi = self.raw(newer)
        if n0 is None or n1 is None:
            return "gap", "no_value"
        cause = break_of(older, newer)
        if cause:
            return "gap", cause
        if d0 is None or d1 is None:
            return "zero_denominator", "no_value"
        if self.grown_n(n0, n1) is None:
            return "negative_value", "reset"
        if self.grown_d(d0, d1) is None:
            return "negative_denominator", "reset"
        if self.counter.formula in WITH_FREQ and freq <= 0:
            return "bad_frequency", "no_value"
        if self.counter.formula in NEEDS_MULTI and multi is None:
            return "zero_multi", "no_value"
        return "", ""

    def grown_n(self, older, newer):
        return grown(older, newer, self.counter.wraps)

    def grown_d(self, older, newer):
        return grown(older, newer, self.counter.reference in (
            "raw_base", "sample_base", "average_base"))

    # Presence.

    def make_intervals(self):
        """(older tick's time, newer tick's, length, whether it was there) of the
        tick intervals that count."""
        pieces = {(piece.start, piece.end): piece for piece in self.pieces}
        for older, newer in zip(self.ticks, self.ticks[1:]):
            if older.query != newer.query or break_of(older, newer):
                continue
            start = newer.time if self.counter.one_sample else older.time
            piece = pieces.get((start, newer.time))
            absent = self.key not in newer.samples or (
                not self.counter.one_sample and self.key not in older.samples)
            if piece and piece.growth is not None:
                yield older.time, newer.time, length_of(older, newer), True
            elif not piece and absent:
                yield older.time, newer.time, length_of(older, newer), False

    def presence(self, start, end):
        there = away = 0
        for _, time, length, is_there in self.intervals:
            if start < time <= end:
                if is_there:
                    there += length
                else:
                    away += length
        return exact(there, there + away) if there + away else 1


def length_of(older, newer):
    """In 100 ns of the monotonic clock, whose frequency is a multiple of 10 MHz."""
    return exact(newer.stamp - older.stamp, newer.freq // SECOND)


def exact(number, divisor):
    """The quotient; whole numbers are faster than fractions."""
    return (number // divisor if number % divisor == 0 else
            Fraction(number, divisor))


def break_of(older, newer):
    """The break of the clocks of two ticks; empty if there is none."""
    if older.epoch != newer.epoch:
        return "agent_restart"
    length = length_of(older, newer)
    if 2 * length > 5 * newer.interval:
        return "no_samples"
    apart = abs(newer.time - older.time - length)
    if older.freq != newer.freq or 100 * apart > 5 * SECOND + length:
        return "clock_step"
    return ""


def grown(older, newer, wraps):
    """The growth; None if the number fell and did not wrap."""
    if newer >= older:
        return newer - older
    growth = (newer - older) % 2**32
    return growth if wraps and growth < 2**31 else None


# Windows.

def is_open(series, question):
    """Whether the values depend on samples that the rules allow to be missing,
    on samples after the end, or on a clock that was set back over the start."""
    if any(p.end <= question["start"] < p.start for p in series.pieces):
        return True
    return not question["unit"] and any(
        question["start"] < p.end <= question["end"] and
        (p.start > question["end"] or not is_known(series, p, question))
        for p in series.pieces)


def is_known(series, piece, question):
    """Whether the older sample is used, or not used, for certain."""
    before = question["start"] - piece.start
    if not rules.PAGE:
        return 2 * before <= 5 * series.shortest
    # If an interval was longer than another one, samples may be missing.
    return before <= 3 * series.shortest or before > 3 * piece.interval


def is_used(piece, question):
    """Older samples are too far before the start to be used."""
    return question["start"] - piece.start <= 3 * piece.interval


def pieces_in(series, start, end, question):
    return [p for p in series.pieces if start < p.end <= end and
            (is_used(p, question) or question["unit"])]


def window_value(series, start, end, question, pieces):
    """The value of the window (start, end] with these pieces."""
    if question["unit"]:
        # A summary has breaks after samples that full data do not use.
        used = [p for p in pieces if p.growth or is_used(p, question)]
        if not used:
            return ANYTHING
        value = value_of(series, used, question["over"], start, end)
        if len(used) < len(pieces):
            value = value._replace(cause=None, breaks=None, coverage=None)
    else:
        value = value_of(series, pieces, question["over"], start, end)
    value = value._replace(presence=series.presence(start, end))
    return of_thinned(series.counter, value, question)


def of_thinned(counter, value, question):
    """Leaves open what thinned data do not have: of elapsed times all but the
    last sample, and the order of pieces without a value."""
    if not question["unit"]:
        return value
    if counter.formula == "elapsed":
        return ANYTHING
    if question["over"] and not counter.one_sample:
        if value.number is None:
            return ANYTHING
        return value._replace(cause=None, coverage=None)
    return value


def value_of(series, pieces, over, start, end):
    counter = series.counter
    if counter.formula == "elapsed" and over == "":
        over = "last"
    if over == "" and not counter.one_sample:
        return value_by_formula(counter, pieces, start, end)
    problems, good = [], []
    for piece in pieces:
        result = (counter.value(*piece.growth) if piece.growth else
                  piece.status)
        if isinstance(result, str):
            problems.append((result, piece.cause or "no_value"))
        else:
            good.append((piece, result))
    if not good:
        return no_value(problems)
    numbers = [result for _, result in good]
    growth = None
    if counter.formula == "fraction" and over == "":
        growth = (sum(p.growth[0] for p, _ in good),
                  sum(p.growth[1] for p, _ in good), 1, None)
    return Value(
        "ok", combine_over(numbers, over),
        problems[-1][1] if problems else "", len(problems),
        coverage(counter, [p for p, _ in good], problems, start, end),
        growth=growth, scale=counter.difference_scale())


def value_by_formula(counter, pieces, start, end):
    sound = [p for p in pieces if p.growth is not None]
    problems = [(p.status, p.cause) for p in pieces if p.growth is None]
    if not sound:
        return no_value(problems)
    growth = total_growth(counter, sound)
    result = counter.value(*growth)
    if isinstance(result, str):
        return Value(result, None, None, len(problems), 0)
    return Value("ok", result, problems[-1][1] if problems else "",
                 len(problems), coverage(counter, sound, problems, start, end),
                 growth=growth, scale=counter.difference_scale())


def no_value(problems):
    status, cause = problems[-1]
    return Value(status, None, cause if status == "gap" else None,
                 len(problems), 0)


def total_growth(counter, sound):
    """The sums; with F and M of the last piece, into whose ticks those of other
    pieces are converted."""
    freq, multi = sound[-1].growth[2:]
    n = d = 0
    for piece in sound:
        factor = exact(freq, piece.growth[2] or freq) if freq else 1
        n += piece.growth[0] * (factor if counter.counts_ticks else 1)
        d += piece.growth[1] * (factor if counter.reference == "stamp" else 1)
    return n, d, freq, multi


def combine_over(numbers, over):
    if over in ("", "avg"):
        return exact(sum(numbers), len(numbers))
    return {"min": min, "max": max, "last": lambda all: all[-1],
            "sum": sum}[over](numbers)


def coverage(counter, sound, problems, start, end):
    if counter.one_sample:
        return 1
    covered = sum(p.length for p in sound)
    window = end - start
    if (not problems and sound[0].start <= start and
            window - covered < max(p.length for p in sound)):
        return 1
    return min(1, exact(covered, window))


# The points of a series.

class Answer:
    """The answer for one series, a group or an expression."""

    def __init__(self, machine, path, points, total):
        self.machine = machine
        self.path = path
        self.points = points
        self.total = total
        self.series = None
        self.instance = None  # (name, index)
        self.labels = {}
        self.unit = None


def evaluate(series, index, question):
    """The answer for a series; None without a sample or a point in the range."""
    start, end, step = question["start"], question["end"], question["step"]
    samples = [t for t in series.samples if start < t.time <= end]
    if not samples:
        return None
    pieces = pieces_in(series, start, end, question)
    total = (window_value(series, start, end, question, pieces) if pieces else
             Value("need_two_samples", coverage=0))
    if is_open(series, question):
        points, total = None, ANYTHING
    elif step == 0:
        points = with_losses(series, start, [Point(end, total)])
    else:
        points = points_of(series, samples, pieces, question)
    if points == []:
        return None
    answer = Answer(series.machine.name, series.path(index), points, total)
    answer.series = series
    answer.instance = (series.key[0], index)
    answer.unit = series.counter.unit
    return answer


def points_of(series, samples, pieces, question):
    step = question["step"]
    by_sample = [] if question["only_windows"] or question["unit"] else [
        t for t in samples if t.interval >= step]
    in_windows = [t for t in samples if question["only_windows"] or
                  question["unit"] or t.interval < step]
    if by_sample and in_windows:
        return None  # the interval changes
    if by_sample:
        points = sample_points(series, by_sample, question)
    else:
        points = window_points(series, in_windows, pieces, question)
    return with_losses(series, question["start"], points)


def goes_on(series, samples, question):
    """Whether samples after the last one are missing."""
    ticks = [t for t in series.ticks
             if question["start"] < t.time <= question["end"]]
    longest = max(t.interval for t in ticks)
    return 2 * (ticks[-1].time - samples[-1].time) <= 5 * longest


def sample_points(series, samples, question):
    pieces = {piece.end: piece for piece in series.pieces}
    points = []
    older = None
    for tick in samples:
        if series.counter.one_sample and older is not None and (
                2 * (tick.time - older.time) > 5 * tick.interval):
            points.append(gap(older.time + tick.interval))
        points.append(Point(tick.time, sample_value(
            series, pieces.get(tick.time), question)))
        older = tick
    last = samples[-1]
    if goes_on(series, samples, question) and (
            2 * (question["end"] - last.time) > 5 * last.interval):
        points.append(gap(question["end"]))
    return points


def gap(time):
    return Point(time, Value("gap", None, "no_samples", 0, 0))


def sample_value(series, piece, question):
    if piece is None or not is_used(piece, question):
        return Value("need_two_samples", cause=None, coverage=None)
    value = value_of(series, [piece], "last", piece.start, piece.end)
    return value._replace(breaks=0, coverage=None)


def window_points(series, samples, pieces, question):
    start, end, step = question["start"], question["end"], question["step"]
    count = (end - start) // step
    windows = {}
    for piece in pieces:
        windows.setdefault(-((start - piece.end) // step), []).append(piece)
    whole = [n for n in windows if n <= count]
    points = []
    if whole:
        last = count if goes_on(series, samples, question) else max(whole)
        for number in range(min(whole), last + 1):
            points.append(window_point(series, number, windows, question))
    return points + partial_window(series, samples, count, windows, question)


def window_point(series, number, windows, question):
    end = question["start"] + number * question["step"]
    if number in windows:
        return Point(end, window_value(series, end - question["step"], end,
                                       question, windows[number]))
    return Point(end, held_value(series, end, question))


def held_value(series, end, question):
    """The newest sample of a gauge holds for 2.5 intervals."""
    if series.counter.one_sample:
        start = question["start"]
        before = [p for p in series.pieces if start < p.end <= end]
        newest = max(before, key=lambda p: p.end, default=None)
        if newest is not before[-1]:
            return ANYTHING  # the clock was set back
        if 2 * (end - newest.end) <= 5 * newest.interval:
            value = value_of(series, [newest], question["over"], start, end)
            return value._replace(
                breaks=0, growth=value.growth and HELD,
                presence=series.presence(end - question["step"], end))
    return Value("gap", None, "no_samples", 0, 0)


def partial_window(series, samples, count, windows, question):
    """What follows the last whole window, if it is long enough."""
    start = question["start"] + count * question["step"]
    length = question["end"] - start
    if count + 1 not in windows or (
            2 * length < 5 * samples[-1].interval):
        return []
    return [Point(question["end"], window_value(
        series, start, question["end"], question, windows[count + 1]))]


def with_losses(series, start, points):
    """Gives missing samples the cause of a loss."""
    result = []
    for point in points:
        value = point.value
        if value.cause == "no_samples" or (
                value.cause == "" and value.coverage is not None and
                value.coverage < 1):
            cause = loss_between(series.machine, start, point.time)
            value = value._replace(cause=cause or value.cause)
        result.append(point._replace(value=value))
        start = point.time
    return result


def loss_between(machine, start, end):
    for loss_start, loss_end, cause in sorted(machine.losses):
        if loss_start <= end and loss_end > start:
            return cause
    return ""
