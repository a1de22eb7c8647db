"""What a call costs beyond its kernel: sparseops beside `torch.autograd.Function`.

Run `python benchmarks/dispatch.py`. The kernels do next to nothing, so what is measured is
dispatch: inference, checks, recording, and the walk back. The cases are interleaved in one process,
and the figure of each is the median over rounds of the time of one call; torch is left out where it
is not installed. The gradient rule is two operators.
"""

import argparse
import json
import statistics
import time

import numpy as np

import sparseops as so

try:
    import torch
except ImportError:
    torch = None


@so.operator
def twice(x):
    """`x` passed through, for measuring."""
    return x.shape, x.dtype


@twice.forward("dense -> dense", "csr -> csr")
def _kernel(backend, x):
    return x.with_data(x.data)


@twice.backward("x", "dense -> dense", "csr -> csr")
def _rule(g):
    return twice(twice(g))


def cases():
    """Functions to time, by name."""
    found = {}
    for stype in ("dense", "csr"):
        x = so.array(np.eye(3)).tostype(stype)
        found[f"{stype}: kernel"] = lambda x=x: _kernel(x.backend, x.storage)
        found[f"{stype}: forward"] = lambda x=x: twice(x)
        found[f"{stype}: forward + tape + backward"] = lambda x=x: _differentiate(x)
    if torch is not None:
        found |= _torch_cases()
    return found


def _differentiate(x):
    with so.Tape() as tape:
        y = twice(x)
    return tape.gradient(y, x, output_gradients=x)


def _torch_cases():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g.view_as(g).view_as(g)

    x = torch.eye(3, dtype=torch.float64)
    leaf = torch.eye(3, dtype=torch.float64, requires_grad=True)

    def differentiate():
        y = Twice.apply(leaf)
        return torch.autograd.grad(y, leaf, grad_outputs=x)

    return {
        "torch: kernel": lambda: x.view_as(x),
        "torch: forward": lambda: Twice.apply(leaf),
        "torch: forward + backward": differentiate,
    }


def measure(functions, rounds, calls):
    """The median microseconds of one call of each function, over interleaved rounds."""
    times = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            for _ in range(calls):
                function()
            times[name].append((time.perf_counter() - start) / calls * 1e6)
    return {name: statistics.median(found) for name, found in times.items()}


def main():
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(cases(), options.rounds, options.calls)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, micros in found.items():
        kernel = found[name.split(":")[0] + ": kernel"]
        kernels = 3 if "backward" in name else 1
        print(f"{name:34s} {micros:8.2f} us   over the kernel {micros - kernels * kernel:8.2f} us")
    if torch is None:
        print("torch is not installed, so there is nothing to compare with")
        return
    for stype in ("dense", "csr"):
        forward = found["torch: forward"] / found[f"{stype}: forward"]
        both = found["torch: forward + backward"] / found[f"{stype}: forward + tape + backward"]
        ratios = f"{forward:.2f} times as long forward, {both:.2f} forward + backward"
        print(f"{stype}: torch takes {ratios}")


if __name__ == "__main__":
    main()
