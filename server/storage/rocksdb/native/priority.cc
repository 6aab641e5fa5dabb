// The class of the kernel's scheduler that a thread is in.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>

#include "binding.h"

namespace svc {
namespace {

// enterIdleClass(): from now on this thread runs only where nothing else would, and gives way at
// once to whoever wakes up. The way back takes a privilege. False where the system refuses.
napi_value EnterIdleClass(napi_env env, napi_callback_info) {
  const sched_param priority{};
  napi_value entered;
  napi_get_boolean(env, pthread_setschedparam(pthread_self(), SCHED_IDLE, &priority) == 0,
                   &entered);
  return entered;
}

}  // namespace

void DefinePriorityCalls(napi_env env, napi_value exports, Environment* environment) {
  Define(env, exports, "enterIdleClass", EnterIdleClass, environment);
}

}  // namespace svc
