// Products of a csr array with something dense.
//
// Bytes: entries * (sizeof(T) + sizeof(I)), the result once, and a row of the dense operand for
// each entry where that does not fit a cache, else once.
#pragma once

#include "parts.hpp"
#include "vectors.hpp"

namespace sparseops::ISA {

// So many lines of memory are asked for ahead of their use, and at least so many entries.
constexpr Size kAheadLines = 32, kAheadEntries = 12;

// Of entries with no values, which count as ones.
template <class T>
struct Ones {
    T times(Size, T x) const { return x; }
    Vector<T> times(Size, Vector<T> x) const { return x; }
    void ask(Size) const {}
};

template <class T>
struct Values {
    const T* data;
    T times(Size at, T x) const { return data[at] * x; }
    Vector<T> times(Size at, Vector<T> x) const { return data[at] * x; }
    void ask(Size) const {}
};

// Values that stand in another order.
template <class T, class I>
struct PlacedValues {
    const T* data;
    const I* places;
    T times(Size at, T x) const { return data[places[at]] * x; }
    Vector<T> times(Size at, Vector<T> x) const { return data[places[at]] * x; }
    void ask(Size at) const { __builtin_prefetch(data + places[at]); }
};

// One row of a csr array, and behind `stop`, up to `end`, what is read next.
template <class I, class V>
struct Row {
    const I* indices;
    V values;
    Size start, stop, end;
};

// Rows may be short, so that calls of these functions would take longer than their work: they are
// made part of the loop over rows.

// The row times `count` vectors of columns, summed in registers in the order of the entries.
template <int count, class T, class I, class V>
[[gnu::always_inline]] inline void row_by_vectors(Row<I, V> row, const T* dense, Size columns, T* out) {
    constexpr int lanes = Lanes<T>::count, lines = (count + 1) / 2;
    constexpr Size ahead = kAheadLines / lines > kAheadEntries ? kAheadLines / lines : kAheadEntries;
    Vector<T> sums[count] = {};
    for (Size at = row.start; at < row.stop; ++at) {
        if (at + ahead < row.end) {
            row.values.ask(at + ahead);
            const T* next = dense + row.indices[at + ahead] * columns;
            for (int line = 0; line < lines; ++line) __builtin_prefetch(next + line * 2 * lanes);
        }
        const T* right = dense + row.indices[at] * columns;
        for (int part = 0; part < count; ++part)
            sums[part] += row.values.times(at, load(right + part * lanes));
    }
    for (int part = 0; part < count; ++part) store(out + part * lanes, sums[part]);
}

// The same for a few columns, fewer than a vector has.
template <int count, class T, class I, class V>
[[gnu::always_inline]] inline void row_by_values(Row<I, V> row, const T* dense, Size columns, T* out) {
    T sums[count] = {};
    for (Size at = row.start; at < row.stop; ++at) {
        if (at + kAheadLines < row.end) row.values.ask(at + kAheadLines);
        const T* right = dense + row.indices[at] * columns;
        for (int part = 0; part < count; ++part) sums[part] += row.values.times(at, right[part]);
    }
    for (int part = 0; part < count; ++part) out[part] = sums[part];
}

template <class T, class I, class V>
[[gnu::always_inline]] inline void row_by_dense(Row<I, V> row, const T* dense, Size columns, T* out) {
    constexpr int lanes = Lanes<T>::count;
    Size column = 0;
    const auto vectors = [&](auto count) {
        row_by_vectors<count()>(row, dense + column, columns, out + column);
        column += count() * lanes;
    };
    const auto values = [&](auto count) {
        row_by_values<count()>(row, dense + column, columns, out + column);
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

template <class T, class I, class V>
void rows_by_dense(Structure<I> x, V values, const T* dense, Size columns, T* out) {
    parallel_rows(x, columns, [=](Size first, Size last) {
        const Size end = x.indptr[last];
        for (Size row = first; row < last; ++row) {
            const Row<I, V> given = {x.indices, values, x.indptr[row], x.indptr[row + 1], end};
            row_by_dense(given, dense, columns, out + row * columns);
        }
    });
}

template <class T, class I>
void csr_dense(Structure<I> x, const T* data, const I* places, const T* dense, Size columns, T* out) {
    if (!data) rows_by_dense(x, Ones<T>(), dense, columns, out);
    else if (!places) rows_by_dense(x, Values<T>{data}, dense, columns, out);
    else rows_by_dense(x, PlacedValues<T, I>{data, places}, dense, columns, out);
}

// One sum a row, in the order of the entries: waiting for memory takes longer than the additions.
template <bool asks, class T, class I>
void rows_by_vector(Structure<I> x, const T* data, const T* vector, T* out) {
    parallel_rows(x, 4, [=](Size first, Size last) {
        const Size end = x.indptr[last] - kAheadLines;
        for (Size row = first; row < last; ++row) {
            T sum = 0;
            for (Size at = x.indptr[row]; at < x.indptr[row + 1]; ++at) {
                if (asks && at < end) __builtin_prefetch(vector + x.indices[at + kAheadLines]);
                sum += data[at] * vector[x.indices[at]];
            }
            out[row] = sum;
        }
    });
}

template <class T, class I>
void csr_vector(Structure<I> x, const T* data, const T* vector, Size length, T* out) {
    // What fits the second cache comes soon enough.
    if (length * sizeof(T) > (1 << 20)) rows_by_vector<true>(x, data, vector, out);
    else rows_by_vector<false>(x, data, vector, out);
}

// The sums of rows, each vector of values after the other.
template <class T, class I>
void row_sums(const I* indptr, Size rows, const T* data, T* out) {
    constexpr int lanes = Lanes<T>::count;
    parallel_rows(Structure<I>{indptr, nullptr, rows}, 1, [=](Size first, Size last) {
        for (Size row = first; row < last; ++row) {
            Size at = indptr[row];
            const Size stop = indptr[row + 1];
            T sum = 0;
            if (stop - at >= 2 * lanes) {
                Vector<T> sums = load(data + at);
                for (at += lanes; at + lanes <= stop; at += lanes) sums += load(data + at);
                sum = sum_lanes<T>(sums);
            }
            for (; at < stop; ++at) sum += data[at];
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
