// What the functions of Python share: types and sizes are checked, kernels chosen, the GIL released.
#pragma once

#include <optional>
#include <string>

#include "array.hpp"
#include "kernels.hpp"

namespace nb = nanobind;

namespace sparseops {

namespace plain {
template <class T, class I>
const Kernels<T, I>& table();
}
namespace avx2 {
template <class T, class I>
const Kernels<T, I>& table();
}

extern bool use_avx2;

// The kernels for the instructions that are in use.
template <class T, class I>
const Kernels<T, I>& kernels() {
#ifdef SPARSEOPS_AVX2
    if (use_avx2) return avx2::table<T, I>();
#endif
    return plain::table<T, I>();
}

// f(T(), I()) for the types of values and indices.
template <class F>
auto by_index(const Array& indices, F f) {
    return indices.is<std::int32_t>() ? f(std::int32_t()) : f(std::int64_t());
}

template <class F>
auto by_types(const Array& values, const Array& indices, F f) {
    return by_index(indices, [&](auto i) { return values.is<float>() ? f(float(), i) : f(double(), i); });
}

// Without the GIL; what a kernel needs of memory beyond its result may not be there.
template <class F>
auto unlocked(F f) {
    nb::gil_scoped_release release;
    return f();
}

template <class I>
Structure<I> structure(const Array& indptr, const Array& indices) {
    return {indptr.as<I>(), indices.as<I>(), indptr.size() - 1};
}

inline std::optional<Array>& given(std::optional<Array>& made, const char* name, nb::handle object) {
    if (!object.is_none()) made.emplace(name, object);
    return made;
}

}  // namespace sparseops
