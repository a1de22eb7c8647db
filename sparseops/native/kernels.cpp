// The table of kernels of one instruction set: compiled once for each, with another ISA.

#include "kernels.hpp"

#include "dense.hpp"
#include "grouping.hpp"
#include "merge.hpp"
#include "multiply.hpp"
#include "optimizers.hpp"
#include "products.hpp"

namespace sparseops::ISA {

template <class T, class I>
const Kernels<T, I>& table() {
    static constexpr Kernels<T, I> found = {
        csr_dense<T, I>,   csr_vector<T, I>,    row_sums<T, I>,   sampled<T, I>,
        merge_count<T, I>,
        merge_fill<T, I>,  union_rows<I>,       merge_rows<T, I>, dense_count<T, I>,
        dense_fill<T, I>,  rows_count<T, I>,    csr_to_dense<T, I>, take_csr<T, I>,
        take_rows<T, I>,   group<I>,
        step<T, I>,        product_count<T, I>, product_fill<T, I>,
    };
    return found;
}

template const Kernels<float, std::int32_t>& table();
template const Kernels<float, std::int64_t>& table();
template const Kernels<double, std::int32_t>& table();
template const Kernels<double, std::int64_t>& table();

}  // namespace sparseops::ISA
