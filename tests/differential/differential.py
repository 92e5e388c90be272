#!/usr/bin/env python3
"""Compares answers of the aggregator's query code with those of an independent
evaluator, for random questions about random histories.

  differential.py PLAY_HISTORY [--questions N] [--seed N] [--keep-going N]

Numbers agree within 1e-9 of the largest number that enters a difference; times,
statuses and labels agree exactly. A difference is printed with its question, and
the commands that lead to it are written to a file that PLAY_HISTORY reads.
"""

import argparse
import itertools
import json
import random
import subprocess
import sys
import time

import answers
import history
import questions
from evaluator import Series

TOLERANCE = 1e-9
PLANS = [
    # Short histories with everything.
    {"ticks": (10, 60), "intervals": [history.SECOND] * 2 + [
        2 * history.SECOND, 5 * history.SECOND], "replan": 0.01,
     "clock_steps": 0.015},
    # Histories of several minutes, which are thinned.
    {"ticks": (100, 200), "intervals": [history.SECOND], "replan": 0,
     "clock_steps": 0},
]


class Program:
    """The process that answers."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.commands = []  # since the store was started

    def play(self, command):
        if command[0] == "store":
            self.commands = []
        self.commands.append(command)
        self.process.stdin.write(json.dumps(command) + "\n")

    def ask(self, question):
        self.process.stdin.write(json.dumps(["ask", question]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


# Comparison.

def differs(expected, point, question):
    """What differs between a value and the program's point; empty if nothing."""
    _, status, number, cause, breaks, coverage, presence = point
    if expected.status == "anything":
        return ""
    if expected.status != status:
        return f"status {status}, expected {expected.status}"
    if status == "ok" and not is_close(expected, number):
        return f"{number}, expected {float(expected.number)}"
    if expected.breaks is not None and expected.breaks != breaks:
        return f"{breaks} breaks, expected {expected.breaks}"
    if "agg" not in question and status == "ok" and (
            expected.presence is not None) and (
                abs(expected.presence - presence) > TOLERANCE):
        return f"presence {presence}, expected {float(expected.presence)}"
    is_combined = question["only_windows"]
    if is_combined and question["unit"]:
        return ""  # also of series that ended, see with_common_end
    if expected.cause is not None and expected.cause != cause:
        return f"cause {cause!r}, expected {expected.cause!r}"
    if expected.coverage is not None and abs(
            expected.coverage - coverage) > 1e-6:
        return f"coverage {coverage}, expected {float(expected.coverage)}"
    return ""


def is_close(expected, number):
    exact = float(expected.number)
    return abs(exact - number) <= TOLERANCE * max(
        abs(exact), abs(number), float(expected.scale))


def without_end(points, time_of, has_value, last):
    """Without the windows after `last` that have no value."""
    while points and time_of(points[-1]) > last and not has_value(points[-1]):
        points = points[:-1]
    return points


def with_common_end(expected, points):
    """When a series ended is known to a minute or hour only."""
    if not expected or not points:
        return expected, points
    return (without_end(expected, lambda p: p.time,
                        lambda p: p.value.status in ("ok", "anything"),
                        points[-1][0]),
            without_end(points, lambda p: p[0], lambda p: p[1] == "ok",
                        expected[-1].time))


def compare_points(expected, points, question):
    if question["unit"]:
        expected, points = with_common_end(expected, points)
    for point, got in itertools.zip_longest(expected, points):
        if got is None and point.value.status == "anything":
            continue
        if got is None:
            return f"nothing at {point.time}, expected {text_of(point.value)}"
        if point is None or point.time != got[0]:
            return f"{got}, expected " + (
                "nothing" if point is None else
                f"{text_of(point.value)} at {point.time}")
        problem = differs(point.value, got, question)
        if problem:
            return f"at {point.time}: {problem}"
    return ""


def text_of(value):
    return value.status if value.number is None else str(float(value.number))


def name_of(expected, question):
    if "agg" not in question:
        return expected.machine, expected.path
    return (expected.machine, expected.path, expected.instance[0],
            str(expected.labels))


def name_of_got(series, question):
    if "agg" not in question:
        return series["machine"], series["path"]
    return (series["machine"], series["path"], series.get("instance", ""),
            str(series["labels"]))


def compare(expected, got, question):
    if "error" in got:
        return f"{got['error']}: {got['message']}"
    series = got["series"]
    if len(series) != len(expected):
        got = {name_of_got(s, question) for s in series}
        wanted = {name_of(e, question) for e in expected}
        return (f"{len(series)} series, expected {len(expected)}: more "
                f"{got - wanted}, fewer {wanted - got}")
    for one, other in zip(expected, series):
        if name_of(one, question) != name_of_got(other, question):
            return (f"{name_of_got(other, question)}, expected "
                    f"{name_of(one, question)}")
        problem = (compare_points(one.points, other["points"], question) or
                   differs(one.total, other["total"], question))
        if problem:
            return f"{other['machine']} {other['path']}: {problem}"
    return ""


# Histories.

class Run:
    def __init__(self, arguments):
        self.rng = random.Random(arguments.seed)
        self.program = Program(arguments.play_history)
        self.left = arguments.questions
        self.keep_going = arguments.keep_going
        self.asked = 0
        self.left_open = 0
        self.differences = 0

    def new_fleet(self, options):
        countersets = {
            "Load": history.random_counters(self.rng, 4, 9),
            "Plain": history.random_counters(self.rng, 2, 3)}
        self.program.play(["store"])
        machines = []
        for i in range(self.rng.choice([1, 2, 3])):
            writer = history.Writer(self.rng, f"web-{i}", countersets, options)
            machines.append(writer.write())
            for command in writer.commands:
                self.program.play(command)
        fleet = []
        for machine in machines:
            for name, counters in countersets.items():
                keys = sorted({key for t in machine.ticks[name]
                               if t.samples for key in t.samples})
                fleet += [Series(machine, name, key, counter)
                          for key in keys for counter in counters]
        return answers.Fleet(fleet)

    def ask(self, fleet, unit, count):
        for _ in range(count):
            if self.left == 0:
                return
            self.left -= 1
            question = questions.random_question(self.rng, fleet.series, unit)
            got = self.program.ask(question)
            expected = answers.answer(fleet, question)
            if expected is None:
                self.left += 1
                self.left_open += 1
                continue
            self.asked += 1
            if got.get("error") == "NOT_FOUND" and answers.is_not_found(
                    fleet, question):
                continue
            problem = compare(expected, got, question)
            if problem:
                self.report(question, problem)

    def report(self, question, problem):
        self.differences += 1
        name = f"difference-{self.differences}.jsonl"
        with open(name, "w") as file:
            for command in self.program.commands + [["ask", question]]:
                file.write(json.dumps(command) + "\n")
        print(f"{name}: {json.dumps(question)}\n  {problem[:700]}")
        if self.differences > self.keep_going:
            sys.exit(1)

    def play(self):
        while self.left > 0:
            options = PLANS[self.rng.random() < 0.3]
            fleet = self.new_fleet(options)
            self.ask(fleet, 0, 120)
            self.program.play(["compact"])
            self.ask(fleet, 0, 120)
            if options is not PLANS[1]:
                continue
            self.program.play(["thin", "minute"])
            self.ask(fleet, history.MINUTE, 100)
            self.program.play(["thin", "hour"])
            self.ask(fleet, history.HOUR, 30)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("play_history")
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep-going", type=int, default=0)
    run = Run(parser.parse_args())
    start = time.monotonic()
    run.play()
    print(f"{run.asked} questions, {run.differences} differences, "
          f"{run.left_open} left open by the rules, "
          f"{time.monotonic() - start:.0f} s")
    sys.exit(1 if run.differences else 0)


if __name__ == "__main__":
    main()
