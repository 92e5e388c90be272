"""Random questions about histories."""

from history import HOUR, MINUTE, SECOND

STEPS = [SECOND // 2, SECOND, 2 * SECOND, 5 * SECOND // 2, 5 * SECOND,
         10 * SECOND, 15 * SECOND, 60 * SECOND]
OVERS = ["", "", "", "avg", "min", "max", "last", "sum"]
OVERS_OF_THINNED = ["", "", "avg", "min", "max", "sum"]
FUNCTIONS = ["avg", "sum", "min", "max", "count", "p50", "p90", "p95", "p99",
             "auto"]


TOTALS = ["_Total"]


def random_question(rng, fleet, unit, scale):
    """A question. `unit` is the resolution of the stored data, or 0. `scale` is the
    interval of the samples in seconds."""
    question = {"over": rng.choice(OVERS_OF_THINNED if unit else OVERS),
                "unit": unit, "only_windows": False}
    set_range(rng, fleet, question, unit, scale)
    kind = rng.randrange(10)
    if kind in (3, 4):
        question["asked"] = [expression(rng, fleet)]
        question["only_windows"] = True
    else:
        question["asked"] = [
            random_path(rng, fleet, wide=kind > 4)
            for _ in range(rng.choice([1, 1, 1, 2]))]
    question["paths"] = [text_of(tree) for tree in question["asked"]]
    if kind in (4, 5, 6, 7):
        question["agg"] = rng.choice(FUNCTIONS)
        question["by"] = random_by(rng)
        question["only_windows"] = True
    if kind in (7, 8, 9) and rng.random() < 0.6:
        question[rng.choice(["top", "bottom"])] = rng.randint(1, 5)
    elif kind in (2, 7, 8, 9):
        question["where"] = [rng.choice([">", ">=", "<", "<=", "!="]),
                             rng.choice([0, 1, 10, 50, 1000, 40000, 1e6])
                             + rng.random()]
    return question


def set_range(rng, fleet, question, unit, scale):
    second = scale * SECOND
    times = [t.time for s in fleet for t in (s.ticks[0], s.ticks[-1])]
    first, last = min(times), max(times)
    a = rng.randint(first - 20 * second, last + 20 * second)
    b = rng.choice(rng.choice(fleet).ticks).time
    if rng.random() < 0.3:
        a = first - 5 * second
    if rng.random() < 0.3:
        b = last
    start, end = min(a, b), max(a, b)
    if rng.random() < 0.3:
        start = start // (10 * second) * (10 * second)
    end = max(end, start + second)
    step = rng.choice([0] + [scale * step for step in STEPS] + [end - start])
    if unit:
        start = start // unit * unit
        end = max(-(-end // unit) * unit, start + 2 * unit)
        step = rng.choice([0, 2 * unit, 3 * unit, end - start])
        if step:
            end = start + max((end - start) // step, 1) * step
    question["start"] = start
    question["end"] = end
    question["step"] = min(step, end - start)


def random_path(rng, fleet, wide=False):
    series = rng.choice(fleet)
    machine = "" if wide or rng.random() < 0.4 else f"\\\\{series.machine.name}"
    counter = series.counter.name
    if rng.random() < 0.05:
        counter = "*"
    if not series.key[0]:
        return f"{machine}\\{series.counterset}\\{counter}"
    instance = rng.choice(["*", "*", "app:*", "?:"] + TOTALS if wide else
                          ["*", "app:*", series.key[0]] + (["twin#1"] if "twin" in series.key else ["*"]))
    return f"{machine}\\{series.counterset}({instance})\\{counter}"


NUMBERS = [2, 100, 0.5, 0.1, 1024, 1e6]


MAX_OPERANDS = 16  # more are refused


def expression(rng, fleet):
    """A tree with an operator, and one to four paths."""
    while True:
        tree = random_tree(rng, fleet, rng.choice([1, 2, 2, 2, 3, 4]))
        if not isinstance(tree, list):
            tree = with_number(rng, tree)
        if operands(tree) <= MAX_OPERANDS:
            return tree


def operands(tree):
    if not isinstance(tree, list):
        return 1
    return operands(tree[0]) + operands(tree[2])


def random_tree(rng, fleet, paths):
    if paths > 1 and rng.random() < 0.5:
        left = rng.randint(1, paths - 1)
        return [random_tree(rng, fleet, left), rng.choice("*/"),
                random_tree(rng, fleet, paths - left)]
    return tree_of_unit(rng, fleet, rng.choice(fleet), paths)


def tree_of_unit(rng, fleet, one, paths):
    """A tree with the unit of a series, so that it can be part of a sum."""
    if rng.random() < 0.25:
        return with_number(rng, tree_of_unit(rng, fleet, one, paths))
    if paths == 1:
        return operand(rng, rng.choice(
            [s for s in fleet if s.counter.unit == one.counter.unit]))
    left = rng.randint(1, paths - 1)
    return [tree_of_unit(rng, fleet, one, left), rng.choice("+-"),
            tree_of_unit(rng, fleet, one, paths - left)]


def with_number(rng, tree):
    """The tree and a number, with the tree's unit."""
    number = rng.choice(NUMBERS)
    if rng.random() < 0.2:
        number = [number, rng.choice("+-*/"), rng.choice(NUMBERS)]
    symbol = rng.choice("+-*/")
    if symbol == "/" or rng.random() < 0.5:
        return [tree, symbol, number]
    return [number, symbol, tree]


def operand(rng, series):
    instance = rng.choice(["*", "*", "app:*", "C:"] + TOTALS)
    instance = f"({instance})" if series.key[0] else ""
    return f"\\{series.counterset}{instance}\\{series.counter.name}"


LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2}


def text_of(tree):
    """With parentheses where the grammar needs them."""
    if not isinstance(tree, list):
        return str(tree)
    left, symbol, right = tree
    texts = []
    for side, least in ((left, LEVELS[symbol]), (right, LEVELS[symbol] + 1)):
        text = text_of(side)
        needs = isinstance(side, list) and LEVELS[side[1]] < least
        texts.append(f"({text})" if needs else text)
    return f" {symbol} ".join(texts)


def random_by(rng):
    properties = ["machine", "instance", "name", "label:role", "counterset",
                  "counter"]
    return rng.sample(properties, rng.choice([0, 0, 1, 1, 1, 2]))
