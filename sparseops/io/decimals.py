"""Numbers written in text, many at once: where they stand goes in, their values come out.

Eight digits at a time are one 64-bit word, which a few multiplications turn into a number. Decimals
of up to 15 digits are an integer over a power of ten, both exact, so that their quotient is the
nearest double. With up to 18 digits both are exact in the x87's format of 64 bits, where it has the
machine; its quotient, rounded again, is the nearest double unless it lies halfway between two. All
others go through the C library.
"""

import warnings
from typing import Any

import numpy as np

_PAD = 16
_ZEROS = np.uint64(0x3030303030303030)
_ABOVE_NINE = np.uint64(0x7676767676767676)
_HIGH = np.uint64(0x8080808080808080)
_PAIRS = np.uint64(0x000000FF000000FF)
_LOW = np.uint64(0x000F424000000064)
_UPPER = np.uint64(0x0000271000000001)
_TENS = 10.0 ** np.arange(19)
#: The digits that an integer may have to be exact as a double, and as an int64.
_EXACT, _LONGEST = 15, 18
_HAS_X87 = np.finfo(np.longdouble).nmant == 63


class Text:
    """The bytes of some lines, with room in front, so that words that end anywhere can be read."""

    def __init__(self, content: bytes):
        self.padded = np.frombuffer(b"0" * _PAD + content, np.uint8)
        self.bytes = self.padded[_PAD:]
        self.content = content
        count = len(self.padded) - 7
        self._words = np.ndarray((count,), "<u8", self.padded, strides=(1,))

    def integers(self, starts: Any, stops: Any) -> tuple[Any, Any]:
        """The values of digits from `starts` to before `stops`, and where there is nothing else.

        Up to 18 digits; where there are more, or none, the second answer is False.
        """
        lengths = stops - starts
        values, good = self._eight(stops, np.minimum(lengths, 8))
        good &= (lengths > 0) & (lengths <= _LONGEST)
        for behind in (8, 16):
            longer = np.flatnonzero(good & (lengths > behind))
            if len(longer):
                over = np.minimum(lengths[longer] - behind, 8)
                upper, also = self._eight(stops[longer] - behind, over)
                values[longer] += upper * 10**behind
                good[longer] &= also
        return values, good

    def floats(self, starts: Any, stops: Any) -> tuple[Any, Any]:
        """The values of decimals from `starts` to before `stops`, and where there is no more."""
        mantissas, good = self._eight(stops, np.minimum(stops - starts, 8))
        lengths = stops - starts
        good &= (lengths > 0) & (lengths <= 8)
        values = mantissas.astype(np.float64)
        others = np.flatnonzero(~good)
        if len(others):
            values[others], good[others] = self._decimals(starts[others], stops[others])
        return values, good

    def _eight(self, stops: Any, lengths: Any) -> tuple[Any, Any]:
        """The values of `lengths` digits, up to 8, before `stops`, and where they are digits."""
        words = self._words[stops + (_PAD - 8)] ^ _ZEROS
        unused = (8 * (8 - lengths)).astype(np.uint64)
        # A shift by all 64 bits is undefined, so it is done in two halves.
        half = unused >> np.uint64(1)
        rest = unused - half
        words = words >> half >> rest << half << rest
        good = ((words + _ABOVE_NINE) | words) & _HIGH == 0
        words = words * np.uint64(10) + (words >> np.uint64(8))
        low, upper = words & _PAIRS, (words >> np.uint64(16)) & _PAIRS
        return ((low * _LOW + upper * _UPPER) >> np.uint64(32)).astype(np.int64), good

    def _decimals(self, starts: Any, stops: Any) -> tuple[Any, Any]:
        """As `floats`, where a sign, a point and more digits are expected."""
        first = self.bytes[np.minimum(starts, len(self.bytes) - 1)]
        negative = first == ord("-")
        begins = starts + (negative | (first == ord("+")))
        points = self._points(begins, stops)
        whole, whole_good = self.integers(begins, points)
        part, part_good = self.integers(points + 1, stops)
        digits, places = np.maximum(points - begins, 0), np.maximum(stops - points - 1, 0)
        good = (whole_good | (digits == 0)) & (part_good | (places == 0))
        # A zero in front of the point is no digit of the mantissa.
        count = np.where(whole == 0, 0, digits) + places
        good &= (digits + places > 0) & (count <= (_LONGEST if _HAS_X87 else _EXACT))
        whole, part = np.where(digits == 0, 0, whole), np.where(places == 0, 0, part)
        powers = _TENS[np.minimum(places, _LONGEST)]
        mantissas = whole * powers.astype(np.int64) + part
        values = mantissas / powers
        longer = np.flatnonzero(good & (count > _EXACT))
        if len(longer):
            values[longer], good[longer] = _rounded(mantissas[longer], powers[longer])
        values = np.where(negative, -values, values)
        others = np.flatnonzero(~good)
        if len(others):
            values[others], good[others] = self._by_library(starts[others], stops[others])
        return values, good

    def _points(self, starts: Any, stops: Any) -> Any:
        """The first decimal point from each of `starts`, or its stop."""
        found = np.flatnonzero(self.bytes == ord("."))
        if not len(found):
            return stops
        at = np.searchsorted(found, starts)
        return np.minimum(found[np.minimum(at, len(found) - 1)], stops) * (at < len(found)) + (
            stops * (at == len(found))
        )

    def _by_library(self, starts: Any, stops: Any) -> tuple[Any, Any]:
        lengths = stops - starts
        ends = np.cumsum(lengths + 1)
        joined = np.full(ends[-1], ord(" "), np.uint8)
        kept = np.ones(len(joined), bool)
        kept[ends - 1] = False
        joined[kept] = self.bytes[_ranges(starts, lengths)]
        text = joined.tobytes()
        if lengths.min() > 0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                try:
                    values = np.fromstring(text, np.float64, sep=" ")
                except ValueError:
                    values = np.zeros(0)
            if len(values) == len(lengths):
                return values, np.ones(len(values), bool)
        # Something is no number: which one matters more than speed now.
        pieces = [text[stop - 1 - n : stop - 1] for stop, n in zip(ends, lengths, strict=True)]
        read = [_number(piece) for piece in pieces]
        good = np.array([value is not None for value in read])
        return np.array([value if value is not None else 0.0 for value in read]), good


def _rounded(mantissas: Any, powers: Any) -> tuple[Any, Any]:
    """The doubles nearest to `mantissas` over `powers`, and where rounding twice is sure to do."""
    quotients = mantissas.astype(np.longdouble) / powers
    values = quotients.astype(np.float64)
    return values, np.abs(quotients - values) * 2 != np.spacing(values)


def _ranges(starts: Any, lengths: Any) -> Any:
    """All of the positions ``start, start + 1, ...``, of each length, one after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def _number(text: bytes) -> float | None:
    try:
        return None if b"_" in text else float(text)
    except ValueError:
        return None
