// Memory of one call.
#pragma once

#include <cstdlib>
#include <new>

#include "kernels.hpp"

namespace sparseops::ISA {

template <class T>
class Scratch {
public:
    explicit Scratch(Size count) : data_(static_cast<T*>(std::malloc((count + 1) * sizeof(T)))) {
        if (!data_) throw std::bad_alloc();
    }
    ~Scratch() { std::free(data_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    T* get() const { return data_; }

private:
    T* data_;
};

}  // namespace sparseops::ISA
