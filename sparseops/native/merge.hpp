// Two csr arrays, or two row_sparse ones, entry by entry.
//
// Bytes: the indices twice (once to count, once to fill), the values and the result once. Which
// index comes next cannot be foretold, so the loops choose by arithmetic and not by branches.
#pragma once

#include <cstring>

#include "parts.hpp"

namespace sparseops::ISA {

template <Merge kind, class T>
inline T merged(T a, T b) {
    if constexpr (kind == Merge::add) return a + b;
    if constexpr (kind == Merge::subtract) return a - b;
    if constexpr (kind == Merge::multiply) return a * b;
}

template <class I>
Size count_union(const I* a, const I* end_a, const I* b, const I* end_b) {
    Size shared = 0;
    const Size all = (end_a - a) + (end_b - b);
    while (a < end_a && b < end_b) {
        const I from_a = *a, from_b = *b;
        shared += from_a == from_b;
        a += from_a <= from_b;
        b += from_b <= from_a;
    }
    return all - shared;
}

template <Merge kind, class T, class I>
void fill_union(const I* a, const I* end_a, const T* data_a, const I* b, const I* end_b,
                const T* data_b, I* indices, T* data) {
    while (a < end_a && b < end_b) {
        const I from_a = *a, from_b = *b;
        const bool in_a = from_a <= from_b, in_b = from_b <= from_a;
        *indices++ = in_a ? from_a : from_b;
        const T values_a[2] = {0, *data_a}, values_b[2] = {0, *data_b};
        *data++ = merged<kind>(values_a[in_a], values_b[in_b]);
        a += in_a;
        data_a += in_a;
        b += in_b;
        data_b += in_b;
    }
    for (; a < end_a; ++a) {
        *indices++ = *a;
        *data++ = merged<kind>(*data_a++, T(0));
    }
    for (; b < end_b; ++b) {
        *indices++ = *b;
        *data++ = merged<kind>(T(0), *data_b++);
    }
}

template <class T, class I>
void fill_shared(const I* a, const I* end_a, const T* data_a, const I* b, const I* end_b,
                 const T* data_b, I* indices, T* data, I* end) {
    while (a < end_a && b < end_b && indices < end) {
        const I from_a = *a, from_b = *b;
        *indices = from_a;
        *data = *data_a * *data_b;
        const bool in_a = from_a <= from_b, in_b = from_b <= from_a;
        indices += in_a & in_b;
        data += in_a & in_b;
        a += in_a;
        data_a += in_a;
        b += in_b;
        data_b += in_b;
    }
}

template <class T, class I>
Size merge_count(Merge kind, Structure<I> a, Structure<I> b, I* indptr) {
    const Size each = 2 + a.indptr[a.rows] / (a.rows + 1) + b.indptr[b.rows] / (b.rows + 1);
    parallel_ranges(a.rows, each, [=](Size first, Size last) {
        for (Size row = first; row < last; ++row) {
            const Size start_a = a.indptr[row], stop_a = a.indptr[row + 1];
            const Size start_b = b.indptr[row], stop_b = b.indptr[row + 1];
            const Size either = count_union(a.indices + start_a, a.indices + stop_a,
                                            b.indices + start_b, b.indices + stop_b);
            const Size both = (stop_a - start_a) + (stop_b - start_b) - either;
            indptr[row] = static_cast<I>(kind == Merge::multiply ? both : either);
        }
    });
    return running_sum(indptr, a.rows);
}

template <class T, class I>
void merge_fill(Merge kind, Structure<I> a, const T* data_a, Structure<I> b, const T* data_b,
                const I* indptr, I* indices, T* data) {
    const Size each = 2 + a.indptr[a.rows] / (a.rows + 1) + b.indptr[b.rows] / (b.rows + 1);
    parallel_ranges(a.rows, each, [=](Size first, Size last) {
        for (Size row = first; row < last; ++row) {
            const I *from_a = a.indices + a.indptr[row], *end_a = a.indices + a.indptr[row + 1];
            const I *from_b = b.indices + b.indptr[row], *end_b = b.indices + b.indptr[row + 1];
            const T *of_a = data_a + a.indptr[row], *of_b = data_b + b.indptr[row];
            I* to = indices + indptr[row];
            T* out = data + indptr[row];
            if (kind == Merge::add)
                fill_union<Merge::add>(from_a, end_a, of_a, from_b, end_b, of_b, to, out);
            else if (kind == Merge::subtract)
                fill_union<Merge::subtract>(from_a, end_a, of_a, from_b, end_b, of_b, to, out);
            else
                fill_shared(from_a, end_a, of_a, from_b, end_b, of_b, to, out,
                            indices + indptr[row + 1]);
        }
    });
}

template <class I>
Size union_rows(const I* a, Size count_a, const I* b, Size count_b, I* rows, I* at_a, I* at_b) {
    Size from_a = 0, from_b = 0, found = 0;
    while (from_a < count_a || from_b < count_b) {
        const bool in_a = from_b == count_b || (from_a < count_a && a[from_a] <= b[from_b]);
        const bool in_b = from_a == count_a || (from_b < count_b && b[from_b] <= a[from_a]);
        rows[found] = in_a ? a[from_a] : b[from_b];
        at_a[found] = in_a ? static_cast<I>(from_a) : -1;
        at_b[found] = in_b ? static_cast<I>(from_b) : -1;
        from_a += in_a;
        from_b += in_b;
        ++found;
    }
    return found;
}

template <Merge kind, class T>
inline void merge_row(const T* a, const T* b, Size width, T* out) {
    if (a && b)
        for (Size column = 0; column < width; ++column) out[column] = merged<kind>(a[column], b[column]);
    else if (a)
        std::memcpy(out, a, width * sizeof(T));
    else
        for (Size column = 0; column < width; ++column) out[column] = merged<kind>(T(0), b[column]);
}

template <class T, class I>
void merge_rows(Merge kind, const I* at_a, const I* at_b, Size rows, const T* a, const T* b,
                Size width, T* out) {
    parallel_ranges(rows, width, [=](Size first, Size last) {
        for (Size row = first; row < last; ++row) {
            const T* of_a = at_a[row] < 0 ? nullptr : a + at_a[row] * width;
            const T* of_b = at_b[row] < 0 ? nullptr : b + at_b[row] * width;
            T* to = out + row * width;
            if (kind == Merge::add) merge_row<Merge::add>(of_a, of_b, width, to);
            else merge_row<Merge::subtract>(of_a, of_b, width, to);
        }
    });
}

}  // namespace sparseops::ISA
