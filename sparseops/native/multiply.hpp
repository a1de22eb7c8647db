// The product of two csr arrays, row by row: a value for each column of the result, and a list of
// the columns that were reached.
//
// Scratch: a value and a mark for each column of the result and each thread.
#pragma once

#include <algorithm>

#include "parts.hpp"
#include "scratch.hpp"

namespace sparseops::ISA {

struct Below {  // a type of this instruction set, so that std::sort is one too
    template <class I>
    bool operator()(I a, I b) const { return a < b; }
};

template <class I>
Size product_parts(Structure<I> a, Structure<I> b) {
    const Size pairs = a.indptr[a.rows] * (1 + b.indptr[b.rows] / (b.rows + 1));
    return pairs < kSerial ? 1 : num_threads();
}

// f(first, last, part) for ranges of the rows of `a`, about as many entries in each.
template <class I, class F>
void parallel_pairs(Structure<I> a, Size parts, F f) {
    parallel(parts, [=](std::size_t part) {
        f(balanced(a.indptr, a.rows, part, parts), balanced(a.indptr, a.rows, part + 1, parts), part);
    });
}

// Sorts the list of the columns that have the mark `reached`.
template <class I>
inline void order(I* list, I* end, const I* mark, I reached) {
    const Size count = end - list;
    if (count == 0) return;
    const auto [least, most] = std::minmax_element(list, end, Below());
    const I first = *least, last = *most;
    // Most of what lies between them is in the list: it is found by looking.
    if (last - first < 16 * count) {
        Size found = 0;
        for (I column = first; found < count; ++column) {
            list[found] = column;
            found += mark[column] == reached;
        }
    } else {
        std::sort(list, end, Below());
    }
}

template <class T, class I>
Size product_count(Structure<I> a, Structure<I> b, Size columns, I* indptr) {
    const Size parts = product_parts(a, b);
    Scratch<I> marks(columns * parts);
    I* all = marks.get();
    parallel_pairs(a, parts, [=](Size first, Size last, Size part) {
        I* mark = all + part * columns;  // the last row that reached a column, and 1
        for (Size column = 0; column < columns; ++column) mark[column] = 0;
        for (Size row = first; row < last; ++row) {
            Size count = 0;
            for (Size at = a.indptr[row]; at < a.indptr[row + 1]; ++at) {
                const Size inner = a.indices[at];
                for (Size meets = b.indptr[inner]; meets < b.indptr[inner + 1]; ++meets) {
                    I& reached = mark[b.indices[meets]];
                    count += reached != I(row + 1);
                    reached = I(row + 1);
                }
            }
            indptr[row] = static_cast<I>(count);
        }
    });
    return running_sum(indptr, a.rows);
}

template <class T, class I>
void product_fill(Structure<I> a, const T* data_a, Structure<I> b, const T* data_b, Size columns,
                  const I* indptr, I* indices, T* data) {
    const Size parts = product_parts(a, b);
    Scratch<I> marks(columns * parts);
    Scratch<T> values(columns * parts);
    I* all_marks = marks.get();
    T* all_values = values.get();
    parallel_pairs(a, parts, [=](Size first, Size last, Size part) {
        I* mark = all_marks + part * columns;
        T* sums = all_values + part * columns;
        for (Size column = 0; column < columns; ++column) mark[column] = 0;
        for (Size row = first; row < last; ++row) {
            I *list = indices + indptr[row], *end = list;
            for (Size at = a.indptr[row]; at < a.indptr[row + 1]; ++at) {
                const Size inner = a.indices[at];
                for (Size meets = b.indptr[inner]; meets < b.indptr[inner + 1]; ++meets) {
                    const I column = b.indices[meets];
                    const T value = data_a[at] * data_b[meets];
                    if (mark[column] == I(row + 1)) {
                        sums[column] += value;
                    } else {
                        mark[column] = I(row + 1);
                        sums[column] = T(0) + value;
                        *end++ = column;
                    }
                }
            }
            order(list, end, mark, I(row + 1));
            T* out = data + indptr[row];
            for (I* at = list; at < end; ++at) *out++ = sums[*at];
        }
    });
}

}  // namespace sparseops::ISA
