"""A machine with a quick start, in a directory that looks like a clone whose
programs are built."""

import os
import pathlib
import subprocess

class Quickstart:
    def __init__(self, source, build, directory, name):
        self.directory = pathlib.Path(directory)
        clone = self.directory
        for entry in ("README.md", "docs", "proto"):
            (clone / entry).symlink_to(source / entry)
        (clone / "build").mkdir()
        (clone / "build" / "release").symlink_to(build)
        (clone / "deploy").mkdir()
        (clone / "deploy" / "quickstart").symlink_to(source / "deploy" / "quickstart")
        # The packages are installed, and the programs are built.
        write_program(clone / "deploy" / "install-deps", "true")
        write_program(clone / "bin" / "cmake", "echo 'ninja: no work to do.'")
        write_program(clone / "bin" / "hostname", f"echo {name}")
        (clone / "home").mkdir()
        self.environment = {
            "HOME": str(clone / "home"),
            "PATH": f"{clone / 'bin'}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        }

    def start(self):
        self._run("deploy/quickstart", "--background")

    def stop(self):
        self._run("deploy/quickstart", "--stop")

    def fleetperf(self, *arguments):
        """Runs the command line as an operator. Returns its standard output; an
        empty one if it fails."""
        done = subprocess.run(
            [self.directory / "build/release/bin/fleetperf", "--config",
             self.directory / ".quickstart/operator.yaml", *arguments],
            capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else ""

    def _run(self, *command):
        # Daemons would hold a pipe open.
        log = self.directory / "quickstart.log"
        with log.open("w") as file:
            done = subprocess.run(
                command, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=file,
                stderr=file, env=os.environ | self.environment, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed:\n{log.read_text()}")


def write_program(path, command):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)
