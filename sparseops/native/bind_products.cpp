// Products of csr arrays, and what brings equal columns together, as functions of Python.

#include "binding.hpp"

namespace sparseops {
namespace {

void csr_dense(nb::handle p, nb::handle i, nb::handle d, nb::handle at, nb::handle x, nb::handle o) {
    Array indptr("indptr", p), indices("indices", i), dense("dense", x), out("out", o, true);
    std::optional<Array> data, places;
    if (given(data, "data", d)) data->check_size(indices.size());
    if (given(places, "places", at)) places->check_size(indices.size());
    const Size columns = dense.ndim() == 2 ? dense.length(1) : 1;
    out.check_size((indptr.size() - 1) * columns);
    by_types(out, indices, [&](auto t, auto i) {
        using T = decltype(t);
        using I = decltype(i);
        const auto matrix = structure<I>(indptr, indices);
        const T *values = data ? data->as<T>() : nullptr, *right = dense.as<T>();
        const I* order = places ? places->as<I>() : nullptr;
        T* result = out.as<T>();
        unlocked([&] {
            const auto& of = kernels<T, I>();
            if (columns == 1 && values && !order)
                of.csr_vector(matrix, values, right, dense.size(), result);
            else of.csr_dense(matrix, values, order, right, columns, result);
        });
    });
}

void row_sums(nb::handle p, nb::handle d, nb::handle o) {
    Array indptr("indptr", p), data("data", d), out("out", o, true);
    const Size rows = indptr.size() - 1;
    out.check_size(rows);
    by_types(out, indptr, [&](auto t, auto i) {
        using T = decltype(t);
        using I = decltype(i);
        const I* starts = indptr.as<I>();
        const T* values = data.as<T>();
        T* sums = out.as<T>();
        unlocked([&] { kernels<T, I>().row_sums(starts, rows, values, sums); });
    });
}

void sampled(nb::handle p, nb::handle i, nb::handle l, nb::handle r, nb::handle o) {
    Array indptr("indptr", p), indices("indices", i), a("a", l), b("b", r), out("out", o, true);
    out.check_size(indices.size());
    const Size inner = a.length(1);
    a.check_size((indptr.size() - 1) * inner);
    by_types(out, indices, [&](auto t, auto i) {
        using T = decltype(t);
        using I = decltype(i);
        const auto matrix = structure<I>(indptr, indices);
        const T *left = a.as<T>(), *right = b.as<T>();
        T* result = out.as<T>();
        unlocked([&] { kernels<T, I>().sampled(matrix, left, right, inner, result); });
    });
}

Size group(nb::handle n, Size limit, nb::handle u, nb::handle s, nb::handle o) {
    Array ids("ids", n), unique("unique", u, true), starts("starts", s, true), order("order", o, true);
    unique.check_size(ids.size());
    order.check_size(ids.size());
    starts.check_size(ids.size() + 1);
    return by_index(ids, [&](auto i) {
        using I = decltype(i);
        const I* from = ids.as<I>();
        I *found = unique.as<I>(), *firsts = starts.as<I>(), *places = order.as<I>();
        return unlocked([&] {
            return kernels<float, I>().group(from, ids.size(), limit, found, firsts, places);
        });
    });
}

Size product_count(nb::handle pa, nb::handle ia, nb::handle pb, nb::handle ib, Size columns,
                   nb::handle po) {
    Array indptr_a("indptr_a", pa), indices_a("indices_a", ia), indptr_b("indptr_b", pb),
        indices_b("indices_b", ib), indptr("indptr", po, true);
    indptr.check_size(indptr_a.size());
    return by_index(indices_a, [&](auto i) {
        using I = decltype(i);
        const auto a = structure<I>(indptr_a, indices_a), b = structure<I>(indptr_b, indices_b);
        I* counts = indptr.as<I>();
        return unlocked([&] { return kernels<float, I>().product_count(a, b, columns, counts); });
    });
}

void product_fill(nb::handle pa, nb::handle ia, nb::handle da, nb::handle pb, nb::handle ib,
                  nb::handle db, Size columns, nb::handle po, nb::handle io, nb::handle o) {
    Array indptr_a("indptr_a", pa), indices_a("indices_a", ia), data_a("data_a", da),
        indptr_b("indptr_b", pb), indices_b("indices_b", ib), data_b("data_b", db),
        indptr("indptr", po), indices("indices", io, true), data("data", o, true);
    data_a.check_size(indices_a.size());
    data_b.check_size(indices_b.size());
    data.check_size(indices.size());
    by_types(data, indices, [&](auto t, auto i) {
        using T = decltype(t);
        using I = decltype(i);
        const auto a = structure<I>(indptr_a, indices_a), b = structure<I>(indptr_b, indices_b);
        const T *of_a = data_a.as<T>(), *of_b = data_b.as<T>();
        const I* starts = indptr.as<I>();
        I* found = indices.as<I>();
        T* out = data.as<T>();
        unlocked([&] { kernels<T, I>().product_fill(a, of_a, b, of_b, columns, starts, found, out); });
    });
}

}  // namespace

void bind_products(nb::module_& m) {
    m.def("csr_dense", csr_dense, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(),
          nb::arg());
    m.def("row_sums", row_sums);
    m.def("sampled", sampled);
    m.def("group", group);
    m.def("product_count", product_count);
    m.def("product_fill", product_fill);
}

}  // namespace sparseops
