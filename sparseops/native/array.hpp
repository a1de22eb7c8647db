// NumPy's arrays as C++ sees them: contiguous, of known types, read-only unless asked otherwise.
#pragma once

#include <nanobind/nanobind.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace sparseops {

class Array {
public:
    // nb::python_error if `object` is no such array.
    Array(const char* name, nanobind::handle object, bool written = false) : name_(name) {
        const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (written ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(object.ptr(), &view_, flags)) throw nanobind::python_error();
    }
    ~Array() { PyBuffer_Release(&view_); }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;

    std::int64_t size() const { return view_.len / view_.itemsize; }
    std::int64_t ndim() const { return view_.ndim; }
    std::int64_t length(int axis) const { return view_.shape[axis]; }

    template <class T>
    bool is() const {
        const char kind = view_.format[0];
        const bool fits = std::is_floating_point_v<T> ? std::strchr("fd", kind) != nullptr
                                                      : std::strchr("ilq", kind) != nullptr;
        return fits && view_.format[1] == 0 && view_.itemsize == sizeof(T);
    }

    template <class T>
    T* as() const {
        if (!is<T>()) {
            throw nanobind::type_error((std::string(name_) + " has another type than the others, or "
                                        "one that no kernel is for").c_str());
        }
        return static_cast<T*>(view_.buf);
    }

    void check_size(std::int64_t wanted) const {
        if (size() == wanted) return;
        throw nanobind::value_error((std::string(name_) + " has " + std::to_string(size()) +
                                     " values; it must have " + std::to_string(wanted)).c_str());
    }

private:
    const char* name_;
    Py_buffer view_;
};

}  // namespace sparseops
