#!/usr/bin/env python3
"""Compares answers of the aggregator's query code with those of an independent
evaluator, for random questions about random histories.

  differential.py PLAY_HISTORY [--questions N] [--seed N] [--keep-going N]

Answers agree exactly: numbers are the doubles nearest to the exact results. Each
question is asked before the data are merged, after it, and after thinning, as far
as thinned data have the numbers; PLAY_HISTORY answers it with 1, 2 and 7 threads. A
difference is printed with its question, and the commands that lead to it are
written to a file that PLAY_HISTORY reads.
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

PLANS = [
    # Short histories with everything.
    {"ticks": (10, 60), "epochs": 3, "machines": [1, 2, 3, 8],
     "counters": (4, 9), "replan": 0.01, "clock_steps": 0.015, "units": [],
     "intervals": [history.SECOND] * 2 + [
         2 * history.SECOND, 5 * history.SECOND]},
    # Histories of several minutes, which are thinned.
    {"ticks": (100, 200), "epochs": 3, "machines": [1, 2, 3],
     "counters": (4, 9), "replan": 0, "clock_steps": 0,
     "units": [history.MINUTE, history.HOUR], "intervals": [history.SECOND]},
    # Histories of 26 hours or more, which are thinned to hours. Ticks are rare,
    # so that they are as fast.
    {"ticks": (320, 350), "epochs": 2, "machines": [1, 2],
     "counters": (3, 5), "replan": 0, "clock_steps": 0,
     "units": [history.HOUR], "intervals": [300 * history.SECOND]},
]
NAMES = {history.MINUTE: "minute", history.HOUR: "hour"}


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
        return self.process.stdout.readline()


# Comparison.

def differs(expected, point, question):
    """What differs between a value and the program's point; empty if nothing."""
    _, status, number, cause, breaks, coverage, presence = point
    if expected.status == "anything":
        return ""
    if expected.status != status:
        return f"status {status}, expected {expected.status}"
    if status == "ok" and number != float(expected.number):
        return f"{number!r}, expected {float(expected.number)!r}"
    if expected.breaks is not None and expected.breaks != breaks:
        return f"{breaks} breaks, expected {expected.breaks}"
    if "agg" not in question and status == "ok" and (
            expected.presence is not None) and (
                presence != float(expected.presence)):
        return f"presence {presence}, expected {float(expected.presence)}"
    is_combined = question["only_windows"]
    if is_combined and question["unit"]:
        return ""  # also of series that ended, see with_common_end
    if expected.cause is not None and expected.cause != cause:
        return f"cause {cause!r}, expected {expected.cause!r}"
    if expected.coverage is not None and coverage != float(expected.coverage):
        return f"coverage {coverage}, expected {float(expected.coverage)}"
    return ""


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
        times = {point[0] for point in points}
        expected = [p for p in expected if not p.optional or p.time in times]
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
            "Load": history.random_counters(self.rng, *options["counters"]),
            "Plain": history.random_counters(self.rng, 2, 3)}
        self.program.play(["store"])
        machines = []
        for i in range(self.rng.choice(options["machines"])):
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

    def random_questions(self, fleet, options, unit, count):
        scale = options["intervals"][0] // history.SECOND
        return [questions.random_question(self.rng, fleet.series, unit, scale)
                for _ in range(count)]

    def ask(self, fleet, asked):
        """Asks questions, each with the answer that it had before, if any.
        Returns them with their answers."""
        answered = []
        for question, expected, before in asked:
            if self.left == 0:
                break
            expected = expected or answers.answer(fleet, question)
            if expected is None:
                self.left_open += 1
                continue
            self.left -= 1
            self.asked += 1
            got = self.program.ask(question)
            answered.append((question, expected, got))
            problem = self.problem_of(fleet, question, expected, got, before)
            if problem:
                self.report(question, problem)
        return answered

    def problem_of(self, fleet, question, expected, text, before):
        got = json.loads(text)
        if got.get("error") == "NOT_FOUND" and answers.is_not_found(
                fleet, question):
            return ""
        if before and text != before:
            return f"{text}, before {before}"
        return compare(expected, got, question)

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
            options = self.rng.choices(PLANS, [5, 2, 2])[0]
            fleet = self.new_fleet(options)
            of_units = [(unit, self.random_questions(fleet, options, unit, 40))
                        for unit in options["units"]]
            asked = self.random_questions(fleet, options, 0, 80) + [
                question | {"unit": 0}
                for _, of_unit in of_units for question in of_unit]
            before = self.ask(fleet, [(one, None, None) for one in asked])
            self.program.play(["compact"])
            self.ask(fleet, before)
            for unit, of_unit in of_units:
                for name in NAMES.values():
                    self.program.play(["thin", name])
                    if name == NAMES[unit]:
                        break
                self.ask(fleet, [(one, None, None) for one in of_unit])


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
