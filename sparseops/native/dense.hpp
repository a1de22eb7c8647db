// From dense arrays to sparse ones and back, and rows picked out of either.
//
// Bytes: a dense array twice (once to count, once to fill), the result once.
#pragma once

#include <cstring>

#include "parts.hpp"

namespace sparseops::ISA {

// Most of a matrix is zero, so it is looked at in blocks of so many values.
constexpr Size kBlock = 16;

template <class T>
inline bool any(const T* x) {
    bool found = false;
    for (Size at = 0; at < kBlock; ++at) found |= x[at] != 0;  // NaN is not 0
    return found;
}

template <class T, class I>
Size dense_count(const T* x, Size rows, Size columns, I* indptr) {
    parallel_ranges(rows, columns / 4 + 1, [=](Size first, Size last) {
        for (Size row = first; row < last; ++row) {
            const T* values = x + row * columns;
            Size count = 0;
            for (Size column = 0; column < columns; ++column) count += values[column] != 0;
            indptr[row] = static_cast<I>(count);
        }
    });
    return running_sum(indptr, rows);
}

template <class T, class I>
void dense_fill(const T* x, Size rows, Size columns, const I* indptr, I* indices, T* data) {
    parallel_ranges(rows, columns / 4 + 1, [=](Size first, Size last) {
        for (Size row = first; row < last; ++row) {
            const T* values = x + row * columns;
            Size at = indptr[row];
            const auto take = [&](Size column) {
                if (values[column] == 0) return;
                indices[at] = static_cast<I>(column);
                data[at++] = values[column];
            };
            Size column = 0;
            for (; column + kBlock <= columns; column += kBlock)
                if (any(values + column))
                    for (Size inside = 0; inside < kBlock; ++inside) take(column + inside);
            for (; column < columns; ++column) take(column);
        }
    });
}

template <class T>
bool any_of_row(const T* x, Size columns) {
    Size column = 0;
    for (; column + kBlock <= columns; column += kBlock)
        if (any(x + column)) return true;
    for (; column < columns; ++column)
        if (x[column] != 0) return true;
    return false;
}

template <class T, class I>
Size rows_count(const T* x, Size rows, Size columns, I* stored) {
    parallel_ranges(rows, columns / 4 + 1, [=](Size first, Size last) {
        for (Size row = first; row < last; ++row) stored[row] = any_of_row(x + row * columns, columns);
    });
    Size count = 0;
    for (Size row = 0; row < rows; ++row) {
        const bool found = stored[row];
        stored[count] = static_cast<I>(row);
        count += found;
    }
    return count;
}

template <class T, class I>
void take_rows(const T* x, const I* ids, Size count, Size width, T* out) {
    parallel_ranges(count, width, [=](Size first, Size last) {
        for (Size row = first; row < last; ++row) {
            if (row + 32 < last) __builtin_prefetch(x + ids[row + 32] * width);
            std::memcpy(out + row * width, x + ids[row] * width, width * sizeof(T));
        }
    });
}

template <class T, class I>
void csr_to_dense(Structure<I> x, const T* data, Size columns, T* out) {
    parallel_ranges(x.rows, columns / 8 + 1 + x.indptr[x.rows] / (x.rows + 1),
                    [=](Size first, Size last) {
        for (Size row = first; row < last; ++row) {
            T* values = out + row * columns;
            std::memset(values, 0, columns * sizeof(T));
            for (Size at = x.indptr[row]; at < x.indptr[row + 1]; ++at)
                values[x.indices[at]] = data[at];
        }
    });
}

// `indptr` is that of the result.
template <class T, class I>
void take_csr(Structure<I> x, const T* data, const I* ids, Size count, const I* indptr, I* indices,
              T* out) {
    parallel_ranges(count, 2 + indptr[count] / (count + 1), [=](Size first, Size last) {
        for (Size row = first; row < last; ++row) {
            const Size from = x.indptr[ids[row]], to = indptr[row], stored = indptr[row + 1] - to;
            std::memcpy(indices + to, x.indices + from, stored * sizeof(I));
            std::memcpy(out + to, data + from, stored * sizeof(T));
        }
    });
}

}  // namespace sparseops::ISA
