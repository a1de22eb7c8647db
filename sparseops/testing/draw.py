"""Cases drawn at random: the same ones for the same seed, each by its number alone."""

from collections.abc import Mapping
from math import prod
from random import Random
from typing import Any

import numpy as np

from sparseops.signature import SCALAR
from sparseops.spec import STORAGES
from sparseops.testing import palettes
from sparseops.testing.axes import shape_of
from sparseops.testing.case import Case
from sparseops.testing.features import whole_rows
from sparseops.testing.sample import Sample, sample_of
from sparseops.testing.subject import Combination, Subject

_SIDES = (1, 2, 3, 4, 2, 3, 4)
_COUNTS = (2, 2, 1, 3)
_DENSE_LAYOUTS = ("strided", "fortran", "offset", "reversed", "broadcast", "big_endian")
_SPARSE_LAYOUTS = ("strided", "offset", "big_endian")
#: What can be unusual, of every input and of sparse ones alone.
_ANYWHERE = ("dtype", "no length", "layout", "special", "declared", "read_only")
_SPARSE = ("unsorted", "duplicates", "zeros", "int64")
_HOW_MANY = (2, 2, 3)
#: What is unusual about six cases after one another: nothing, another dtype, one or a few features.
_KINDS = ("plain", "dtype", "one", "few", "one", "few")


class Impossible(Exception):
    """The domain of an input has no value for the lengths that were drawn."""


class Drawer:
    """The cases of one subject and seed.

    They are of four kinds: with nothing unusual but the values, with another dtype, with one
    feature and with a few. Each kind goes through all combinations of storages.
    """

    def __init__(self, subject: Subject, seed: int):
        self.subject = subject
        self.seed = seed
        self._combinations: dict[tuple[int, int], tuple[list, list]] = {}

    def case(self, number: int) -> Case | None:
        """Case `number`; None where its domain has no values."""
        rng = Random(self.seed * 1_000_003 + number)
        which = number % len(self.subject.params)
        count = len(self.subject.axes.inputs)
        if self.subject.axes.repeated:
            count += _COUNTS[number % len(_COUNTS)] - 1
        turn = number // len(self.subject.params)
        found = self._combination(which, count, turn)
        if found is None:
            return None
        features = self._features(rng, found, turn)
        try:
            return _Draw(self.subject, rng, features, number).case(which, found)
        except Impossible:
            return None

    def native(self, which: int = 0) -> list[Combination]:
        """The combinations of storages that signatures take as they are."""
        count = len(self.subject.axes.inputs) + self.subject.axes.repeated
        return list(dict.fromkeys(self._known(which, count)[0]))

    def _combination(self, which: int, count: int, turn: int) -> Combination | None:
        native, others = self._known(which, count)
        turn = _turn_of_kind(turn)
        if others and (turn % 5 == 4 or not native):
            return others[turn // 5 % len(others)]
        return native[(turn - turn // 5) % len(native)] if native else None

    def _known(self, which: int, count: int) -> tuple[list[Combination], list[Combination]]:
        if (which, count) not in self._combinations:
            found = self.subject.combinations(self.subject.params[which], count)
            native = [combination for combination in found if combination.native]
            # Twice as often with something sparse as without.
            native += [c for c in native if {"csr", "row_sparse"} & set(c.stypes)]
            others = [combination for combination in found if not combination.native]
            self._combinations[which, count] = native, others
        return self._combinations[which, count]

    def _features(self, rng: Random, combination: Combination, turn: int) -> tuple[str, ...]:
        kind = _KINDS[turn % len(_KINDS)]
        if kind in ("plain", "dtype"):
            return () if kind == "plain" else (kind,)
        sparse = {"csr", "row_sparse"} & set(combination.stypes)
        names = [*_ANYWHERE, *(_SPARSE if sparse else ())]
        # The package's own arrays are read-only anyway.
        names.remove("declared" if self.subject.dialect == "scipy" else "read_only")
        count = 1 if kind == "one" else rng.choice(_HOW_MANY)
        return tuple(rng.sample(names, count))


def _turn_of_kind(turn: int) -> int:
    """Which one of its kind the case of this turn is."""
    kind, whole = _KINDS[turn % len(_KINDS)], turn // len(_KINDS)
    return whole * _KINDS.count(kind) + _KINDS[: turn % len(_KINDS)].count(kind)


class _Draw:
    """One case in the making."""

    def __init__(self, subject: Subject, rng: Random, features: tuple[str, ...], number: int):
        self.subject = subject
        self.rng = rng
        self.features = features
        self.number = number
        kinds = (palettes.exact, palettes.smooth, palettes.exact, palettes.wide)
        self.palette = palettes.wide if "dtype" in features else kinds[number // 2 % len(kinds)]

    def case(self, which: int, combination: Combination) -> Case:
        subject, rng = self.subject, self.rng
        lengths = {letter: rng.choice(_SIDES) for letter in subject.axes.letters}
        if "no length" in self.features and lengths:
            lengths[rng.choice(list(lengths))] = 0
        dtypes = self._dtypes()
        numbers = iter(rng.choice(combination.numbers) if combination.numbers else ())
        count = len(combination.stypes)
        names, groups = subject.slot_names(count), subject.axes.expand(count)
        samples = []
        for slot, (name, group, stype) in enumerate(
            zip(names, groups, combination.stypes, strict=True)
        ):
            if stype == SCALAR:
                number = self._number(slot, next(numbers), lengths)
                samples.append(Sample(name, SCALAR, number))
                continue
            dtype = subject.dtype_of(slot, rng.choice(dtypes), lengths)
            samples.append(
                self._sample(slot, name, shape_of(group, lengths), stype, dtype, lengths)
            )
        if "special" in self.features:
            samples = self._with_special(samples)
        params = dict(subject.params[which])
        declared = params.pop("stype", None) or self._declared(combination)
        return Case(tuple(samples), lengths, params, declared, self.number)

    def _dtypes(self) -> tuple[np.dtype, ...]:
        known = self.subject.dtypes
        if "dtype" not in self.features or len(known) < 2:
            return known[:1] or (np.dtype(float),)
        turn = self.number // len(_KINDS)
        # With the turn of the storages, all pairs of both are met.
        chosen = known[1 + (turn + turn // 3) % (len(known) - 1)]
        # Now and then the inputs differ.
        return (chosen, known[0]) if self.rng.random() < 0.3 else (chosen,)

    def _number(self, slot: int, number: Any, lengths: Mapping[str, int]) -> Any:
        domain = self.subject.domain.get(self.subject.input_name(slot))
        if domain is not None:
            values = domain.values(lengths)
            if not values:
                raise Impossible
            return self.rng.choice(values)
        if "dtype" in self.features and self.rng.random() < 0.5:
            return np.float32(number) if isinstance(number, float) else np.int64(number)
        return number

    def _sample(
        self,
        slot: int,
        name: str,
        shape: tuple[int, ...],
        stype: str,
        dtype: np.dtype,
        lengths: Mapping[str, int],
    ) -> Sample:
        domain = self.subject.domain.get(self.subject.input_name(slot))
        if domain is not None and domain.arrays:
            return self._from_pool(domain, name, shape, stype)
        palette = self._palette(domain, dtype, lengths, prod(shape))
        values = self._values(palette, shape)
        if stype == "dense":
            hazards = self._hazards(_DENSE_LAYOUTS)
            if "broadcast" in hazards and values.size and values.ndim:
                values = np.ascontiguousarray(np.broadcast_to(values[:1], shape))
            return Sample(name, stype, values, hazards=hazards)
        stored = self._stored(shape, stype)
        # Whole rows may hold zeros among other values.
        zero = values == 0 if stype == "csr" else whole_rows(values != 0) == 0
        values = np.where(zero, palettes.nonzero(palette)[0], values)
        if "zeros" in self.features and 0 in palette:
            self._zero(values, stored)
        values = np.where(stored, values, 0).astype(dtype)
        width = "int32"
        if "int64" in self.features and self.rng.random() < 0.75:
            width = "int64"
        return Sample(name, stype, values, stored, width, self._hazards(_SPARSE_LAYOUTS))

    def _palette(self, domain: Any, dtype: np.dtype, lengths: Any, size: int) -> np.ndarray:
        if domain is None:
            return self.palette(dtype)
        values = domain.values(lengths)
        if not values and size:
            raise Impossible
        return palettes.of_values(values or [0], dtype)

    def _values(self, palette: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        drawn = np.frombuffer(self.rng.randbytes(prod(shape)), np.uint8)
        return palette[drawn % len(palette)].reshape(shape)

    def _stored(self, shape: tuple[int, ...], stype: str) -> np.ndarray:
        bound = self.rng.choice((64, 128, 128, 200, 256))
        count = shape[0] if stype == "row_sparse" else prod(shape)
        drawn = np.frombuffer(self.rng.randbytes(count), np.uint8) < bound
        if stype == "row_sparse":
            drawn = drawn.reshape(-1, *(1,) * (len(shape) - 1))
        else:
            drawn = drawn.reshape(shape)
        return np.broadcast_to(drawn, shape).copy()

    def _zero(self, values: np.ndarray, stored: np.ndarray) -> None:
        """Some of what is stored, or all in a row of it, is zero."""
        places = np.argwhere(stored)
        if len(places):
            place = tuple(places[self.rng.randrange(len(places))])
            values[place if self.rng.random() < 0.7 else place[:1]] = 0

    def _hazards(self, layouts: tuple[str, ...]) -> tuple[str, ...]:
        found = [name for name in ("unsorted", "duplicates") if name in self.features]
        if layouts is _DENSE_LAYOUTS:
            found = []
        if "layout" in self.features and self.subject.dialect != "scipy":
            found.append(self.rng.choice(layouts))
        elif "layout" in self.features and layouts is _DENSE_LAYOUTS:
            found.append(self.rng.choice(layouts[:4]))
        if "read_only" in self.features:
            found.append("read_only")
        return tuple(found)

    def _from_pool(self, domain: Any, name: str, shape: tuple[int, ...], stype: str) -> Sample:
        fitting = [x for x in domain.arrays if x.shape == shape]
        if not fitting:
            raise Impossible
        sample = sample_of(name, self.rng.choice(fitting))
        if stype == "dense" or sample.stype == stype:
            return sample.having(stype=stype, stored=sample.stored if stype != "dense" else None)
        stored = sample.values != 0
        return sample.having(
            stype=stype, stored=whole_rows(stored) if stype == "row_sparse" else stored
        )

    def _with_special(self, samples: list[Sample]) -> list[Sample]:
        """One stored value of one input becomes NaN, infinite or a negative zero."""
        slots = [
            slot
            for slot, s in enumerate(samples)
            if s.stype != SCALAR
            and s.dtype.kind in "fc"
            and s.name not in self.subject.domain
            and (s.stored.any() if s.sparse else s.values.size)
        ]
        if not slots:
            return samples
        slot = self.rng.choice(slots)
        sample = samples[slot]
        places = np.argwhere(sample.stored if sample.sparse else np.ones(sample.shape, bool))
        values = sample.values.copy()
        place = tuple(places[self.rng.randrange(len(places))])
        special = palettes.special(np.result_type(*(s.dtype for s in samples if s.stype != SCALAR)))
        values[place] = self.rng.choice(special if sample.dtype.kind == "c" else special.real)
        hazards = tuple(h for h in sample.hazards if h != "broadcast")
        changed = list(samples)
        changed[slot] = sample.having(values=values, hazards=hazards)
        return changed

    def _declared(self, combination: Combination) -> Any:
        groups, operator = self.subject.axes.outputs, self.subject.operator
        if "declared" not in self.features or operator is None or not groups:
            return None
        if SCALAR in combination.stypes:
            # The result may have fewer axes.
            return None
        if any(rule.signature is None for rule in operator.kernels):
            # Its own inference may refuse a declared result.
            return None
        found = []
        for group in groups:
            possible = STORAGES[: 1 + (len(group) >= 1) + (len(group) == 2)]
            found.append(self.rng.choice(possible))
        return found[0] if len(found) == 1 else tuple(found)
