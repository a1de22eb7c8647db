"""The places of boxes in a layered drawing: layers by longest path, few crossings, no overlaps."""

from collections.abc import Mapping, Sequence

_SWEEPS = 8


def layers_of(inputs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The layer of each node: one below the lowest of those it reads. `inputs` is in order."""
    layers: dict[str, int] = {}
    for name, read in inputs.items():
        layers[name] = max((layers[other] + 1 for other in read if other in layers), default=0)
    return layers


def sunk(layers: Mapping[str, int], inputs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The layers, with each node that is read just above the first of its readers."""
    found = dict(layers)
    first: dict[str, int] = {}
    for name in reversed(inputs):
        found[name] = first.get(name, found[name] + 1) - 1
        for other in inputs[name]:
            first[other] = min(first.get(other, found[name]), found[name])
    return found


def bent(
    layers: Mapping[str, int], inputs: Mapping[str, Sequence[str]]
) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Layers and inputs with a bend of its own for each layer that an edge would cross.

    Edges from one node share their bends, which are named by `bend`.
    """
    places, read = dict(layers), {name: list(others) for name, others in inputs.items()}
    for name, others in inputs.items():
        for at, other in enumerate(others):
            last = other
            for layer in range(layers[other] + 1, layers[name]):
                at_layer = bend(other, layer)
                if at_layer not in places:
                    places[at_layer], read[at_layer] = layer, [last]
                last = at_layer
            read[name][at] = last
    return places, read


def bend(name: str, layer: int) -> str:
    """The name of the bend in `layer` of the edges from `name`."""
    return f"{name} in layer {layer}"


def arrange(
    layers: Mapping[str, int],
    inputs: Mapping[str, Sequence[str]],
    widths: Mapping[str, float],
    gap: float,
) -> dict[str, float]:
    """The middle of each node along its layer; nodes of a layer keep `gap` apart."""
    rows: dict[int, list[str]] = {}
    for name, layer in layers.items():
        rows.setdefault(layer, []).append(name)
    beside: dict[str, list[str]] = {name: [] for name in layers}
    for name, read in inputs.items():
        for other in read:
            if name in layers and other in layers:
                beside[name].append(other)
                beside[other].append(name)
    middle: dict[str, float] = {}
    for row in rows.values():
        middle.update(_packed(row, dict.fromkeys(row, 0.0), widths, gap))
    for sweep in range(_SWEEPS):
        for layer in sorted(rows, reverse=bool(sweep % 2)):
            wanted = {
                name: sum(middle[other] for other in beside[name]) / len(beside[name])
                if beside[name]
                else middle[name]
                for name in rows[layer]
            }
            rows[layer].sort(key=wanted.__getitem__)
            middle.update(_packed(rows[layer], wanted, widths, gap))
    return middle


def _packed(
    row: Sequence[str], wanted: Mapping[str, float], widths: Mapping[str, float], gap: float
) -> dict[str, float]:
    """The places nearest to those wanted, in order and without overlap.

    Neighbors that would overlap become a block, which stands at the mean of what they want.
    """
    blocks: list[tuple[list[str], float, float]] = []
    for name in row:
        block = ([name], wanted[name], widths[name])
        while blocks and _right(blocks[-1]) + gap > block[1] - block[2] / 2:
            block = _merged(blocks.pop(), block, gap)
        blocks.append(block)
    found = {}
    for names, center, width in blocks:
        left = center - width / 2
        for name in names:
            found[name] = left + widths[name] / 2
            left += widths[name] + gap
    return found


def _right(block: tuple[list[str], float, float]) -> float:
    return block[1] + block[2] / 2


def _merged(one: tuple, other: tuple, gap: float) -> tuple[list[str], float, float]:
    width = one[2] + gap + other[2]
    # Where the left edge would stand, as each part wants it.
    lefts = len(one[0]) * (one[1] - one[2] / 2)
    lefts += len(other[0]) * (other[1] - other[2] / 2 - one[2] - gap)
    left = lefts / (len(one[0]) + len(other[0]))
    return one[0] + other[0], left + width / 2, width
