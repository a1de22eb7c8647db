// Products of a csr array with something dense.
//
// Bytes: entries * (sizeof(T) + sizeof(I)), the result once, and a row of the dense operand for
// each entry where that does not fit a cache, else once.
#pragma once

#include "parts.hpp"
#include "vectors.hpp"

namespace sparseops::ISA {

// So many entries ahead the rows of the dense operand are asked for.
constexpr Size kAhead = 12;

// One row times `count` vectors of columns, summed in registers in the order of the entries.
template <int count, bool weighted, class T, class I>
inline void row_by_vectors(const I* indices, const T* data, Size first, Size last, Size end,
                           const T* dense, Size columns, T* out) {
    constexpr int lanes = Lanes<T>::count;
    Vector<T> sums[count] = {};
    for (Size at = first; at < last; ++at) {
        if (at + kAhead < end) {
            const T* ahead = dense + indices[at + kAhead] * columns;
            for (int line = 0; line < (count + 1) / 2; ++line)
                __builtin_prefetch(ahead + line * 2 * lanes);
        }
        const T* row = dense + indices[at] * columns;
        for (int part = 0; part < count; ++part) {
            if constexpr (weighted) sums[part] += data[at] * load(row + part * lanes);
            else sums[part] += load(row + part * lanes);
        }
    }
    for (int part = 0; part < count; ++part) store(out + part * lanes, sums[part]);
}

// The same for a few columns, fewer than a vector has.
template <int count, bool weighted, class T, class I>
inline void row_by_values(const I* indices, const T* data, Size first, Size last, const T* dense,
                          Size columns, T* out) {
    T sums[count] = {};
    for (Size at = first; at < last; ++at) {
        const T* row = dense + indices[at] * columns;
        for (int part = 0; part < count; ++part) {
            if constexpr (weighted) sums[part] += data[at] * row[part];
            else sums[part] += row[part];
        }
    }
    for (int part = 0; part < count; ++part) out[part] = sums[part];
}

template <bool weighted, class T, class I>
inline void row_by_dense(const I* indices, const T* data, Size first, Size last, Size end,
                         const T* dense, Size columns, T* out) {
    constexpr int lanes = Lanes<T>::count;
    Size column = 0;
    const auto vectors = [&](auto count) {
        row_by_vectors<count(), weighted>(indices, data, first, last, end, dense + column, columns,
                                          out + column);
        column += count() * lanes;
    };
    const auto values = [&](auto count) {
        row_by_values<count(), weighted>(indices, data, first, last, dense + column, columns,
                                         out + column);
    };
    while (columns - column >= 8 * lanes) vectors(Constant<8>());
    if (columns - column >= 4 * lanes) vectors(Constant<4>());
    if (columns - column >= 2 * lanes) vectors(Constant<2>());
    if (columns - column >= lanes) vectors(Constant<1>());
    switch (columns - column) {
        case 1: return values(Constant<1>());
        case 2: return values(Constant<2>());
        case 3: return values(Constant<3>());
        case 4: return values(Constant<4>());
        case 5: return values(Constant<5>());
        case 6: return values(Constant<6>());
        case 7: return values(Constant<7>());
    }
}

template <class T, class I>
void csr_dense(Structure<I> x, const T* data, const T* dense, Size columns, T* out) {
    parallel_rows(x, columns, [=](Size first, Size last) {
        const I *indptr = x.indptr, *indices = x.indices;
        const Size end = indptr[last];
        for (Size row = first; row < last; ++row) {
            const Size start = indptr[row], stop = indptr[row + 1];
            T* sums = out + row * columns;
            if (data) row_by_dense<true>(indices, data, start, stop, end, dense, columns, sums);
            else row_by_dense<false>(indices, data, start, stop, end, dense, columns, sums);
        }
    });
}

// One sum a row, in the order of the entries: waiting for memory takes longer than the additions.
template <class T, class I>
void csr_vector(Structure<I> x, const T* data, const T* vector, T* out) {
    parallel_rows(x, 1, [=](Size first, Size last) {
        for (Size row = first; row < last; ++row) {
            T sum = 0;
            for (Size at = x.indptr[row]; at < x.indptr[row + 1]; ++at)
                sum += data[at] * vector[x.indices[at]];
            out[row] = sum;
        }
    });
}

// The product of two dense matrices, of rows of `a` and rows of `b`, at stored places alone.
template <class T, class I>
void sampled(Structure<I> x, const T* a, const T* b, Size inner, T* out) {
    constexpr int lanes = Lanes<T>::count;
    parallel_rows(x, inner, [=](Size first, Size last) {
        for (Size row = first; row < last; ++row) {
            const T* left = a + row * inner;
            for (Size at = x.indptr[row]; at < x.indptr[row + 1]; ++at) {
                const T* right = b + x.indices[at] * inner;
                Vector<T> sums = {};
                Size k = 0;
                for (; k + lanes <= inner; k += lanes) sums += load(left + k) * load(right + k);
                T rest = 0;
                for (; k < inner; ++k) rest += left[k] * right[k];
                out[at] = sum_lanes<T>(sums) + rest;
            }
        }
    });
}

}  // namespace sparseops::ISA
