// The table of kernels for one type of values and one of indices. It is filled once for each
// instruction set, by kernels.cpp, and chosen at run time, by binding.hpp.
//
// Arrays are contiguous, csr arrays canonical, and sizes agree: Python has seen to it.
#pragma once

#include <cstdint>

namespace sparseops {

using Size = std::int64_t;

template <class I>
struct Structure {  // of a csr array
    const I* indptr;
    const I* indices;
    Size rows;
};

enum class Merge { add, subtract, multiply };  // the last stores what both store, the others what either does

enum class Rule { sgd, momentum, nesterov, adagrad, rmsprop, adam, adamw, ftrl };

// What an optimizer's rule reads, and the numbers in it, in the order of its parameters.
template <class T>
struct Step {
    Rule rule;
    const T* gradient;
    T* arrays[3];  // the weights, and the state's
    Size width;    // values a row
    double rescale, clip, decay;  // clip < 0: none
    double numbers[7];            // the rate, and the rule's own
};

template <class T, class I>
struct Kernels {
    // out = x @ dense; entry e is data[places[e]], or data[e] without places, or 1 without data.
    void (*csr_dense)(Structure<I> x, const T* data, const I* places, const T* dense, Size columns,
                      T* out);
    // out = x @ vector
    void (*csr_vector)(Structure<I> x, const T* data, const T* vector, Size length, T* out);
    void (*row_sums)(const I* indptr, Size rows, const T* data, T* out);
    // out[e] = sum(a[row of e] * b[column of e]), for each entry e of x
    void (*sampled)(Structure<I> x, const T* a, const T* b, Size inner, T* out);
    // The entries of each row of the result, into indptr; their number.
    Size (*merge_count)(Merge kind, Structure<I> a, Structure<I> b, I* indptr);
    void (*merge_fill)(Merge kind, Structure<I> a, const T* data_a, Structure<I> b, const T* data_b,
                       const I* indptr, I* indices, T* data);
    // Of rows that either stores, where they stand in a and in b, or -1; their number.
    Size (*union_rows)(const I* a, Size count_a, const I* b, Size count_b, I* rows, I* at_a, I* at_b);
    void (*merge_rows)(Merge kind, const I* at_a, const I* at_b, Size rows, const T* a, const T* b,
                       Size width, T* out);
    // What is not zero in a matrix: entries of each row, into indptr, and their number.
    Size (*dense_count)(const T* x, Size rows, Size columns, I* indptr);
    void (*dense_fill)(const T* x, Size rows, Size columns, const I* indptr, I* indices, T* data);
    // The rows that have something that is not zero; their number.
    Size (*rows_count)(const T* x, Size rows, Size columns, I* stored);
    void (*csr_to_dense)(Structure<I> x, const T* data, Size columns, T* out);
    // out[i] = x[ids[i]]
    void (*take_csr)(Structure<I> x, const T* data, const I* ids, Size count, const I* indptr,
                     I* indices, T* out);
    void (*take_rows)(const T* x, const I* ids, Size count, Size width, T* out);
    // The different ids, ascending; where each begins in `order`, which sorts them stably. -1 if
    // they are too large for it.
    Size (*group)(const I* ids, Size count, Size limit, I* unique, I* starts, I* order);
    // One step of an optimizer at some rows, or at the first `count`.
    void (*step)(const Step<T>& step, const I* places, Size count);
    // The product of two csr arrays: the entries of each row, and their number; then all of it.
    Size (*product_count)(Structure<I> a, Structure<I> b, Size columns, I* indptr);
    void (*product_fill)(Structure<I> a, const T* data_a, Structure<I> b, const T* data_b,
                         Size columns, const I* indptr, I* indices, T* data);
};


}  // namespace sparseops
