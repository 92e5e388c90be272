"""Selects, combines and calculates with the values of series.

Written from docs/reference/query-rules.md, not from the aggregator's code.
"""

import fnmatch
import operator
import re
from fractions import Fraction

import evaluator
import rules
from evaluator import ANYTHING, Answer, Point, Value

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
            answers += calculate(fleet, tree, question)
    if any(a.points is None for a in answers):
        return None
    # Results without a common label are not answered.
    answers = [a for a in answers if a.points or a.series]
    if "top" in question or "bottom" in question:
        return ranked(answers, question)
    return kept(answers, question)


def has_missing_path(fleet, question):
    """Whether a path selects no series that has a value."""
    chooses = any(key in question for key in ("top", "bottom", "where"))
    question = question | {"leaves_out": chooses or "agg" in question}
    return any(not answers_of(fleet, [path], question)
               for tree in question["asked"] for path in leaves(tree))


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
                has_wildcards(instance))


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
    answers.sort(key=lambda a: (a.machine, a.path.encode()))
    return group(answers, question) if "agg" in question else answers


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
    return answers[:question.get("top") or question.get("bottom")]


def rank(answer, question):
    """None if the rules leave it open."""
    if answer.total.number is None:
        return 0
    if answer.total.presence is None:
        return None
    if answer.series is None:
        return answer.total.number * answer.total.presence
    return answer.total.number * weight(answer, answer.total, question)


# Groups.

def weight(answer, value, question):
    counter = answer.series.counter
    if (not rules.PRESENCE or question["over"] not in ("", "avg") or
            counter.formula in ("delta", "elapsed")):
        return 1
    return value.presence


def key_of(answer, question):
    """The properties that keep groups apart."""
    by = question["by"]
    series = answer.series
    if "counterset" in by and "counter" not in by:
        is_count = question["agg"] == "count" and rules.PAGE
        kind = "" if is_count else answer.unit
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
            at.setdefault(point.time, []).append((member, point.value))
    result.points = [Point(time, combined(values, question))
                     for time, values in sorted(at.items())]
    result.total = combined([(m, m.total) for m in members], question)
    return result


def combined(values, question):
    """The value of a group in a window."""
    if any(v.status == "anything" for _, v in values):
        return ANYTHING
    causes = {v.cause for _, v in values} - {""}
    cause = causes.pop() if len(causes) == 1 else None if causes else ""
    breaks = total_or_none([v.breaks for _, v in values])
    coverage = total_or_none([v.coverage for _, v in values])
    if coverage is not None:
        coverage = Fraction(coverage) / len(values)
    there = [(m, v) for m, v in values if v.number is not None]
    # A gauge may hold its value in a window in which it was absent.
    if any(v.presence == 0 for _, v in there):
        there = [(m, v) for m, v in there if weight(m, v, question)]
        if not there:
            return ANYTHING
    if not there:
        statuses = {v.status for _, v in values}
        return Value(statuses.pop() if len(statuses) == 1 else "none", None,
                     cause, breaks, coverage)
    if any(v.growth == evaluator.HELD for _, v in there) and (
            question["agg"] in ("avg", "auto")):
        return ANYTHING
    number = combined_number(there, question)
    scale = max(v.scale for _, v in there)
    if question["agg"] == "count":
        scale = 0
    elif any(m.series.counter.formula == "average_timer" for m, _ in there):
        scale = max(scale, 10_000 * number)  # converted ticks are whole
    return Value("ok", number, cause, breaks, coverage, scale=scale)


def total_or_none(numbers):
    return None if None in numbers else sum(numbers)


def combined_number(there, question):
    function = question["agg"]
    numbers = sorted(v.number for _, v in there)
    weights = [weight(m, v, question) for m, v in there]
    if function == "auto":
        function = there[0][0].series.counter.default_function
    if function in ("min", "max"):
        return numbers[0 if function == "min" else -1]
    if function.startswith("p"):
        return numbers[-(-int(function[1:]) * len(numbers) // 100) - 1]
    if function == "count":
        return sum(weights)
    weighted = sum(v.number * w for (_, v), w in zip(there, weights))
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

def calculate(fleet, tree, question):
    if isinstance(tree, (int, float)):
        return tree
    if isinstance(tree, str):
        return answers_of(fleet, [tree], question)
    left, symbol, right = tree
    one, other = (calculate(fleet, side, question) for side in (left, right))
    if isinstance(one, (int, float)):
        return [operate(constant(one, b), b, symbol, b) for b in other]
    if isinstance(other, (int, float)):
        return [operate(a, constant(other, a), symbol, a) for a in one]
    by_machine = joins_by_machine(left, right)
    takes_right = fixed_to(left) is not None and fixed_to(right) is None
    return [operate(a, b, symbol, b if takes_right else a)
            for a in one for b in other
            if a.machine == b.machine and a.labels == b.labels and
            (by_machine or a.instance == b.instance)]


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
    return one != other


def constant(number, other):
    value = Value("ok", Fraction(number))
    result = Answer(other.machine, str(number), other.points and [
        Point(p.time, value) for p in other.points], value)
    return result


def operate(one, other, symbol, named):
    """`named` has the instance of the result."""
    path = f"{one.path} {symbol} {other.path}"
    if one.points is None or other.points is None:
        result = Answer(named.machine, path, None, ANYTHING)
        result.instance = named.instance
        return result
    values = {p.time: p.value for p in other.points}
    points = [Point(p.time, operated(p.value, values[p.time], symbol))
              for p in one.points if p.time in values]
    result = Answer(named.machine, path, points,
                    operated(one.total, other.total, symbol))
    result.instance = named.instance
    result.labels = named.labels
    return result


def operated(one, other, symbol):
    if "anything" in (one.status, other.status):
        return ANYTHING
    breaks = total_or_none([one.breaks, other.breaks])
    coverage = None if None in (one.coverage, other.coverage) else min(
        one.coverage, other.coverage)
    cause = one.cause if one.cause or one.cause is None else other.cause
    # The presence in shared tick intervals is left open.
    presence = 1 if one.presence == other.presence == 1 else None
    failed = one if one.number is None else other
    if failed.number is None:
        return Value(failed.status, None, cause, breaks, coverage, presence)
    if symbol == "/" and other.number == 0:
        return Value("zero_denominator", None, cause, breaks, coverage,
                     presence)
    number = {"+": operator.add, "-": operator.sub, "*": operator.mul,
              "/": divide}[symbol](one.number, other.number)
    return Value("ok", number, cause, breaks, coverage, presence,
                 scale=scale_of(one, other, symbol, number))


def divide(one, other):
    return Fraction(one) / other


def scale_of(one, other, symbol, number):
    """The size of the terms of the differences in a number."""
    sizes = [max(abs(v.number), v.scale) for v in (one, other)]
    if symbol in "+-":
        return max(sizes)
    if not one.scale and not other.scale:
        return 0
    if symbol == "*":
        return sizes[0] * sizes[1]
    return sizes[0] / abs(other.number) * sizes[1] / abs(other.number)
