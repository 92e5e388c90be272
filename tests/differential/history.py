"""Random histories of machines, as the model that the evaluator reads and as the
commands that play them."""

import collections

from counters import BASES, Counter, LINKED, TYPES

SECOND = 10_000_000  # in 100 ns
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
GUIDS = {"Load": "{00000000-0000-4000-8000-0000000010ad}",
         "Plain": "{00000000-0000-4000-8000-00000000f1a1}"}

# What an instance had at a tick. Values are by the counter's name; None where
# the source returned none.
Sample = collections.namedtuple("Sample", "life values")


class Tick:
    """A block of one query. `samples` is None if the query failed."""

    def __init__(self, query, epoch, interval, stamp, time, freq, samples):
        self.query = query
        self.epoch = epoch
        self.interval = interval
        self.stamp = stamp
        self.time = time
        self.freq = freq
        self.samples = samples  # by (instance name, index)


class Machine:
    def __init__(self, name, labels):
        self.name = name
        self.labels = labels
        self.ticks = {"Load": [], "Plain": []}  # by epoch and sequence
        self.losses = []  # (start, end, cause)
        self.born = set()  # lives


class Instance:
    """An instance and its counters, which continue or restart with each life."""

    def __init__(self, name, index, chance):
        self.name = name
        self.index = index
        self.chance = chance  # of coming and going
        self.life = None
        self.values = {}
        self.components = 0
        self.keeps_still = False


class Clock:
    def __init__(self, rng):
        self.time = rng.randint(-120, 0) * SECOND  # near a full hour
        self.freq = SECOND
        self.stamp = 777_000_000_000

    def advance(self, ticks):
        self.time += ticks
        self.stamp += ticks * (self.freq // SECOND)


class Writer:
    """Writes the history of one machine."""

    def __init__(self, rng, name, countersets, options):
        self.rng = rng
        self.options = options
        self.countersets = countersets  # name: counters
        self.machine = Machine(name, {"role": rng.choice(["web", "db"])}
                               if rng.random() < 0.8 else {})
        self.commands = []
        self.clock = Clock(rng)
        self.lives = 0
        self.epoch = 0
        self.interval = SECOND
        self.handles = {}
        self.instances = [Instance("C:", 0, 0.01), Instance("D:", 0, 0.02),
                          Instance("_Total", 0, 0.005),
                          Instance("app:1", 0, 0.1), Instance("app:2", 0, 0.2)]
        self.twins = [Instance("twin", 0, 0), Instance("twin", 1, 0)]
        self.plain = Instance("", 0, 0.0)

    def write(self):
        for self.epoch in range(1, self.rng.randint(1, self.options["epochs"]) + 1):
            self.write_epoch()
        return self.machine

    def write_epoch(self):
        rng = self.rng
        if self.epoch > 1:
            self.clock.advance(rng.randint(0, 20) * SECOND)
        if rng.random() < 0.25:  # the whole machine restarts
            self.clock.stamp = 1000
            self.clock.freq *= 3
        self.commands.append(
            ["agent", self.machine.name, self.epoch, self.machine.labels])
        for instance in self.instances + self.twins + [self.plain]:
            instance.life = None
        for name, counters in self.countersets.items():
            self.commands.append(
                ["counterset", name, name, GUIDS[name], name == "Load",
                 registration(counters)])
        if self.epoch == 1 or rng.random() < 0.3:
            self.choose_interval()
        self.define_queries(0)
        changes = 0
        for i in range(rng.randint(*self.options["ticks"])):
            if rng.random() < self.options["replan"] and self.choose_interval():
                changes += 1
                self.define_queries(changes)
            self.pass_time()
            self.take_tick("Load", self.instances + self.twins)
            self.take_tick("Plain", [self.plain])
            if i == 0 or rng.random() < 0.12:
                self.commands.append(["send"])
                if rng.random() < 0.1:
                    self.commands.append(["compact"])
        self.commands.append(["send"])

    def choose_interval(self):
        """Returns whether there is another interval."""
        others = [i for i in self.options["intervals"] if i != self.interval]
        if others:
            self.interval = self.rng.choice(others)
        return bool(others)

    def define_queries(self, changes):
        for name, counters in self.countersets.items():
            handle = f"{name} query {changes}"
            self.commands.append(
                ["query", handle, name, self.interval, columns(counters)])
            self.handles[name] = handle

    def pass_time(self):
        rng = self.rng
        jitter = (rng.randint(-SECOND // 20, SECOND // 20)
                  if rng.random() < 0.5 else 0)
        self.clock.advance(self.interval + jitter)
        if rng.random() < 0.03:
            self.miss()
        if rng.random() < self.options["clock_steps"]:
            self.clock.time += rng.choice([-1, 1]) * rng.randint(
                2 * SECOND, 20 * SECOND)
        if rng.random() < 0.005:  # the monotonic clock steps
            self.clock.stamp += rng.randint(2, 5) * self.clock.freq

    def miss(self):
        ticks = self.rng.choice([1, 1, 2, 3, 5, 12])
        start = self.clock.time
        self.clock.advance(ticks * self.interval)
        if self.rng.random() < 0.5:
            return
        end = self.clock.time - self.interval
        cause = self.rng.choice(["spool_full", "overrun", "power_cut"])
        self.machine.losses.append((start, end, cause))
        self.commands.append(["loss", start, end, ticks, cause])

    def take_tick(self, name, instances):
        clocks = [self.clock.stamp, self.clock.time, self.clock.freq]
        handle = self.handles[name]
        tick = Tick((self.epoch, handle), self.epoch, self.interval, *clocks, {})
        if self.rng.random() < 0.02:
            tick.samples = None
            self.machine.ticks[name].append(tick)
            self.commands.append(["failure", handle, clocks, 1460])
            return
        if name == "Load":
            self.change_twins()
        rows = []
        for instance in instances:
            if instance not in self.twins:
                self.come_or_go(name, instance)
            self.count(name, instance)
            if instance.life is None:
                continue
            rows.append(self.row_of(name, instance, tick))
        self.machine.ticks[name].append(tick)
        self.commands.append(["tick", handle, clocks, rows])

    def end(self, instance):
        self.commands.append(["retire", f"life {instance.life}"])
        instance.life = None

    def begin(self, name, instance, is_born):
        self.lives += 1
        instance.life = self.lives
        if is_born:
            self.machine.born.add(instance.life)
        self.commands.append(
            ["instance", f"life {instance.life}", name, instance.name, 0,
             instance.index, is_born])

    def come_or_go(self, name, instance):
        rng = self.rng
        is_there = instance.life is not None
        ends = is_there and rng.random() < instance.chance
        if ends:
            self.end(instance)
        begins = (rng.random() < 0.5 if ends else
                  not is_there and (rng.random() < 0.3 or not instance.values))
        if not begins:
            return
        is_born = bool(instance.values) and rng.random() < 0.5
        if is_born:
            instance.values = {}
        self.begin(name, instance, is_born)

    def change_twins(self):
        """A change of their number begins a new life of each."""
        there = [t for t in self.twins if t.life is not None]
        if there and self.rng.random() > 0.03:
            return
        for twin in there:
            self.end(twin)
        for twin in self.twins[:self.rng.randint(0, 2)]:
            self.begin("Load", twin, False)

    def count(self, name, instance):
        """Advances all counters, also while the instance is absent."""
        rng = self.rng
        if not instance.components:
            instance.components = rng.randint(1, 8)
            instance.keeps_still = rng.random() < 0.1
        for counter in self.countersets[name]:
            behaviour = {"raw": "gauge", "fraction": "gauge",
                         "elapsed": "start"}.get(counter.formula, "grows")
            self.advance(instance, counter.name, behaviour, counter.size)
        for linked in linked_of(self.countersets[name]):
            _, size, behaviour = LINKED[linked]
            self.advance(instance, linked, behaviour, size)

    def advance(self, instance, key, behaviour, size):
        rng = self.rng
        value = instance.values.get(key)
        if behaviour == "gauge":
            if value is None or not instance.keeps_still:
                value = rng.randrange(2 if rng.random() < 0.2 else 100_000)
        elif behaviour == "start":
            if value is None or rng.random() < 0.02:
                value = self.object_time() - rng.randrange(-1, 3) * SECOND
        elif behaviour == "clock":
            value = self.object_time()
        elif behaviour == "frequency":
            value = 0 if rng.random() < 0.005 else SECOND
        elif behaviour == "components":
            value = instance.components
        else:
            value = self.grow(value, size, key)
        instance.values[key] = value

    def grow(self, value, size, key):
        rng = self.rng
        if value is None:
            return rng.randrange(1000)
        if rng.random() < 0.01:
            return rng.randrange(1000)  # a reset
        if rng.random() < 0.3:
            return value
        most = 1_000_000_000 if rng.random() < 0.2 else 5_000_000
        return (value + rng.randrange(most)) % 2**(8 * size)

    def object_time(self):
        return self.clock.time + 10_000 * SECOND

    def row_of(self, name, instance, tick):
        values = {key: None if self.rng.random() < 0.01 else value
                  for key, value in instance.values.items()}
        tick.samples[instance.name, instance.index] = Sample(
            instance.life, values)
        keys = [c.name for c in self.countersets[name]] + linked_of(
            self.countersets[name])
        return [f"life {instance.life}", [values[key] for key in keys]]


def linked_of(counters):
    return sorted({name for counter in counters for name in counter.linked})


def ids_of(counters):
    return {name: len(counters) + 1 + i
            for i, name in enumerate(linked_of(counters))}


def registration(counters):
    ids = ids_of(counters)
    result = []
    for counter in counters:
        entry = {"id": counter.id, "type": counter.type, "name": counter.name}
        if counter.reference in BASES:
            entry["base"] = ids[counter.reference]
        if counter.reference == "object":
            entry["time"] = ids["object"]
            entry["freq"] = ids["object_freq"]
        if "multi" in counter.linked:
            entry["multi"] = ids["multi"]
        result.append(entry)
    for name, number in ids.items():
        result.append({"id": number, "type": LINKED[name][0]})
    return result


def columns(counters):
    result = [{"id": c.id, "size": c.size, "only_linked": False,
               "wraps": c.wraps} for c in counters]
    for name, number in ids_of(counters).items():
        result.append({"id": number, "size": LINKED[name][1],
                       "only_linked": True, "wraps": False})
    return result


def random_counters(rng, least, most):
    names = rng.sample(sorted(TYPES), rng.randint(least, most))
    counters = []
    for name in sorted(names):
        size = rng.choice([4, 8])
        wraps = size == 4 and rng.random() < 0.5
        counters.append(Counter(len(counters) + 1, name, size, wraps))
    return counters
