// Vectors of 32 bytes, which the compiler maps to the registers that there are.
#pragma once

#include <cstring>

#include "kernels.hpp"

namespace sparseops::ISA {

// A number for templates, as an argument.
template <int number>
struct Constant {
    constexpr int operator()() const { return number; }
};

template <class T>
struct Lanes {
    static constexpr int count = 32 / sizeof(T);
    typedef T type __attribute__((vector_size(32)));
};

template <class T>
using Vector = typename Lanes<T>::type;

template <class T>
inline Vector<T> load(const T* from) {
    Vector<T> found;
    std::memcpy(&found, from, sizeof found);
    return found;
}

template <class T>
inline void store(T* to, Vector<T> x) {
    std::memcpy(to, &x, sizeof x);
}

// The sum of the lanes, always in the same order.
template <class T>
inline T sum_lanes(Vector<T> x) {
    T sum = x[0];
    for (int lane = 1; lane < Lanes<T>::count; ++lane) sum += x[lane];
    return sum;
}

}  // namespace sparseops::ISA
