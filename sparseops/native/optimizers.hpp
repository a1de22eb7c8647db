// One step of an optimizer, fused: each value of the gradient is read once, each of the weights and
// of the state read and written once.
//
// Operations are rounded one by one, in the order of the expressions in sparseops.optim: results are
// the same to the bit.
#pragma once

#include <cmath>

#include "parts.hpp"

namespace sparseops::ISA {

// A rule is made of its numbers, and moves one weight `w` and the values `a`, `b` of its state by
// the gradient `g`.

template <class T>
struct SGD {
    T rate;
    explicit SGD(const double* n) : rate(T(n[0])) {}
    void operator()(T g, T& w, T&, T&) const { w -= rate * g; }
};

template <class T>
struct Momentum {
    T rate, kept;
    explicit Momentum(const double* n) : rate(T(n[0])), kept(T(n[1])) {}
    void operator()(T g, T& w, T& velocity, T&) const {
        velocity = velocity * kept - rate * g;
        w += velocity;
    }
};

template <class T>
struct Nesterov {
    T rate, kept;
    explicit Nesterov(const double* n) : rate(T(n[0])), kept(T(n[1])) {}
    void operator()(T g, T& w, T& velocity, T&) const {
        velocity = velocity * kept - rate * g;
        w += kept * velocity - rate * g;
    }
};

template <class T>
struct Adagrad {
    T rate, epsilon;
    explicit Adagrad(const double* n) : rate(T(n[0])), epsilon(T(n[1])) {}
    void operator()(T g, T& w, T& history, T&) const {
        history += g * g;
        w -= rate * g / std::sqrt(history + epsilon);
    }
};

template <class T>
struct RMSProp {
    T rate, kept, rest, epsilon;
    explicit RMSProp(const double* n)
        : rate(T(n[0])), kept(T(n[1])), rest(T(1 - n[1])), epsilon(T(n[2])) {}
    void operator()(T g, T& w, T& variance, T&) const {
        variance = variance * kept + rest * g * g;
        w -= rate * g / std::sqrt(variance + epsilon);
    }
};

template <class T>
struct Adam {  // with the correction of both averages in the rate
    T rate, kept1, rest1, kept2, rest2, epsilon;
    explicit Adam(const double* n)
        : rate(T(n[0] * (std::sqrt(1 - std::pow(n[2], n[4])) / (1 - std::pow(n[1], n[4]))))),
          kept1(T(n[1])), rest1(T(1 - n[1])), kept2(T(n[2])), rest2(T(1 - n[2])),
          epsilon(T(n[3])) {}
    void operator()(T g, T& w, T& mean, T& variance) const {
        mean = mean * kept1 + rest1 * g;
        variance = variance * kept2 + rest2 * g * g;
        w -= rate * mean / (std::sqrt(variance) + epsilon);
    }
};

template <class T>
struct AdamW {
    T rate, kept1, rest1, kept2, rest2, epsilon, share1, share2, decay;
    explicit AdamW(const double* n)
        : rate(T(n[0])), kept1(T(n[1])), rest1(T(1 - n[1])), kept2(T(n[2])), rest2(T(1 - n[2])),
          epsilon(T(n[3])), share1(T(1 - std::pow(n[1], n[4]))),
          share2(T(1 - std::pow(n[2], n[4]))), decay(T(n[5])) {}
    void operator()(T g, T& w, T& mean, T& variance) const {
        mean = mean * kept1 + rest1 * g;
        variance = variance * kept2 + rest2 * g * g;
        const T root = std::sqrt(variance / share2) + epsilon;
        w -= rate * (mean / share1 / root + decay * w);
    }
};

template <class T>
struct FTRL {
    T rate, l1, beta, decay;
    explicit FTRL(const double* n) : rate(T(n[0])), l1(T(n[1])), beta(T(n[2])), decay(T(n[3])) {}
    void operator()(T g, T& w, T& z, T& n) const {
        const T before = std::sqrt(n);
        n += g * g;
        const T now = std::sqrt(n);
        z += g - (now - before) / rate * w;
        const T bound = z > 0 ? l1 : -l1;
        const T moved = (bound - z) / ((beta + now) / rate + decay);
        w = std::fabs(z) <= l1 ? T(0) : moved;  // NaN is moved
    }
};

// What is made of the gradient before the rule sees it.
template <class T>
struct Preparation {
    T rescale, clip, decay;
    bool rescales, clips, decays;

    explicit Preparation(const Step<T>& step)
        : rescale(T(step.rescale)), clip(T(step.clip)), decay(T(step.decay)),
          rescales(step.rescale != 1), clips(step.clip >= 0), decays(step.decay != 0) {}

    bool needed() const { return rescales || clips || decays; }

    T operator()(T g, T w) const {
        if (rescales) g = rescale * g;
        if (clips) g = g < -clip ? -clip : g > clip ? clip : g;  // NaN stays
        if (decays) g = g + decay * w;
        return g;
    }
};

template <bool prepares, class R, class T>
inline void step_row(const R& rule, const Preparation<T>& prepared, const T* __restrict g,
                     T* __restrict w, T* __restrict a, T* __restrict b, Size width) {
    for (Size at = 0; at < width; ++at)
        rule(prepares ? prepared(g[at], w[at]) : g[at], w[at], a[at], b[at]);
}

template <class R, class T, class I>
void step_by(const Step<T>& step, const I* places, Size count) {
    const R rule(step.numbers);
    const Preparation<T> prepared(step);
    const bool prepares = prepared.needed();
    const Size width = step.width;
    // Rows are asked for about a kilobyte ahead of their use.
    const Size rows = 1024 / (width * Size(sizeof(T)) + 1);
    const Size distance = rows < 4 ? 4 : rows > 64 ? 64 : rows;
    // A rule without a second array reads and writes nothing of it; the weights stand in for it.
    T *weights = step.arrays[0], *first = step.arrays[1], *second = step.arrays[2];
    parallel_ranges(count, 2 * width, [=](Size begin, Size end) {
        for (Size at = begin; at < end; ++at) {
            const Size row = (places ? Size(places[at]) : at) * width;
            if (places && at + distance < end) {
                const Size ahead = places[at + distance] * width;
                for (Size value = 0; value < width; value += 64 / sizeof(T)) {
                    __builtin_prefetch(weights + ahead + value, 1);
                    if (first) __builtin_prefetch(first + ahead + value, 1);
                    if (second) __builtin_prefetch(second + ahead + value, 1);
                }
            }
            const T* g = step.gradient + at * width;
            T *w = weights + row, *a = first ? first + row : w, *b = second ? second + row : w;
            if (prepares) step_row<true>(rule, prepared, g, w, a, b, width);
            else step_row<false>(rule, prepared, g, w, a, b, width);
        }
    });
}

template <class T, class I>
void step(const Step<T>& given, const I* places, Size count) {
    switch (given.rule) {
        case Rule::sgd: return step_by<SGD<T>>(given, places, count);
        case Rule::momentum: return step_by<Momentum<T>>(given, places, count);
        case Rule::nesterov: return step_by<Nesterov<T>>(given, places, count);
        case Rule::adagrad: return step_by<Adagrad<T>>(given, places, count);
        case Rule::rmsprop: return step_by<RMSProp<T>>(given, places, count);
        case Rule::adam: return step_by<Adam<T>>(given, places, count);
        case Rule::adamw: return step_by<AdamW<T>>(given, places, count);
        case Rule::ftrl: return step_by<FTRL<T>>(given, places, count);
    }
}

}  // namespace sparseops::ISA
