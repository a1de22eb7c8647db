// A pool of threads for loops over independent parts.
//
// One loop runs at a time: a caller that finds the pool busy, from another thread or from inside a
// part, runs its parts alone. A child after fork() makes a pool of its own.
#pragma once

#include <cstddef>

namespace sparseops {

int num_threads();
void set_num_threads(int count);  // 1 or more

using Part = void (*)(void* context, std::size_t part);

// Calls f(context, part) for every part below `parts`, in any order.
void run_parts(std::size_t parts, Part f, void* context) noexcept;

// The same for a function object, which must not throw.
template <class F>
inline void parallel(std::size_t parts, F f) {
    run_parts(parts, [](void* context, std::size_t part) { (*static_cast<F*>(context))(part); }, &f);
}

}  // namespace sparseops
