"""The processes of the peers, and how they are asked."""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]

#: Peers may run in interpreters where sparseops cannot be imported: they get its folder alone.
_BARE = """
import sys, types
package = types.ModuleType("sparseops")
package.__path__ = [{path!r}]
sys.modules["sparseops"] = package
"""
_SERVE = "from sparseops.bench.worker import serve; serve({peer!r}, {threads})"
_THREADS = "OMP MKL OPENBLAS NUMEXPR VECLIB GOTO".split()


class PeerError(RuntimeError):
    """What went wrong in a peer, said in a line."""


class Process:
    """A peer in a process of its own.

    Parameters
    ----------
    peer : str
        Its name.
    python : str
        The interpreter that has it.
    threads : int
        How many threads it may have.
    """

    def __init__(self, peer: str, python: str = sys.executable, threads: int = 1):
        self.peer = peer
        code = _SERVE.format(peer=peer, threads=threads)
        if peer != "sparseops":
            code = _BARE.format(path=str(PACKAGE)) + code
        self._log = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [python, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment(peer, threads),
        )
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._process.stdout, selectors.EVENT_READ)

    def ask(self, do: str, seconds: float = 120, **message: Any) -> Mapping[str, Any]:
        """The answer to one request; PeerError if it fails, dies, or takes longer."""
        self._wake(True)
        try:
            print(json.dumps({"do": do, **message}), file=self._process.stdin, flush=True)
        except OSError:
            raise PeerError(self._end()) from None
        if not self._ready.select(seconds):
            self.close()
            raise PeerError(f"no answer in {seconds:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(self._end())
        self._wake(False)
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def _wake(self, awake: bool) -> None:
        """Let the process run, or stop it: threads of OpenMP spin long after their work is done,
        and would take processors from the peer that is asked next.
        """
        if hasattr(signal, "SIGSTOP"):
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGCONT if awake else signal.SIGSTOP)

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        with suppress(OSError):  # what was not read yet cannot be sent any more
            self._process.stdin.close()
        self._process.stdout.close()
        self._ready.close()

    def _end(self) -> str:
        self._process.wait()
        self._log.seek(0)
        lines = self._log.read().strip().splitlines()
        return lines[-1][:200] if lines else f"ended with status {self._process.returncode}"


def environment(peer: str, threads: int) -> dict[str, str]:
    """The variables of a peer's process: the same number of threads for all."""
    dropped = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONPATH")
    found = {name: value for name, value in os.environ.items() if name not in dropped}
    found |= {f"{name}_NUM_THREADS": str(threads) for name in _THREADS}
    found |= {"PYTHONSAFEPATH": "1", "MXNET_CPU_WORKER_NTHREADS": str(threads)}
    if threads == 1:
        found["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    if peer == "sparseops":
        found["PYTHONPATH"] = str(PACKAGE.parent)
    return found
