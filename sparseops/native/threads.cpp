#include "threads.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#ifndef _WIN32
#include <pthread.h>
#endif

namespace sparseops {
namespace {

// Waits some 50 microseconds for something to be true: to sleep and to be woken takes as long, and
// the next loop often follows soon. Whether it is true.
template <class F>
bool spin_until(F done) noexcept {
    for (int turn = 0; turn < 2000; ++turn) {
        if (done()) return true;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    return done();
}

class Pool {
public:
    // Whether this call has run the parts; not if another loop is running.
    bool run(std::size_t parts, Part f, void* context, int threads) noexcept {
        std::unique_lock<std::mutex> mine(busy_, std::try_to_lock);
        if (!mine.owns_lock()) return false;
        const int helpers = grow(threads - 1);
        if (helpers == 0) return false;
        {
            std::lock_guard<std::mutex> guard(state_);
            f_ = f;
            context_ = context;
            parts_ = parts;
            next_ = 0;
            wanted_ = helpers;
            working_ = helpers;
            ++loop_;
        }
        start_.notify_all();
        work();
        const auto done = [this] { return working_ == 0; };
        if (spin_until(done)) return true;
        std::unique_lock<std::mutex> lock(state_);
        done_.wait(lock, done);
        return true;
    }

private:
    // Starts threads until there are `count`, or no more can be had; how many may help.
    int grow(int count) noexcept {
        while (started_ < count) {
            try {
                std::thread(&Pool::serve, this, started_).detach();
            } catch (const std::system_error&) {
                break;
            }
            ++started_;
        }
        return started_ < count ? started_ : count;
    }

    void serve(int number) noexcept {
        std::size_t seen = 0;
        const auto begun = [&] { return loop_ != seen; };
        for (;;) {
            spin_until(begun);
            std::unique_lock<std::mutex> lock(state_);
            start_.wait(lock, begun);
            seen = loop_;
            if (number >= wanted_) continue;
            lock.unlock();
            work();
            if (--working_ > 0) continue;
            lock.lock();
            done_.notify_one();
        }
    }

    void work() noexcept {
        for (std::size_t part; (part = next_.fetch_add(1)) < parts_;) f_(context_, part);
    }

    std::mutex busy_;  // held while a loop runs
    std::mutex state_;
    std::condition_variable start_, done_;
    Part f_ = nullptr;
    void* context_ = nullptr;
    std::size_t parts_ = 0;
    std::atomic<std::size_t> loop_{0}, next_{0};
    std::atomic<int> working_{0};
    int started_ = 0, wanted_ = 0;
};

std::atomic<int> threads{1};
// Never destroyed: threads may wait in it while the process ends.
std::atomic<Pool*> pool{nullptr};

Pool& current() {
    Pool* found = pool.load();
    if (found) return *found;
    Pool* made = new Pool;
    if (pool.compare_exchange_strong(found, made)) return *made;
    delete made;
    return *found;
}

#ifndef _WIN32
// The threads of the parent do not exist in the child, and its locks may be held for ever.
void forget() { pool.store(nullptr); }
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, forget);
#endif

}  // namespace

int num_threads() { return threads.load(); }

void set_num_threads(int count) { threads.store(count); }

void run_parts(std::size_t parts, Part f, void* context) noexcept {
    const int count = num_threads();
    if (parts > 1 && count > 1 && current().run(parts, f, context, count)) return;
    for (std::size_t part = 0; part < parts; ++part) f(context, part);
}

}  // namespace sparseops
