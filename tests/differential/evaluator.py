"""The values of one series in windows of time, in exact arithmetic. Where the
rules say that a number is rounded, `rounded` does it; differential.py rounds the
results.

Written from docs/reference/query-rules.md and docs/reference/counters.md, not
from the aggregator's code.
"""

import bisect
import collections
import copy
from fractions import Fraction

from counters import BASES, NEEDS_MULTI, WITH_FREQ
from history import SECOND

# A value in a window. `growth` is what ratios are combined from. A field is None
# where the rules leave it open.
Value = collections.namedtuple(
    "Value", "status number cause breaks coverage presence growth",
    defaults=[None, "", 0, 1, 1, None])
# A point that need not be there is optional.
Point = collections.namedtuple("Point", "time value optional", defaults=[False])

# Samples that the rules allow to be missing decide what it is.
ANYTHING = Value("anything", cause=None, breaks=None, coverage=None)

# Two neighboring samples, or a sample of formulas that use one. A sound piece
# has growth: (n, d, freq, multi). `is_birth`: counters began at 0.
Piece = collections.namedtuple(
    "Piece", "start end status cause growth length interval is_birth",
    defaults=[False])


class Series:
    """A counter of an instance of a machine."""

    def __init__(self, machine, counterset, key, counter):
        self.machine = machine
        self.counterset = counterset
        self.key = key  # (instance name, instance id and occurrence)
        self.counter = counter
        self.ticks = [t for t in machine.ticks[counterset]
                      if t.samples is not None]
        self.read_samples()

    def read_samples(self):
        self.samples = [t for t in self.ticks if self.key in t.samples]
        self.piece_to = {}  # by the id of the newer sample
        self.pieces = list(self.make_pieces())
        self.intervals = list(self.make_intervals())
        self.add_up_intervals()

    def until(self, end):
        """The series without samples after the end. Others can follow them if a
        clock was set back."""
        is_after = [t.time > end for t in self.ticks]
        if is_after == sorted(is_after):
            return self
        series = copy.copy(self)
        series.ticks = [t for t in self.ticks if t.time <= end]
        series.read_samples()
        return series

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
            for tick in self.samples:
                piece = self.piece_of_sample(tick)
                self.piece_to[id(tick)] = piece
                yield piece
            return
        before = dict(zip(map(id, self.ticks[1:]), self.ticks))
        older = None
        for number, newer in enumerate(self.samples):
            tick = before.get(id(newer))
            piece = None
            if self.is_born(newer, older, tick):
                piece = self.piece_between(tick, newer, self.at_birth(tick))
            elif older is not None:
                piece = self.piece_between(older, newer, None, number)
            if piece is not None:
                self.piece_to[id(newer)] = piece
                yield piece
            older = newer

    def is_born(self, newer, older, tick):
        """Whether a first sample has a piece that begins with the tick before."""
        life = newer.samples[self.key].life
        return (life in self.machine.born and tick is not None and
                (older is None or older.samples[self.key].life != life) and
                is_tick_interval(tick, newer))

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

    def piece_between(self, older, newer, start, number=None):
        status, cause = self.problem(older, newer, start)
        if not status and number is not None:
            if self.has_returned(number, 0, self.grown_n):
                status, cause = "negative_value", "reset"
            elif self.has_returned(number, 1, self.grown_d):
                status, cause = "negative_denominator", "reset"
        growth = None
        if not status:
            n0, d0, _, _ = start or self.raw(older)
            n1, d1, freq, multi = self.raw(newer)
            growth = (self.grown_n(n0, n1), self.grown_d(d0, d1), freq, multi)
        return Piece(older.time, newer.time, status or "ok", cause, growth,
                     length_of(older, newer), newer.interval,
                     is_birth=start is not None)

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

    def has_returned(self, number, part, growth):
        """Whether N or D (part 0 or 1) fell, stayed, and grows back in sample `number`."""
        length = 0
        newest = self.samples[number]
        for i in range(number, 0, -1):
            older, newer = self.samples[i - 1], self.samples[i]
            status, _ = self.problem(older, newer, None)
            if status and not status.startswith("negative"):
                return False
            length += length_of(older, newer)
            before, after = self.raw(older)[part], self.raw(newer)[part]
            if i == number:
                continue
            if growth(before, after) is None:
                return (self.raw(newest)[part] >= before and
                        2 * length <= 11 * newest.interval)
            if before != after:
                return False
        return False

    def grown_n(self, older, newer):
        return grown(older, newer, self.counter.wraps)

    def grown_d(self, older, newer):
        return grown(older, newer, self.counter.reference in (
            "raw_base", "sample_base", "average_base"))

    # Presence.

    def make_intervals(self):
        """(older tick's time, newer tick's, length, whether it was there) of the
        tick intervals that count."""
        for older, newer in zip(self.ticks, self.ticks[1:]):
            if not is_tick_interval(older, newer):
                continue
            start = newer.time if self.counter.one_sample else older.time
            piece = self.piece_to.get(id(newer))
            if piece is not None and piece.start != start:
                piece = None  # the older sample is before the older tick
            absent = self.key not in newer.samples or (
                not self.counter.one_sample and self.key not in older.samples)
            if piece and piece.growth is not None:
                yield older.time, newer.time, length_of(older, newer), True
            elif not piece and absent:
                yield older.time, newer.time, length_of(older, newer), False

    def add_up_intervals(self):
        """The sums of the lengths up to each interval, by its end."""
        self.interval_ends = [0]
        self.there, self.away = [0], [0]
        for _, end, length, is_there in sorted(
                self.intervals, key=lambda one: one[1]):
            self.interval_ends.append(end)
            self.there.append(self.there[-1] + length * is_there)
            self.away.append(self.away[-1] + length * (not is_there))

    def numbers_of_intervals(self, start, end):
        """Of those that end in (start, end]."""
        return [bisect.bisect_right(self.interval_ends, time, 1) - 1
                for time in (start, end)]

    def has_interval(self, start, end):
        first, last = self.numbers_of_intervals(start, end)
        return last > first

    def presence(self, start, end):
        first, last = self.numbers_of_intervals(start, end)
        there = self.there[last] - self.there[first]
        away = self.away[last] - self.away[first]
        return exact(there, there + away) if there + away else 1

    def coverage_of_samples(self, start, end):
        """Of the value over the range of a formula with one sample."""
        first, last = self.numbers_of_intervals(start, end)
        interval = [t for t in self.samples
                    if start < t.time <= end][-1].interval
        covered = self.there[last] - self.there[first] or interval
        rest = end - start - covered
        if 2 * rest < 5 * interval:
            return 1
        return exact(covered, end - start)


def is_tick_interval(older, newer):
    return older.query == newer.query and not break_of(older, newer)


def length_of(older, newer):
    """In 100 ns of the monotonic clock, whose frequency is a multiple of 10 MHz."""
    return exact(newer.stamp - older.stamp, newer.freq // SECOND)


def rounded(number):
    """The nearest double."""
    return Fraction(float(number))


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
    """Whether a clock was set back over the start of the range or the time
    shortly before it. The rules leave open which of those samples are used."""
    ticks = series.ticks
    before = question["start"] - 3 * max(
        question["unit"], *(t.interval for t in ticks))
    return any(newer.time < older.time and newer.time <= question["start"] and
               older.time >= before for older, newer in zip(ticks, ticks[1:]))


def is_used(piece, question):
    """Older samples are too far before the start to be used."""
    return question["start"] - piece.start <= 3 * piece.interval


def pieces_in(series, start, end, question):
    return [p for p in series.pieces if start < p.end <= end and
            (is_used(p, question) or question["unit"])]


def window_value(series, start, end, question, pieces):
    """The value of the window (start, end] with these pieces."""
    if question["unit"]:
        if lacks_multi(series, start, end):
            return ANYTHING
        used = used_of_thinned(pieces, question)
        if not used:
            return ANYTHING
        value = value_of(series, used, question["over"], start, end)
        if len(used) < len(pieces):
            value = value._replace(cause=None, breaks=None, coverage=None)
        if (has_open_start(used, start, end) or
                has_open_end(series, used, start, end)):
            value = value._replace(cause=None, coverage=None)
    else:
        value = value_of(series, pieces, question["over"], start, end)
    value = value._replace(presence=series.presence(start, end))
    return (of_thinned(series.counter, value, question) if question["unit"] else
            value)


def has_open_start(pieces, start, end):
    """Whether the rest of the window is short, and the life that covers its start
    was born there. If it ends before the summary's tick, its start is not known."""
    sound = [p for p in pieces if p.growth]
    rest = end - start - sum(p.length for p in sound)
    return any(p.is_birth and p.start <= start for p in sound) and (
        0 < rest < max(p.length for p in sound))


def has_open_end(series, pieces, start, end):
    """Whether the rest of the window is shorter than some pieces only. Summaries
    have the mean length of their pieces for that of the longest one."""
    lengths = [p.length for p in pieces if p.growth]
    if series.counter.one_sample or not lengths:
        return False
    rest = end - start - sum(lengths)
    return min(lengths) <= rest < max(lengths)


def used_of_thinned(pieces, question):
    """Summaries may have breaks after samples that full data do not use."""
    return [p for p in pieces if p.growth or is_used(p, question)]


def lacks_multi(series, start, end):
    """Whether the last sample of a summary may lack M. Which sample that is
    depends on how the samples were stored."""
    return series.counter.formula in NEEDS_MULTI and any(
        start < tick.time <= end and
        tick.samples[series.key].values["multi"] is None
        for tick in series.samples)


def of_thinned(counter, value, question):
    """Leaves open what thinned data do not have: elapsed times before the last
    sample of a summary, the values of single pieces, and the order of pieces
    without a value."""
    over = question["over"]
    if counter.formula == "elapsed":
        return ANYTHING
    if counter.one_sample or over == "":
        return value
    if value.number is None or over not in ("min", "max"):
        return ANYTHING
    return value._replace(cause=None, coverage=None)


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
    # Raw values and elapsed times are added as integers, others as doubles.
    numbers = [result if counter.adds_up_counters else rounded(result)
               for _, result in good]
    growth = None
    if counter.formula == "fraction" and over == "":
        growth = (sum(p.growth[0] for p, _ in good),
                  sum(p.growth[1] for p, _ in good), 1, None)
    return Value(
        "ok", combine_over(numbers, over),
        problems[-1][1] if problems else "", len(problems),
        coverage(counter, [p for p, _ in good], problems, start, end),
        growth=growth)


def value_by_formula(counter, pieces, start, end):
    sound = [p for p in pieces if p.growth is not None]
    problems = [(p.status, p.cause) for p in pieces if p.growth is None]
    if not sound:
        return no_value(problems)
    growth = total_growth(counter, sound)
    result = counter.value(*growth)
    if isinstance(result, str):
        return Value(result, None, "", len(problems),
                     coverage(counter, sound, problems, start, end))
    return Value("ok", result, problems[-1][1] if problems else "",
                 len(problems), coverage(counter, sound, problems, start, end),
                 growth=growth)


def no_value(problems):
    status, cause = problems[-1]
    return Value(status, None, cause if status == "gap" else "",
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
    if (not problems and min(p.start for p in sound) <= start and
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
    series = series.until(end)
    samples = [t for t in series.samples if start < t.time <= end]
    if not samples:
        return None
    pieces = pieces_in(series, start, end, question)
    total = (window_value(series, start, end, question, pieces) if pieces else
             Value("need_two_samples", coverage=0))
    if (series.counter.one_sample and total.status == "ok" and
            total.coverage is not None):
        total = total._replace(
            coverage=series.coverage_of_samples(start, end))
    if is_open(series, question) or question["unit"] and pieces and not (
            used_of_thinned(pieces, question)):
        points, total = None, ANYTHING
    elif step == 0:
        points = with_losses(series, start, [Point(end, total)])
    else:
        points = with_losses(series, start, Points(
            series, samples, question).all())
    if points == []:
        return None
    answer = Answer(series.machine.name, series.path(index), points, total)
    answer.series = series
    answer.instance = (series.key[0], index)
    answer.unit = series.counter.unit
    return answer


class Points:
    """The points of a series with a step."""

    def __init__(self, series, samples, question):
        self.series = series
        self.samples = samples
        self.question = question
        self.start, self.end = question["start"], question["end"]
        self.step = question["step"]
        self.count = (self.end - self.start) // self.step  # of whole windows
        self.windows = {}  # pieces by number
        self.follows_sample = set()  # windows after a value per sample
        self.points = []  # values per sample
        self.is_per_sample = False  # the newest one

    def all(self):
        older = None
        for tick in self.samples:
            self.add(older, tick)
            older = tick
        last = self.samples[-1]
        if self.is_per_sample and self.goes_on() and (
                2 * (self.end - last.time) > 5 * last.interval):
            self.points.append(gap(self.end))
        return sorted(self.points + self.of_windows(),
                      key=lambda point: point.time)

    def yields_point(self, tick):
        return not (self.question["only_windows"] or self.question["unit"] or
                    tick.interval < self.step)

    def add(self, older, tick):
        piece = self.series.piece_to.get(id(tick))
        if piece and not (self.question["unit"] or
                          is_used(piece, self.question)):
            piece = None
        is_point = self.yields_point(tick)
        if self.series.counter.one_sample and older is not None and (
                is_point or self.is_per_sample) and (
                    2 * (tick.time - older.time) > 5 * tick.interval):
            self.points.append(gap(older.time + tick.interval))
        if is_point:
            self.is_per_sample = True
            self.points.append(Point(tick.time, self.sample_value(piece)))
        elif piece is not None:
            number = self.number_of(tick)
            if number not in self.windows and self.is_per_sample:
                self.follows_sample.add(number)
            self.is_per_sample = False
            self.windows.setdefault(number, []).append(piece)

    def sample_value(self, piece):
        if piece is None:
            return Value("need_two_samples")
        value = value_of(self.series, [piece], "last", piece.start, piece.end)
        return value._replace(breaks=0, coverage=1, presence=1)

    def goes_on(self):
        """Whether samples after the last one are missing."""
        if self.samples[-1] is self.series.ticks[-1]:
            return True
        ticks = [t for t in self.series.ticks
                 if self.start < t.time <= self.end]
        longest = max(t.interval for t in ticks)
        return 2 * (ticks[-1].time - self.samples[-1].time) <= 5 * longest

    def of_windows(self):
        """If the first window has only breaks that thinned data need not have, the
        windows until the next one with pieces are left open."""
        points = list(self.all_windows())
        if self.question["unit"] and points and not used_of_thinned(
                self.windows[min(self.windows)], self.question):
            for i, point in enumerate(points):
                if i > 0 and self.number_of(point) in self.windows:
                    break
                points[i] = Point(point.time, ANYTHING, optional=True)
        return points

    def all_windows(self):
        numbers = sorted(self.windows)
        for number, after in zip(numbers, numbers[1:] + [None]):
            if number <= self.count or self.shows_rest():
                yield self.window(number)
            last = number
            if after is None:
                if self.goes_on() and not self.is_per_sample:
                    last = self.count
            elif after not in self.follows_sample:
                last = after - 1
            for missing in range(number + 1, last + 1):
                yield self.window_without_samples(number, missing)

    def shows_rest(self):
        rest = (self.end - self.start) % self.step
        is_long = 2 * rest >= 5 * self.samples[-1].interval
        return is_long or not self.question["only_windows"]

    def number_of(self, point):
        return -((self.start - point.time) // self.step)

    def window(self, number):
        end = self.start + number * self.step
        return Point(min(end, self.end), window_value(
            self.series, end - self.step, min(end, self.end), self.question,
            self.windows[number]))

    def window_without_samples(self, before, number):
        """The newest sample of a gauge holds for 2.5 intervals, unless the
        instance was absent."""
        end = self.start + number * self.step
        newest = self.windows[before][-1]
        if self.series.counter.one_sample and (
                2 * (end - newest.end) <= 5 * newest.interval and
                not self.series.has_interval(
                    self.start + before * self.step, end)):
            value = value_of(self.series, [newest], self.question["over"],
                             end - self.step, end)
            return Point(end, value._replace(breaks=0, growth=None, presence=1))
        return gap(end)


def gap(time):
    return Point(time, Value("gap", None, "no_samples", 0, 0))


def with_losses(series, start, points):
    """Gives missing samples the cause of a loss."""
    result = []
    starts = {start}  # of the time since the point before, which may be optional
    for point in points:
        value = point.value
        if value.cause == "no_samples" or (
                value.cause == "" and value.coverage is not None and
                value.coverage < 1):
            causes = {loss_between(series.machine, time, point.time) or
                      value.cause for time in starts}
            value = value._replace(
                cause=causes.pop() if len(causes) == 1 else None)
        result.append(point._replace(value=value))
        starts = starts | {point.time} if point.optional else {point.time}
    return result


def loss_between(machine, start, end):
    for loss_start, loss_end, cause in sorted(machine.losses):
        if loss_start <= end and loss_end > start:
            return cause
    return ""
