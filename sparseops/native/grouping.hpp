// Equal numbers brought together: the columns of a csr array, the ids of an embedding.
//
// Each number is packed with its position, and sorted by radix, the least significant digit first:
// stable, 16 bytes of scratch a number, and as many passes as the largest number has digits.
#pragma once

#include "parts.hpp"
#include "scratch.hpp"

namespace sparseops::ISA {

using Key = std::uint64_t;

constexpr int kDigit = 11;

inline int bits_of(Size number) {
    int bits = 0;
    for (; number > 0; number >>= 1) ++bits;
    return bits;
}

// Sorts by the `bits` bits above `low`; the sorted keys are in `from` or, if so, in `to`.
inline bool sort_by_digits(Key* from, Key* to, Size count, int low, int bits) {
    const int passes = (bits + kDigit - 1) / kDigit;
    bool swapped = false;
    for (int pass = 0; pass < passes; ++pass) {
        // Digits of one width: 17 bits are better sorted as 9 and 8 than as 11 and 6.
        const int width = (bits + passes - 1) / passes;
        const Key mask = (Key(1) << width) - 1;
        const int shift = low + pass * width;
        Size places[1 << kDigit] = {};
        for (Size at = 0; at < count; ++at) ++places[from[at] >> shift & mask];
        Size before = 0;
        for (Key digit = 0; digit <= mask; ++digit) {
            const Size here = places[digit];
            places[digit] = before;
            before += here;
        }
        for (Size at = 0; at < count; ++at) to[places[from[at] >> shift & mask]++] = from[at];
        Key* other = from;
        from = to;
        to = other;
        swapped = !swapped;
    }
    return swapped;
}

template <class I>
Size group(const I* ids, Size count, Size limit, I* unique, I* starts, I* order) {
    const int low = bits_of(count), bits = bits_of(limit - 1);
    if (low + bits > 64) return -1;
    Scratch<Key> keys(count), others(count);
    Key *sorted = keys.get(), *other = others.get();
    for (Size at = 0; at < count; ++at) sorted[at] = Key(ids[at]) << low | Key(at);
    if (sort_by_digits(sorted, other, count, low, bits)) sorted = other;
    const Key mask = (Key(1) << low) - 1;
    Size found = 0;
    I last = -1;
    for (Size at = 0; at < count; ++at) {
        const I id = static_cast<I>(sorted[at] >> low);
        order[at] = static_cast<I>(sorted[at] & mask);
        if (id == last) continue;
        unique[found] = last = id;
        starts[found++] = static_cast<I>(at);
    }
    starts[found] = static_cast<I>(count);
    return found;
}

}  // namespace sparseops::ISA
