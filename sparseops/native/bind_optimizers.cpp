// Steps of optimizers as a function of Python.

#include <nanobind/stl/string.h>

#include <algorithm>

#include "binding.hpp"

namespace sparseops {
namespace {

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

}  // namespace

void bind_optimizers(nb::module_& m) {
    m.def("step", step, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg().none(),
          nb::arg().none(), nb::arg(), nb::arg());
}

}  // namespace sparseops
