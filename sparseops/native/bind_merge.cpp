// Two sparse arrays entry by entry, as functions of Python.

#include <nanobind/stl/string.h>

#include "binding.hpp"

namespace sparseops {
namespace {

Merge merge_of(const std::string& name) {
    if (name == "add") return Merge::add;
    if (name == "subtract") return Merge::subtract;
    if (name == "multiply") return Merge::multiply;
    throw nb::value_error(("no kernel merges by " + name).c_str());
}

Size merge_count(const std::string& name, nb::handle pa, nb::handle ia, nb::handle pb,
                 nb::handle ib, nb::handle po) {
    const Merge kind = merge_of(name);
    Array indptr_a("indptr_a", pa), indices_a("indices_a", ia), indptr_b("indptr_b", pb),
        indices_b("indices_b", ib), indptr("indptr", po, true);
    indptr.check_size(indptr_a.size());
    indptr.check_size(indptr_b.size());
    return by_index(indices_a, [&](auto i) {
        using I = decltype(i);
        const auto a = structure<I>(indptr_a, indices_a), b = structure<I>(indptr_b, indices_b);
        I* counts = indptr.as<I>();
        return unlocked([&] { return kernels<float, I>().merge_count(kind, a, b, counts); });
    });
}

void merge_fill(const std::string& name, nb::handle pa, nb::handle ia, nb::handle da, nb::handle pb,
                nb::handle ib, nb::handle db, nb::handle po, nb::handle io, nb::handle o) {
    const Merge kind = merge_of(name);
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
        I* columns = indices.as<I>();
        T* out = data.as<T>();
        unlocked([&] { kernels<T, I>().merge_fill(kind, a, of_a, b, of_b, starts, columns, out); });
    });
}

Size union_rows(nb::handle ia, nb::handle ib, nb::handle r, nb::handle ta, nb::handle tb) {
    Array a("a", ia), b("b", ib), rows("rows", r, true), at_a("at_a", ta, true),
        at_b("at_b", tb, true);
    for (const Array* out : {&rows, &at_a, &at_b}) out->check_size(a.size() + b.size());
    return by_index(a, [&](auto i) {
        using I = decltype(i);
        const I *of_a = a.as<I>(), *of_b = b.as<I>();
        I *found = rows.as<I>(), *from_a = at_a.as<I>(), *from_b = at_b.as<I>();
        return unlocked([&] {
            return kernels<float, I>().union_rows(of_a, a.size(), of_b, b.size(), found, from_a, from_b);
        });
    });
}

void merge_rows(const std::string& name, nb::handle ta, nb::handle tb, nb::handle da, nb::handle db,
                nb::handle o) {
    const Merge kind = merge_of(name);
    Array at_a("at_a", ta), at_b("at_b", tb), data_a("data_a", da), data_b("data_b", db),
        out("out", o, true);
    const Size rows = at_a.size(), width = rows ? out.size() / rows : 0;
    at_b.check_size(rows);
    out.check_size(rows * width);
    by_types(out, at_a, [&](auto t, auto i) {
        using T = decltype(t);
        using I = decltype(i);
        const I *from_a = at_a.as<I>(), *from_b = at_b.as<I>();
        const T *a = data_a.as<T>(), *b = data_b.as<T>();
        T* to = out.as<T>();
        unlocked([&] { kernels<T, I>().merge_rows(kind, from_a, from_b, rows, a, b, width, to); });
    });
}

}  // namespace

void bind_merge(nb::module_& m) {
    m.def("merge_count", merge_count);
    m.def("merge_fill", merge_fill);
    m.def("union_rows", union_rows);
    m.def("merge_rows", merge_rows);
}

}  // namespace sparseops
