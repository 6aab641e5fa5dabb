// The face of the native store towards Node: arguments, failures, and the life of one thread.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "binding.h"

namespace svc {

Call::Call(napi_env env, napi_callback_info info) : env(env) {
  size_t count = 6;
  void* data = nullptr;
  napi_get_cb_info(env, info, &count, arguments, nullptr, &data);
  environment = static_cast<Environment*>(data);
}

void Call::Fail(const char* kind, const std::string& message) {
  ok = false;
  napi_value make, undefined, failure;
  napi_value words[2];
  napi_get_reference_value(env, environment->make_failure, &make);
  napi_get_undefined(env, &undefined);
  napi_create_string_utf8(env, kind, NAPI_AUTO_LENGTH, &words[0]);
  napi_create_string_utf8(env, message.data(), message.size(), &words[1]);
  if (napi_call_function(env, undefined, make, 2, words, &failure) == napi_ok) {
    napi_throw(env, failure);
  }
}

bool Call::Check(const rocksdb::Status& status) {
  if (status.ok()) return true;
  const char* kind = "other";
  const std::string text = status.ToString();
  if (status.IsCorruption()) {
    kind = "corruption";
  } else if (status.IsNoSpace()) {
    kind = "no-space";
  } else if (status.IsIOError()) {
    kind = text.find("lock") != std::string::npos ? "locked" : "io";
  } else if (status.IsInvalidArgument() && text.find("does not exist") != std::string::npos) {
    kind = "absent";
  }
  Fail(kind, text);
  return false;
}

int64_t Call::Integer(size_t index) {
  int64_t value = 0;
  if (napi_get_value_int64(env, arguments[index], &value) != napi_ok && ok) {
    Fail("bug", "an argument is not a number");
  }
  return value;
}

bool Call::Boolean(size_t index) {
  bool value = false;
  if (napi_get_value_bool(env, arguments[index], &value) != napi_ok && ok) {
    Fail("bug", "an argument is not a boolean");
  }
  return value;
}

std::string Call::Text(size_t index) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, arguments[index], nullptr, 0, &length) != napi_ok) {
    if (ok) Fail("bug", "an argument is not a string");
    return {};
  }
  std::string text(length, '\0');
  napi_get_value_string_utf8(env, arguments[index], text.data(), length + 1, &length);
  return text;
}

rocksdb::Slice Call::Bytes(size_t index) {
  size_t length = 0;
  const char* data = Target(index, &length);
  return {data == nullptr ? "" : data, length};
}

char* Call::Target(size_t index, size_t* length) {
  void* data = nullptr;
  *length = 0;
  if (napi_get_buffer_info(env, arguments[index], &data, length) != napi_ok && ok) {
    Fail("bug", "an argument is not a byte array");
  }
  return static_cast<char*>(data);
}

Client* Call::UsedClient() {
  const auto index = static_cast<uint64_t>(Integer(0));
  if (!ok) return nullptr;
  auto& clients = environment->clients;
  if (index >= clients.size() || clients[index] == nullptr) {
    Fail("bug", "the store is closed");
    return nullptr;
  }
  return clients[index].get();
}

napi_value Call::Number(double value) {
  napi_value number;
  napi_create_double(env, value, &number);
  return number;
}

void Define(napi_env env, napi_value exports, const char* name, napi_callback callback,
            Environment* environment) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, environment, &function);
  napi_set_named_property(env, exports, name, function);
}

// initialize(scratch, results, makeFailure): memory that later calls answer into.
napi_value Initialize(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Environment* environment = call.environment;
  napi_create_reference(env, call.arguments[2], 1, &environment->make_failure);
  environment->scratch = call.Target(0, &environment->scratch_length);
  napi_create_reference(env, call.arguments[0], 1, &environment->scratch_reference);
  void* results = nullptr;
  size_t length = 0;
  napi_typedarray_type type;
  napi_get_typedarray_info(env, call.arguments[1], &type, &length, &results, nullptr, nullptr);
  if (type != napi_float64_array || length < 8) call.Fail("bug", "results are eight doubles");
  environment->results = static_cast<double*>(results);
  napi_create_reference(env, call.arguments[1], 1, &environment->results_reference);
  return nullptr;
}

// trimMemory(): pages that hold nothing between allocations go back to the system. The C library
// gives back the end of its heap alone by itself, and a burst of buffers leaves holes below it.
napi_value TrimMemory(napi_env, napi_callback_info) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return nullptr;
}

// askLargePages(bytes): the system may put the whole pages of this memory together to large ones. What
// is read here and there over many megabytes waits longer for addresses than for bytes otherwise.
napi_value AskLargePages(napi_env env, napi_callback_info info) {
#ifdef MADV_HUGEPAGE
  Call call(env, info);
  napi_typedarray_type type;
  void* data = nullptr;
  size_t length = 0;
  napi_get_typedarray_info(env, call.arguments[0], &type, &length, &data, nullptr, nullptr);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<uintptr_t>(data) + page - 1) & ~(page - 1);
  const auto end = (reinterpret_cast<uintptr_t>(data) + length) & ~(page - 1);
  // A system without them says so, and everything stays as it is.
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
  return nullptr;
}

// The thread ends: what it left open is closed, as if it had closed it.
void CleanUp(void* data) {
  auto* environment = static_cast<Environment*>(data);
  environment->value.Reset();
  for (auto& client : environment->clients) {
    if (client != nullptr) LeaveDatabase(client.get());
  }
  delete environment;
}

// RocksDB's threads run this code and outlive the JavaScript thread that loaded it first.
void StayLoaded() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&StayLoaded), &info) != 0 && info.dli_fname != nullptr) {
    dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

}  // namespace svc

NAPI_MODULE_INIT() {
  svc::StayLoaded();
  auto* environment = new svc::Environment{env};
  napi_add_env_cleanup_hook(env, svc::CleanUp, environment);
  svc::Define(env, exports, "initialize", svc::Initialize, environment);
  svc::Define(env, exports, "trimMemory", svc::TrimMemory, environment);
  svc::Define(env, exports, "askLargePages", svc::AskLargePages, environment);
  svc::DefineDatabaseCalls(env, exports, environment);
  svc::DefineReadCalls(env, exports, environment);
  svc::DefineChecksumCalls(env, exports, environment);
  svc::DefineAwakeCalls(env, exports, environment);
  svc::DefinePriorityCalls(env, exports, environment);
  svc::DefineWriteCalls(env, exports, environment);
  return exports;
}
