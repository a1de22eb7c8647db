// How loops are cut into parts for threads, so that results do not depend on how many there are.
#pragma once

#include "kernels.hpp"
#include "threads.hpp"

namespace sparseops::ISA {

// Below so much work, about a tenth of a millisecond, threads cost more than they save.
constexpr Size kSerial = 100000;
constexpr Size kPartsPerThread = 4;

inline Size parts_for(Size work) {
    if (work < kSerial || num_threads() == 1) return 1;
    const Size wanted = num_threads() * kPartsPerThread, most = work / (kSerial / 4);
    return wanted < most ? wanted : most;
}

// f(first, last) for ranges that make up [0, count), each value of which is `each` work.
template <class F>
void parallel_ranges(Size count, Size each, F f) {
    const Size parts = parts_for(count * each);
    parallel(parts, [=](std::size_t part) { f(count * part / parts, count * (part + 1) / parts); });
}

// The row at which the share part / parts of rows and entries is reached.
template <class I>
Size balanced(const I* indptr, Size rows, Size part, Size parts) {
    const Size wanted = (indptr[rows] + rows) / parts * part;
    Size low = 0, high = part == parts ? rows : 0;
    if (part == parts) return rows;
    for (high = rows; low < high;) {
        const Size middle = (low + high) / 2;
        if (indptr[middle] + middle < wanted) low = middle + 1;
        else high = middle;
    }
    return low;
}

// f(first, last) for ranges of the rows of a csr array, about as many entries in each.
template <class I, class F>
void parallel_rows(Structure<I> x, Size each, F f) {
    const Size parts = parts_for((x.indptr[x.rows] + x.rows) * each);
    parallel(parts, [=](std::size_t part) {
        f(balanced(x.indptr, x.rows, part, parts), balanced(x.indptr, x.rows, part + 1, parts));
    });
}

// Counts as what stands before them, in place; the sum of all.
template <class I>
Size running_sum(I* indptr, Size rows) {
    Size sum = 0;
    for (Size row = 0; row < rows; ++row) {
        const Size count = indptr[row];
        indptr[row] = static_cast<I>(sum);
        sum += count;
    }
    indptr[rows] = static_cast<I>(sum);
    return sum;
}

}  // namespace sparseops::ISA
