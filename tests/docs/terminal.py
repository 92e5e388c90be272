"""A shell in a terminal of 120 columns and 24 rows, as a reader of a page has one."""

import contextlib
import dataclasses
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

PATIENCE = 60  # seconds that a command may take
COLUMNS = 120
ROWS = 24
# Ends the output of a command: its exit status between two of these.
MARK = "\x1e"
# These run until Ctrl-C. A live table is long enough after this many headers.
ENDLESS = re.compile(r"(?s)fleetperf watch (?!.*--(count|for)\b)|deploy/quickstart$")
TABLES_BEFORE_CTRL_C = 4
HEADER = re.compile(r"^.*\bVALUE +UNIT\b", re.MULTILINE)


@dataclasses.dataclass
class Result:
    command: str
    status: int
    output: str


class Terminal:
    """Runs commands in one shell, one after the other."""

    def __init__(self, directory, environment):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        attributes = termios.tcgetattr(slave)
        attributes[1] &= ~termios.OPOST  # "\n" stays as it is
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        read_end, self.commands = os.pipe()
        loop = (f"while IFS= read -r -u {read_end} -d '{MARK}' command; do "
                f"eval \"$command\" {read_end}<&-; "
                f"printf '{MARK}%d{MARK}' $?; done")
        # TERM=dumb: without colors, and tables of watch follow each other.
        self.shell = subprocess.Popen(
            ["bash", "-c", loop], cwd=directory,
            env=environment | {"TERM": "dumb", "LANG": "C.UTF-8"},
            stdin=slave, stdout=slave, stderr=slave, pass_fds=[read_end],
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        os.close(read_end)

    def run(self, command):
        os.write(self.commands, (command + MARK).encode())
        is_endless = ENDLESS.search(command) is not None
        output = ""
        bytes_read = b""
        deadline = time.monotonic() + PATIENCE
        while True:
            ready, _, _ = select.select(
                [self.master], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no end after {PATIENCE} s: {command}\n{output}")
            bytes_read += os.read(self.master, 1 << 16)
            output = bytes_read.decode(errors="replace")
            if is_endless and len(HEADER.findall(output)) >= TABLES_BEFORE_CTRL_C:
                os.write(self.master, b"\x03")
                is_endless = False
            if match := re.search(f"{MARK}(\\d+){MARK}$", output):
                return Result(command, int(match[1]), output[:match.start()])

    def close(self):
        """Ends the shell and, as a terminal that is closed, what it has started."""
        os.close(self.commands)
        os.close(self.master)
        for process in self.session():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGHUP)
        self.shell.wait()

    def session(self):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(int(name)) == self.shell.pid:
                    yield int(name)
