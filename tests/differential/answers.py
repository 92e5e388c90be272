"""Selects, combines and calculates with the values of series.

Written from docs/reference/query-rules.md, not from the aggregator's code.
"""

import collections
import fnmatch
import operator
import re
from fractions import Fraction

import evaluator
from evaluator import ANYTHING, Answer, Point, Value, rounded

PATH = re.compile(r"^(?:\\\\([^\\]+))?\\([^\\(]+)(?:\((.*?)(#\d+)?\))?\\(.+)$")


def answer(fleet, question):
    """The answers to a question, in order; None if the rules leave it open."""
    chooses = any(key in question for key in ("top", "bottom", "where"))
    question = question | {"leaves_out": chooses or "agg" in question}
    paths = [p for p in question["asked"] if isinstance(p, str)]
    answers = []
    if paths:
        answers += answers_of(fleet, paths, question)
    for tree in question["asked"]:
        if not isinstance(tree, str):
            answers += results_of(fleet, tree, question)
    if any(a.points is None for a in answers):
        return None
    if "top" in question or "bottom" in question:
        return ranked(answers, question)
    return kept(answers, question)


def is_not_found(fleet, question):
    """Whether a path selects no series that has a value, or an expression has
    no result."""
    chooses = any(key in question for key in ("top", "bottom", "where"))
    question = question | {"leaves_out": chooses or "agg" in question}
    return any(not answers_of(fleet, [path], question)
               for tree in question["asked"] for path in leaves(tree)) or any(
                   not results_of(fleet, tree, question)
                   for tree in question["asked"] if not isinstance(tree, str))


def leaves(tree):
    if isinstance(tree, str):
        return [tree]
    return leaves(tree[0]) + leaves(tree[2]) if isinstance(tree, list) else []


# Paths.

class Fleet:
    """All series, and the machines and countersets that they belong to."""

    def __init__(self, series):
        self.series = series
        self.keys = {}
        for one in series:
            place = (one.machine.name, one.counterset, one.key[0])
            self.keys.setdefault(place, {})[one.key] = one

    def index(self, series, question):
        """Among the instances of this name with a sample in the range."""
        place = (series.machine.name, series.counterset, series.key[0])
        return sum(key < series.key and any(
            question["start"] < t.time <= question["end"]
            for t in one.samples) for key, one in self.keys[place].items())


def selects(fleet, path, series, question):
    machine, counterset, instance, number, counter = PATH.match(path).groups()
    if not (matches(machine or "*", series.machine.name) and
            matches(counterset, series.counterset) and
            matches(instance or "", series.key[0]) and
            matches(counter, series.counter.name)):
        return False
    if number and int(number[1:]) != fleet.index(series, question):
        return False
    return not (question["leaves_out"] and series.is_aggregate and
                has_wildcards(instance) and
                not instance.lower().endswith(",_total"))


def matches(pattern, text):
    return fnmatch.fnmatchcase(text.lower(), pattern.lower())


def has_wildcards(text):
    return "*" in text or "?" in text


def answers_of(fleet, paths, question):
    answers = []
    for series in fleet.series:
        if any(selects(fleet, path, series, question) for path in paths):
            one = evaluator.evaluate(series, fleet.index(series, question),
                                     question)
            if one is not None:
                answers.append(one)
    if "agg" in question:
        answers.sort(key=lambda a: (a.machine, a.path.encode()))
        answers = group(answers, question)
    return sorted(answers, key=order)


def order(answer):
    """Answers are in the order of this key."""
    name, index = answer.instance or ("", 0)
    return (answer.machine, re.sub(r"#\d+\)", ")", answer.path).encode(),
            name.encode(), index, getattr(answer, "unit", ""))


# Choices.

def kept(answers, question):
    if "where" not in question:
        return answers
    if any(a.total.status == "anything" or rank(a, question) is None
           for a in answers):
        return None
    comparison, number = question["where"]
    compare = {">": operator.gt, ">=": operator.ge, "<": operator.lt,
               "<=": operator.le, "=": operator.eq, "!=": operator.ne}
    return [a for a in answers if a.total.number is not None and
            compare[comparison](rank(a, question), Fraction(number))]


def ranked(answers, question):
    answers = kept(answers, question)
    if answers is None or any(a.total.status == "anything" or
                              rank(a, question) is None for a in answers):
        return None
    answers = [a for a in answers if a.total.number is not None]
    sign = -1 if "top" in question else 1
    answers.sort(key=lambda a: sign * rank(a, question))
    rankings = {}
    for one in answers:
        rankings.setdefault(counter_of(one), []).append(one)
    limit = question.get("top") or question.get("bottom")
    return [one for _, ranking in sorted(rankings.items())
            for one in ranking[:limit]]


def counter_of(answer):
    """What has a ranking of its own. A question has one expression at most,
    and no paths beside it."""
    if isinstance(answer, Result):
        return ()
    if answer.series is None:
        names = answer.path[1:].split("\\")
    else:
        names = [answer.series.counterset, answer.series.counter.name]
    return tuple(name.encode() for name in [*names, answer.unit])


def rank(answer, question):
    """None if the rules leave it open."""
    if answer.total.number is None:
        return 0
    if answer.total.presence is None:
        return None
    if isinstance(answer, Result):
        is_weighted = all(has_weight(m, question) for m in answer.members)
        by = answer.total.presence if is_weighted else 1
    elif answer.series is None:
        by = answer.total.presence
    else:
        by = weight(answer, answer.total, question)
    return rounded(rounded(answer.total.number) * rounded(by))


# Groups.

def weight(answer, value, question):
    return rounded(value.presence) if has_weight(answer, question) else 1


def has_weight(answer, question):
    return (question["over"] in ("", "avg") and
            answer.series.counter.formula not in ("delta", "elapsed"))


def key_of(answer, question):
    """The properties that keep groups apart."""
    by = question["by"]
    series = answer.series
    if "counterset" in by and "counter" not in by:
        kind = "" if question["agg"] == "count" else answer.unit
        counter = "*"
    else:
        kind = series.counter.type
        counter = series.counter.name
    role = series.machine.labels.get("role", "")
    return (answer.machine if "machine" in by else "",
            f"\\{series.counterset}\\{counter}", str(kind),
            role if "label:role" in by else "",
            series.key[0] if "instance" in by else
            re.sub(r":\d+$", "", series.key[0]) if "name" in by else "")


def group(answers, question):
    groups = {}
    for one in answers:
        groups.setdefault(key_of(one, question), []).append(one)
    return [combine(key, members, question)
            for key, members in sorted(groups.items())]


def combine(key, members, question):
    machine, path, _, role, instance = key
    result = Answer(machine, path, None, ANYTHING)
    result.instance = (instance, 0)
    result.labels = {"role": role} if "label:role" in question["by"] else {}
    result.unit = "" if question["agg"] == "count" else members[0].unit
    if any(m.points is None for m in members):
        return result
    at = {}
    for member in members:
        for point in member.points:
            at.setdefault(point.time, []).append((member, point))
    result.points = [
        Point(time, combined([(m, p.value) for m, p in there], question,
                             members[0]), all(p.optional for _, p in there))
        for time, there in sorted(at.items())]
    result.total = combined([(m, m.total) for m in members], question,
                            members[0])
    return result


def combined(values, question, first):
    """The value of a group in a window. `first` is its first series."""
    if any(v.status == "anything" for _, v in values):
        return ANYTHING
    cause = next((v.cause for _, v in reversed(values) if v.cause != ""), "")
    breaks = total_or_none([v.breaks for _, v in values])
    coverage = total_or_none([coverage_in_group(v) for _, v in values])
    if coverage is not None:
        coverage = Fraction(coverage) / len(values)
    there = [(m, v) for m, v in values
             if v.number is not None and weight(m, v, question)]
    if not there:
        last = values[-1][1]
        if last.number is not None:
            return Value("gap", None, "no_samples", breaks, coverage)
        return Value(last.status, None, last.cause, breaks, coverage)
    number = combined_number(there, question, first)
    return Value("ok", number, cause, breaks, coverage)


def coverage_in_group(value):
    """The absence of an instance is not missing."""
    if (value.status == "ok" and value.coverage is not None and
            value.presence is not None and value.presence < 1 and
            float(value.coverage) >= 0.9 * float(value.presence)):
        return 1
    return None if value.coverage is None else rounded(value.coverage)


def total_or_none(numbers):
    return None if None in numbers else sum(numbers)


def combined_number(there, question, first):
    function = question["agg"]
    numbers = sorted(rounded(v.number) for _, v in there)
    weights = [weight(m, v, question) for m, v in there]
    if function == "auto":
        function = first.series.counter.default_function
    if function in ("min", "max"):
        return numbers[0 if function == "min" else -1]
    if function.startswith("p"):
        return numbers[-(-int(function[1:]) * len(numbers) // 100) - 1]
    if function == "count":
        return sum(weights)
    weighted = sum(rounded(v.number) * w for (_, v), w in zip(there, weights))
    if function == "sum":
        return weighted
    formulas = {(m.series.counter.formula, m.series.counter.reference in
                 evaluator.BASES) for m, _ in there}
    if len(formulas) == 1 and all(v.growth for _, v in there) and (
            there[0][0].series.counter.is_ratio):
        return ratio(there)
    return Fraction(weighted) / sum(weights)


def ratio(there):
    counter = there[0][0].series.counter
    growths = [v.growth for _, v in there]
    freq = growths[0][2]
    n = sum(g[0] * (Fraction(freq, g[2]) if counter.counts_ticks else 1)
            for g in growths)
    return counter.value(n, sum(g[1] for g in growths), freq, None)


# Expressions: a number, a path or (left, symbol, right).

# A number, or the result of an operation on numbers.
Number = collections.namedtuple("Number", "path value")

PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}


class Result(Answer):
    """The answer for an expression."""

    def __init__(self, named, path, points, total, members):
        """`named` has the instance of the result."""
        super().__init__(named.machine, path, points, total)
        self.instance = named.instance
        self.labels = named.labels
        self.members = members  # the answers for the series; none with groups


def results_of(fleet, tree, question):
    """The results of an expression, in order."""
    results = calculate(fleet, tree, question)
    # Results without a common label are not answered.
    results = [r for r in results if r.points != []]
    return sorted(results, key=order)


def calculate(fleet, tree, question):
    if isinstance(tree, (int, float)):
        return Number(str(tree), Value("ok", Fraction(tree)))
    if isinstance(tree, str):
        return [with_doubles(a) for a in answers_of(fleet, [tree], question)]
    left, symbol, right = tree
    one, other = (calculate(fleet, side, question) for side in (left, right))

    def joined(a, b):
        return f"{side_text(a, left, PRECEDENCE[symbol])} {symbol} " + (
            side_text(b, right, PRECEDENCE[symbol] + 1))

    if isinstance(one, Number) and isinstance(other, Number):
        return Number(joined(one, other),
                      operated(one.value, other.value, symbol))
    if isinstance(one, Number):
        return [beside_number(b, joined(one, b),
                              lambda v: operated(one.value, v, symbol))
                for b in other]
    if isinstance(other, Number):
        return [beside_number(a, joined(a, other),
                              lambda v: operated(v, other.value, symbol))
                for a in one]
    by_machine = joins_by_machine(left, right)
    takes_right = fixed_to(left) is not None and fixed_to(right) is None
    return [operate(a, b, symbol, b if takes_right else a, joined(a, b),
                    question)
            for a in one for b in other
            if a.machine == b.machine and a.labels == b.labels and
            (by_machine or a.instance == b.instance)]


def with_doubles(answer):
    """The answer with its numbers as doubles."""
    def double(value):
        return value if value.number is None else value._replace(
            number=rounded(value.number))

    answer.points = answer.points and [
        p._replace(value=double(p.value)) for p in answer.points]
    answer.total = double(answer.total)
    return answer


def side_text(operand, tree, least):
    needs = isinstance(tree, list) and PRECEDENCE[tree[1]] < least
    return f"({operand.path})" if needs else operand.path


def fixed_to(tree):
    """The instances of a fixed operand; None if it is not fixed."""
    if isinstance(tree, (int, float)):
        return set()
    if isinstance(tree, str):
        instance, number = PATH.match(tree).groups()[2:4]
        instance = instance or ""
        return None if has_wildcards(instance) else {
            (instance.lower(), number or "")}
    sides = fixed_to(tree[0]), fixed_to(tree[2])
    return None if None in sides else sides[0] | sides[1]


def joins_by_machine(left, right):
    one, other = fixed_to(left), fixed_to(right)
    if one is None or other is None:
        return one is not other
    return len(one | other) > 1


def members_of(answer):
    if isinstance(answer, Result):
        return answer.members
    return [answer] if answer.series else []


def beside_number(answer, path, function):
    def with_presence(value):
        return function(value)._replace(presence=value.presence)

    points = answer.points and [
        p._replace(value=with_presence(p.value)) for p in answer.points]
    return Result(answer, path, points, with_presence(answer.total),
                  members_of(answer))


def operate(one, other, symbol, named, path, question):
    members = members_of(one) + members_of(other)
    if one.points is None or other.points is None:
        return Result(named, path, None, ANYTHING, members)
    others = {p.time: p for p in other.points}
    points = [Point(p.time, operated(p.value, others[p.time].value, symbol),
                    p.optional or others[p.time].optional)
              for p in one.points if p.time in others]
    result = Result(named, path, points,
                    operated(one.total, other.total, symbol), members)
    if members and not question["unit"]:
        set_presence(result, question)
    return result


def set_presence(result, question):
    """The presence in the tick intervals that all series share."""
    sets = [intervals_in(m.series, question) for m in result.members]
    lengths = {}  # by window: of the time there, and of the time that counts
    if None not in sets:
        for kind in (0, 1):
            for window, start, end in shared([one[kind] for one in sets]):
                lengths.setdefault(window, [0, 0])[kind] += end - start

    def with_presence(value, windows):
        if value.number is None:
            return value
        if None in sets:
            return value._replace(presence=None)
        there = sum(lengths.get(w, [0, 0])[0] for w in windows)
        known = sum(lengths.get(w, [0, 0])[1] for w in windows)
        return value._replace(presence=Fraction(there, known) if known else 1)

    result.points = [p._replace(value=with_presence(
        p.value, [window_of(p.time, question)])) for p in result.points]
    result.total = with_presence(result.total, list(lengths))


def window_of(time, question):
    step = question["step"]
    return -((question["start"] - time) // step) if step else 1


def intervals_in(series, question):
    """The tick intervals (window, start, end) in which a series was there, and
    those that count; None if a clock was set back."""
    times = [t.time for t in series.ticks]
    if times != sorted(times):
        return None
    there, known = [], []
    for start, end, _, is_there in series.intervals:
        if question["start"] < end <= question["end"]:
            interval = window_of(end, question), start, end
            known.append(interval)
            if is_there:
                there.append(interval)
    return there, known


def shared(sets):
    """The intervals that are parts of intervals of all sets."""
    both = sets[0]
    for other in sets[1:]:
        both = list(shared_by_two(both, other))
    return both


def shared_by_two(one, other):
    i = j = 0
    while i < len(one) and j < len(other):
        (window, a, b), (its_window, c, d) = one[i], other[j]
        if window == its_window and max(a, c) < min(b, d):
            yield window, max(a, c), min(b, d)
        if (window, b) < (its_window, d):
            i += 1
        else:
            j += 1


def operated(one, other, symbol):
    if "anything" in (one.status, other.status):
        return ANYTHING
    breaks = total_or_none([one.breaks, other.breaks])
    coverage = None if None in (one.coverage, other.coverage) else min(
        one.coverage, other.coverage)
    cause = one.cause if one.cause or one.cause is None else other.cause
    # The presence in shared tick intervals of thinned data is left open.
    presence = 1 if one.presence == other.presence == 1 else None
    failed = one if one.number is None else other
    if failed.number is None:
        return Value(failed.status, None, failed.cause, breaks, coverage,
                     presence)
    if symbol == "/" and other.number == 0:
        return Value("zero_denominator", None, "", breaks, coverage, presence)
    if symbol in "+-":  # exact until the whole sum is rounded
        sign = 1 if symbol == "+" else -1
        number = one.number + sign * other.number
    elif symbol == "*":
        number = rounded(rounded(one.number) * rounded(other.number))
    else:
        number = rounded(rounded(one.number) / rounded(other.number))
    return Value("ok", number, cause, breaks, coverage, presence)
