// A thread that keeps a processor from going to sleep, at the price of nobody's time but its own.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "binding.h"

namespace svc {
namespace {

int64_t NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Looks at the clock about once a microsecond.
constexpr int kPausesPerLook = 32;

// One a process, never destroyed: its thread may still run while the process ends. Only the thread
// that calls `SpinFor` touches what is not atomic or behind the mutex.
struct Waker {
  std::atomic<int64_t> until{0};
  std::atomic<bool> is_parked{true};
  std::mutex mutex;
  std::condition_variable called;
  pthread_t thread{};
  int processor = -1;
  bool is_started = false;
  bool is_unfit = false;
};

Waker& TheWaker() {
  static Waker* waker = new Waker();
  return *waker;
}

void* SpinWhileDue(void* data) {
  auto* waker = static_cast<Waker*>(data);
  for (;;) {
    while (NowNanos() < waker->until.load(std::memory_order_relaxed)) {
      for (int pause = 0; pause < kPausesPerLook; pause++) Pause();
    }
    std::unique_lock<std::mutex> lock(waker->mutex);
    waker->is_parked.store(true);
    waker->called.wait(lock, [waker] { return NowNanos() < waker->until.load(); });
    waker->is_parked.store(false);
  }
  return nullptr;
}

// False where the system does not let the thread run behind all others: then there is none.
bool Start(Waker* waker) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  sched_param priority{};
  // Signals are the main thread's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool started =
      pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED) == 0 &&
      pthread_attr_setschedpolicy(&attributes, SCHED_OTHER) == 0 &&
      pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
      pthread_create(&waker->thread, &attributes, SpinWhileDue, waker) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (!started) return false;
  pthread_setname_np(waker->thread, "svc:awake");
  return pthread_setschedparam(waker->thread, SCHED_IDLE, &priority) == 0;
}

// keepAwake(microseconds): for so long from now on the processor that this thread runs on does not
// go to sleep while it has nothing to do. Whoever has something to do there goes first.
napi_value SpinFor(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int64_t micros = call.Integer(0);
  if (!call.ok) return nullptr;
  Waker& waker = TheWaker();
  if (waker.is_unfit) return nullptr;
  if (!waker.is_started) {
    waker.is_started = true;
    waker.is_unfit = !Start(&waker);
    if (waker.is_unfit) return nullptr;
  }
  const int processor = sched_getcpu();
  if (processor >= 0 && processor != waker.processor) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    pthread_setaffinity_np(waker.thread, sizeof(only), &only);
    waker.processor = processor;
  }
  waker.until.store(NowNanos() + micros * 1'000);
  if (!waker.is_parked.load()) return nullptr;
  std::lock_guard<std::mutex> lock(waker.mutex);
  waker.called.notify_one();
  return nullptr;
}

}  // namespace

void DefineAwakeCalls(napi_env env, napi_value exports, Environment* environment) {
  Define(env, exports, "keepAwake", SpinFor, environment);
}

}  // namespace svc
