"""Running Python in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with variables set over this process's."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-X", "faulthandler", "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def output_of(code: str, **environment: str) -> str:
    """Do as run_python does, and give what a program printed that must end well and in silence."""
    done = run_python(code, **environment)
    assert done.returncode == 0 and done.stderr == "", f"exit {done.returncode}\n{done.stderr}"
    return done.stdout
