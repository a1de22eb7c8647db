// Conversions from and to dense arrays, and rows picked, as functions of Python.

#include "binding.hpp"

namespace sparseops {
namespace {

Size dense_count(nb::handle x, nb::handle p) {
    Array dense("x", x), indptr("indptr", p, true);
    const Size rows = dense.length(0), columns = dense.length(1);
    indptr.check_size(rows + 1);
    return by_types(dense, indptr, [&](auto t, auto i) {
        using T = decltype(t);
        using I = decltype(i);
        const T* values = dense.as<T>();
        I* counts = indptr.as<I>();
        return unlocked([&] { return kernels<T, I>().dense_count(values, rows, columns, counts); });
    });
}

void dense_fill(nb::handle x, nb::handle p, nb::handle io, nb::handle o) {
    Array dense("x", x), indptr("indptr", p), indices("indices", io, true), data("data", o, true);
    const Size rows = dense.length(0), columns = dense.length(1);
    indptr.check_size(rows + 1);
    data.check_size(indices.size());
    by_types(dense, indptr, [&](auto t, auto i) {
        using T = decltype(t);
        using I = decltype(i);
        const T* values = dense.as<T>();
        const I* starts = indptr.as<I>();
        I* found = indices.as<I>();
        T* out = data.as<T>();
        unlocked([&] { kernels<T, I>().dense_fill(values, rows, columns, starts, found, out); });
    });
}

Size rows_count(nb::handle x, nb::handle s) {
    Array dense("x", x), stored("stored", s, true);
    const Size rows = dense.length(0), width = rows ? dense.size() / rows : 0;
    stored.check_size(rows);
    return by_types(dense, stored, [&](auto t, auto i) {
        using T = decltype(t);
        using I = decltype(i);
        const T* values = dense.as<T>();
        I* found = stored.as<I>();
        return unlocked([&] { return kernels<T, I>().rows_count(values, rows, width, found); });
    });
}

void csr_to_dense(nb::handle p, nb::handle i, nb::handle d, nb::handle o) {
    Array indptr("indptr", p), indices("indices", i), data("data", d), out("out", o, true);
    data.check_size(indices.size());
    const Size rows = indptr.size() - 1, columns = out.length(1);
    out.check_size(rows * columns);
    by_types(out, indices, [&](auto t, auto i) {
        using T = decltype(t);
        using I = decltype(i);
        const auto x = structure<I>(indptr, indices);
        const T* values = data.as<T>();
        T* to = out.as<T>();
        unlocked([&] { kernels<T, I>().csr_to_dense(x, values, columns, to); });
    });
}

void take_csr(nb::handle p, nb::handle i, nb::handle d, nb::handle n, nb::handle po, nb::handle io,
              nb::handle o) {
    Array indptr("indptr", p), indices("indices", i), data("data", d), ids("ids", n),
        starts("starts", po), columns("columns", io, true), out("out", o, true);
    data.check_size(indices.size());
    starts.check_size(ids.size() + 1);
    out.check_size(columns.size());
    by_types(out, indices, [&](auto t, auto i) {
        using T = decltype(t);
        using I = decltype(i);
        const auto x = structure<I>(indptr, indices);
        const T* values = data.as<T>();
        const I *rows = ids.as<I>(), *from = starts.as<I>();
        I* to = columns.as<I>();
        T* result = out.as<T>();
        unlocked([&] { kernels<T, I>().take_csr(x, values, rows, ids.size(), from, to, result); });
    });
}

void take_rows(nb::handle x, nb::handle n, nb::handle o) {
    Array from("x", x), ids("ids", n), out("out", o, true);
    const Size count = ids.size(), width = count ? out.size() / count : 0;
    by_types(from, ids, [&](auto t, auto i) {
        using T = decltype(t);
        using I = decltype(i);
        const T* values = from.as<T>();
        const I* rows = ids.as<I>();
        T* to = out.as<T>();
        unlocked([&] { kernels<T, I>().take_rows(values, rows, count, width, to); });
    });
}

}  // namespace

void bind_dense(nb::module_& m) {
    m.def("dense_count", dense_count);
    m.def("dense_fill", dense_fill);
    m.def("rows_count", rows_count);
    m.def("csr_to_dense", csr_to_dense);
    m.def("take_csr", take_csr);
    m.def("take_rows", take_rows);
}

}  // namespace sparseops
