// The kernels as functions of Python: types and sizes are checked, the GIL is released.

#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>

#include "array.hpp"
#include "kernels.hpp"
#include "threads.hpp"

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

namespace {

bool has_avx2() {
#ifdef SPARSEOPS_AVX2
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

bool use_avx2 = has_avx2();

template <class T, class I>
const Kernels<T, I>& kernels() {
#ifdef SPARSEOPS_AVX2
    if (use_avx2) return avx2::table<T, I>();
#endif
    return plain::table<T, I>();
}

void set_instructions(const std::string& name) {
    if (name != "plain" && !(name == "avx2" && has_avx2()))
        throw nb::value_error(("there are no kernels for " + name + " here").c_str());
    use_avx2 = name == "avx2";
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

std::optional<Array>& given(std::optional<Array>& made, const char* name, nb::handle object) {
    if (!object.is_none()) made.emplace(name, object);
    return made;
}

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

const char* const rules[] = {"sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam", "adamw", "ftrl"};

void step(const std::string& name, nb::handle pl, nb::handle g, nb::handle w, nb::handle s1,
          nb::handle s2, nb::tuple preparation, nb::tuple numbers) {
    const auto found = std::find(std::begin(rules), std::end(rules), name);
    if (found == std::end(rules)) throw nb::value_error(("no kernel for the rule " + name).c_str());
    std::optional<Array> places, arrays[2];
    given(places, "places", pl);
    Array gradient("gradient", g), weights("weights", w, true);
    if (!s1.is_none()) arrays[0].emplace("state", s1, true);
    if (!s2.is_none()) arrays[1].emplace("state", s2, true);
    const Size rows = weights.length(0), width = rows ? weights.size() / rows : 0;
    const Size count = places ? places->size() : rows;
    gradient.check_size(count * width);
    for (const auto& array : arrays)
        if (array) array->check_size(weights.size());
    const auto run = [&](auto t, auto i) {
        using T = decltype(t);
        using I = decltype(i);
        Step<T> by = {};
        by.rule = static_cast<Rule>(found - std::begin(rules));
        by.gradient = gradient.as<T>();
        by.arrays[0] = weights.as<T>();
        for (int at = 0; at < 2; ++at)
            if (arrays[at]) by.arrays[at + 1] = arrays[at]->as<T>();
        by.width = width;
        by.rescale = nb::cast<double>(preparation[0]);
        by.clip = nb::cast<double>(preparation[1]);
        by.decay = nb::cast<double>(preparation[2]);
        for (std::size_t at = 0; at < std::min<std::size_t>(numbers.size(), 7); ++at)
            by.numbers[at] = nb::cast<double>(numbers[at]);
        const I* at = places ? places->as<I>() : nullptr;
        unlocked([&] { kernels<T, I>().step(by, at, count); });
    };
    const bool wide = places && places->is<std::int64_t>();
    if (weights.is<float>()) wide ? run(float(), std::int64_t()) : run(float(), std::int32_t());
    else wide ? run(double(), std::int64_t()) : run(double(), std::int32_t());
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
}  // namespace sparseops

NB_MODULE(_kernels, m) {
    using namespace sparseops;
    m.def("num_threads", num_threads);
    m.def("set_num_threads", set_num_threads);
    m.def("instructions", [] { return use_avx2 ? "avx2" : "plain"; });
    m.def("set_instructions", set_instructions);
    m.def("csr_dense", csr_dense, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(),
          nb::arg());
    m.def("row_sums", row_sums);
    m.def("sampled", sampled);
    m.def("merge_count", merge_count);
    m.def("merge_fill", merge_fill);
    m.def("union_rows", union_rows);
    m.def("merge_rows", merge_rows);
    m.def("dense_count", dense_count);
    m.def("dense_fill", dense_fill);
    m.def("rows_count", rows_count);
    m.def("csr_to_dense", csr_to_dense);
    m.def("take_csr", take_csr);
    m.def("take_rows", take_rows);
    m.def("group", group);
    m.def("step", step, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg().none(),
          nb::arg().none(), nb::arg(), nb::arg());
    m.def("product_count", product_count);
    m.def("product_fill", product_fill);
}
