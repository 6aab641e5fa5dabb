// The native store's parts: databases shared by the threads of one process, the clients that use
// them, and the glue to Node-API. server/storage/rocksdb/native.ts is the only caller.
//
// A Database is one open directory, known to the whole process by a number that is never reused,
// so a stale number is an error and not a wild pointer. A Client is one JavaScript thread's use of
// it and owns every cursor and snapshot of that thread. The last client to leave closes the
// database. Calls of one client come from one thread only; what clients share is behind
// Database::mutex.
#pragma once

#include <node_api.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/status.h>

#include <atomic>
#include <cstdint>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace svc {

struct SharedSnapshot {
  const rocksdb::Snapshot* snapshot;
  int holders;
};

struct Database {
  uint64_t id = 0;
  std::string path;
  rocksdb::Options options;
  std::unique_ptr<rocksdb::DB> db;
  // Memory that the active memtable may take, and has taken since the last switch at most.
  size_t memtable_bytes_max = 0;
  std::atomic<size_t> memtable_bytes{0};
  // Deletions in the active memtable.
  std::atomic<size_t> memtable_deletions{0};
  // When the memtable was changed last, and whether merging is late since then (writes.cc).
  std::chrono::steady_clock::time_point memtable_changed{};
  bool merges_late = false;
  // A write found no room: RocksDB takes the next one after it was told to resume.
  bool is_full = false;
  std::mutex mutex;
  int clients = 0;
  uint64_t next_snapshot = 1;
  std::unordered_map<uint64_t, SharedSnapshot> snapshots;
};

// The bounds that an iterator has, and what it does on its way.
struct IteratorTraits {
  bool has_upper = false;
  bool has_lower = false;
  bool fills_cache = true;
  // It gives up amid a long stretch of deleted rows.
  bool pauses = false;

  bool operator==(const IteratorTraits&) const = default;
};

// A RocksDB iterator whose bounds are changed in place before every seek. RocksDB reads them
// through the pointers in its options and supports the change (BlockBasedTableIterator::SeekImpl).
struct BoundedIterator {
  rocksdb::Slice lower;
  rocksdb::Slice upper;
  IteratorTraits traits;
  std::unique_ptr<rocksdb::Iterator> iterator;
};

// What one client holds of a snapshot: how often, and iterators over it that wait for reuse.
struct HeldSnapshot {
  const rocksdb::Snapshot* snapshot;
  int holds = 0;
  std::vector<std::unique_ptr<BoundedIterator>> idle;
};

struct Range {
  rocksdb::Slice start;
  rocksdb::Slice end;
  bool has_end;
};

// One scan: ranges in `bytes`, walked one after another with one iterator.
struct Cursor {
  uint64_t snapshot_id;
  std::string bytes;
  std::vector<Range> ranges;
  size_t range_index = 0;
  bool reverse;
  bool keys_only;
  bool once;
  // A long stretch of deleted rows ends a call; the next one goes on at `resume`.
  bool pauses;
  bool resuming = false;
  std::string resume;
  bool positioned = false;
  std::unique_ptr<BoundedIterator> bounded;
};

struct Client {
  std::shared_ptr<Database> database;
  bool opener;
  std::vector<std::unique_ptr<Cursor>> cursors;
  std::vector<uint32_t> free_cursors;
  std::unordered_map<uint64_t, HeldSnapshot> snapshots;
};

// Everything of one JavaScript thread.
struct Environment {
  napi_env env;
  napi_ref make_failure = nullptr;
  napi_ref scratch_reference = nullptr;
  napi_ref results_reference = nullptr;
  char* scratch = nullptr;
  size_t scratch_length = 0;
  // Counters of the last call, see `Result` in native.ts.
  double* results = nullptr;
  rocksdb::PinnableSlice value;
  std::vector<std::unique_ptr<Client>> clients;
};

// Set while a call of this thread may have RocksDB change the memtable beside the writing thread:
// the log that ends with it is synced before a write enters the next one (see ChangeMemtable).
extern thread_local rocksdb::DB* changing_beside_writes;

enum Result { kByteLength = 0, kRowCount = 1, kDone = 2, kRangeIndex = 3, kBytesNeeded = 4 };

// A call in progress: its arguments, and whether an exception is pending. Argument readers throw
// into JavaScript and mark the call as failed; check `ok` before using what they returned.
struct Call {
  Environment* environment;
  napi_env env;
  napi_value arguments[6];
  bool ok = true;

  Call(napi_env env, napi_callback_info info);
  // Throws what make_failure(kind, message) makes.
  void Fail(const char* kind, const std::string& message);
  // True when `status` is ok; throws otherwise.
  bool Check(const rocksdb::Status& status);
  int64_t Integer(size_t index);
  bool Boolean(size_t index);
  std::string Text(size_t index);
  rocksdb::Slice Bytes(size_t index);
  char* Target(size_t index, size_t* length);
  // The client that argument 0 numbers; nullptr (and an exception) when it is closed.
  Client* UsedClient();
  napi_value Number(double value);
};

// Sets options.snapshot; false (and an exception) when this client does not hold it. 0 is none.
bool UseSnapshot(Call& call, Client* client, uint64_t id, rocksdb::ReadOptions* options);
// Ends a cursor; its iterator goes back to its snapshot for reuse.
void EndCursor(Client* client, uint32_t index);
// Ends everything the client holds and leaves the database, closing it behind the last one.
rocksdb::Status LeaveDatabase(Client* client);

void DefineDatabaseCalls(napi_env env, napi_value exports, Environment* environment);
void DefineReadCalls(napi_env env, napi_value exports, Environment* environment);
void DefineChecksumCalls(napi_env env, napi_value exports, Environment* environment);
void DefineAwakeCalls(napi_env env, napi_value exports, Environment* environment);
void DefinePriorityCalls(napi_env env, napi_value exports, Environment* environment);
void DefineWriteCalls(napi_env env, napi_value exports, Environment* environment);
void Define(napi_env env, napi_value exports, const char* name, napi_callback callback,
            Environment* environment);

}  // namespace svc
