// The module of Python, and the choice of instructions.

#include <nanobind/stl/string.h>

#include "binding.hpp"
#include "threads.hpp"

namespace sparseops {
namespace {

bool has_avx2() {
#ifdef SPARSEOPS_AVX2
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

void set_instructions(const std::string& name) {
    if (name != "plain" && !(name == "avx2" && has_avx2()))
        throw nb::value_error(("there are no kernels for " + name + " here").c_str());
    use_avx2 = name == "avx2";
}

}  // namespace

bool use_avx2 = has_avx2();

void bind_products(nb::module_& m);
void bind_merge(nb::module_& m);
void bind_dense(nb::module_& m);
void bind_optimizers(nb::module_& m);

}  // namespace sparseops

NB_MODULE(_kernels, m) {
    using namespace sparseops;
    m.def("num_threads", num_threads);
    m.def("set_num_threads", set_num_threads);
    m.def("instructions", [] { return use_avx2 ? "avx2" : "plain"; });
    m.def("set_instructions", set_instructions);
    bind_products(m);
    bind_merge(m);
    bind_dense(m);
    bind_optimizers(m);
}
