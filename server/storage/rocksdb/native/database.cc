// Opening, sharing and closing; snapshots; properties.

#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include <cstdarg>

#include "binding.h"

namespace svc {

thread_local rocksdb::DB* changing_beside_writes = nullptr;

namespace {

// Failures reach us as statuses; RocksDB's own log file would only cost writes.
class SilentLogger : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
  size_t GetLogFileSize() const override { return 0; }
};

// Asks for a compaction of every file in which much is deleted, so that the room of deleted rows
// comes back by itself: RocksDB alone waits until new writes push the file down. A file of the
// last level has nothing below it and is never asked for.
class DeletionCollector : public rocksdb::TablePropertiesCollector {
 public:
  rocksdb::Status AddUserKey(const rocksdb::Slice&, const rocksdb::Slice&, rocksdb::EntryType type,
                             rocksdb::SequenceNumber, uint64_t) override {
    entries_++;
    if (type == rocksdb::kEntryDelete || type == rocksdb::kEntrySingleDelete) deletions_++;
    if (type == rocksdb::kEntryRangeDeletion) range_deletions_++;
    return rocksdb::Status::OK();
  }
  rocksdb::Status Finish(rocksdb::UserCollectedProperties*) override {
    return rocksdb::Status::OK();
  }
  rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }
  const char* Name() const override { return "svc.DeletionCollector"; }
  bool NeedCompact() const override {
    return range_deletions_ > 0 ||
           (deletions_ >= kDeletionsLeast && deletions_ * 4 >= entries_);
  }

 private:
  static constexpr uint64_t kDeletionsLeast = 1000;
  uint64_t entries_ = 0;
  uint64_t deletions_ = 0;
  uint64_t range_deletions_ = 0;
};

class DeletionCollectorFactory : public rocksdb::TablePropertiesCollectorFactory {
 public:
  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context) override {
    return new DeletionCollector();
  }
  const char* Name() const override { return "svc.DeletionCollector"; }
};

// A thread that changes the memtable holds back all writes until it is told of that here.
class LogKeeper : public rocksdb::EventListener {
 public:
  const char* Name() const override { return "svc.LogKeeper"; }
  void OnMemTableSealed(const rocksdb::MemTableInfo&) override {
    if (changing_beside_writes == nullptr) return;
    // Where it fails RocksDB refuses the writes that follow.
    changing_beside_writes->SyncWAL().PermitUncheckedError();
  }
};

// What the threads of the process share. Never destroyed: RocksDB's own threads may still run
// while the process ends.
struct Shared {
  std::mutex mutex;
  uint64_t next_database = 1;
  std::unordered_map<uint64_t, std::weak_ptr<Database>> databases;
  std::shared_ptr<rocksdb::Cache> cache;
};

Shared& SharedState() {
  static Shared* shared = new Shared();
  return *shared;
}

// The first open that wants one says how large it is: its table does not grow.
std::shared_ptr<rocksdb::Cache> SharedCache(size_t bytes) {
  Shared& shared = SharedState();
  std::lock_guard<std::mutex> lock(shared.mutex);
  if (shared.cache == nullptr) {
    shared.cache = rocksdb::HyperClockCacheOptions(bytes, 0).MakeSharedCache();
  }
  return shared.cache;
}

// One format with the package's own API: the default column family, bytewise order, no prefix
// extractor, no compression that it could not read.
rocksdb::Options OptionsOf(size_t memtable_bytes, size_t cache_bytes, int background_jobs) {
  rocksdb::Options options;
  // Beyond what the memtable reaches: writes.cc changes it, and its log, in time.
  options.write_buffer_size = memtable_bytes * 2;
  options.max_write_buffer_number = 4;
  // Of a memtable as large as it gets some 13 bits for a usual row: who looks for a key that is not
  // there, as every insert into a unique index does, does not search the rows for it.
  options.memtable_prefix_bloom_size_ratio = 0.005;
  options.memtable_whole_key_filtering = true;
  options.compression = rocksdb::kNoCompression;
  options.wal_compression = rocksdb::kNoCompression;
  options.max_background_jobs = background_jobs;
  options.table_properties_collector_factories.push_back(
      std::make_shared<DeletionCollectorFactory>());
  options.listeners.push_back(std::make_shared<LogKeeper>());
  options.bytes_per_sync = 1 << 20;
  options.wal_bytes_per_sync = 1 << 20;
  options.avoid_unnecessary_blocking_io = true;
  options.skip_stats_update_on_db_open = true;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.info_log_level = rocksdb::HEADER_LEVEL;
  options.info_log = std::make_shared<SilentLogger>();
  rocksdb::BlockBasedTableOptions table;
  if (cache_bytes > 0) table.block_cache = SharedCache(cache_bytes);
  table.no_block_cache = cache_bytes == 0;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  // Indexes and filters are counted in the cache, and stay: a lookup does not look for them.
  table.cache_index_and_filter_blocks = cache_bytes > 0;
  table.metadata_cache_options.top_level_index_pinning = rocksdb::PinningTier::kAll;
  table.metadata_cache_options.partition_pinning = rocksdb::PinningTier::kAll;
  table.metadata_cache_options.unpartitioned_pinning = rocksdb::PinningTier::kAll;
  table.optimize_filters_for_memory = true;
  table.checksum = rocksdb::kXXH3;
  // Four times the usual: scans take less processor time (docs/design/0048).
  table.block_size = 16 << 10;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

napi_value AddClient(Call& call, std::shared_ptr<Database> database, bool opener) {
  auto client = std::make_unique<Client>();
  client->database = std::move(database);
  client->opener = opener;
  call.environment->clients.push_back(std::move(client));
  return call.Number(static_cast<double>(call.environment->clients.size() - 1));
}

// open(path, createIfMissing, memtableBytes, blockCacheBytes, backgroundJobs) -> client
napi_value Open(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const std::string path = call.Text(0);
  const bool create = call.Boolean(1);
  const auto memtable_bytes = static_cast<size_t>(call.Integer(2));
  const auto cache_bytes = static_cast<size_t>(call.Integer(3));
  const auto background_jobs = static_cast<int>(call.Integer(4));
  if (!call.ok) return nullptr;
  auto database = std::make_shared<Database>();
  database->path = path;
  database->memtable_bytes_max = memtable_bytes;
  database->options = OptionsOf(memtable_bytes, cache_bytes, background_jobs);
  database->options.create_if_missing = create;
  rocksdb::DB* db = nullptr;
  if (!call.Check(rocksdb::DB::Open(database->options, path, &db))) return nullptr;
  database->db.reset(db);
  database->clients = 1;
  Shared& shared = SharedState();
  {
    std::lock_guard<std::mutex> lock(shared.mutex);
    database->id = shared.next_database++;
    shared.databases[database->id] = database;
  }
  return AddClient(call, database, true);
}

// attach(databaseId) -> client
napi_value Attach(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const auto id = static_cast<uint64_t>(call.Integer(0));
  if (!call.ok) return nullptr;
  std::shared_ptr<Database> database;
  {
    Shared& shared = SharedState();
    std::lock_guard<std::mutex> lock(shared.mutex);
    const auto found = shared.databases.find(id);
    if (found != shared.databases.end()) database = found->second.lock();
  }
  if (database != nullptr) {
    std::lock_guard<std::mutex> lock(database->mutex);
    if (database->db == nullptr || database->clients == 0) {
      database = nullptr;
    } else {
      database->clients++;
    }
  }
  if (database == nullptr) {
    call.Fail("bug", "the store is closed");
    return nullptr;
  }
  return AddClient(call, database, false);
}

// databaseId(client) -> number for attach
napi_value DatabaseId(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  return call.Number(static_cast<double>(client->database->id));
}

// close(client)
napi_value Close(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  int others = 0;
  {
    std::lock_guard<std::mutex> lock(client->database->mutex);
    others = client->database->clients - 1;
  }
  if (client->opener && others > 0) {
    call.Fail("bug", "the store is used by " + std::to_string(others) + " other threads");
    return nullptr;
  }
  call.environment->value.Reset();
  const rocksdb::Status status = LeaveDatabase(client);
  call.environment->clients[static_cast<size_t>(call.Integer(0))].reset();
  call.Check(status);
  return nullptr;
}

// createSnapshot(client) -> id
napi_value CreateSnapshot(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  Database* database = client->database.get();
  const rocksdb::Snapshot* snapshot = database->db->GetSnapshot();
  uint64_t id;
  {
    std::lock_guard<std::mutex> lock(database->mutex);
    id = database->next_snapshot++;
    database->snapshots[id] = {snapshot, 1};
  }
  HeldSnapshot& held = client->snapshots[id];
  held.snapshot = snapshot;
  held.holds = 1;
  return call.Number(static_cast<double>(id));
}

// attachSnapshot(client, id): holds a snapshot of any client of the same database
napi_value AttachSnapshot(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  const auto id = static_cast<uint64_t>(call.Integer(1));
  std::lock_guard<std::mutex> lock(client->database->mutex);
  const auto found = client->database->snapshots.find(id);
  if (found == client->database->snapshots.end()) {
    call.Fail("bug", "the snapshot is released");
    return nullptr;
  }
  found->second.holders++;
  HeldSnapshot& held = client->snapshots[id];
  held.snapshot = found->second.snapshot;
  held.holds++;
  return nullptr;
}

void DropSnapshot(Database* database, uint64_t id) {
  std::lock_guard<std::mutex> lock(database->mutex);
  const auto found = database->snapshots.find(id);
  if (found == database->snapshots.end() || --found->second.holders > 0) return;
  database->db->ReleaseSnapshot(found->second.snapshot);
  database->snapshots.erase(found);
}

// releaseSnapshot(client, id)
napi_value ReleaseSnapshot(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  const auto id = static_cast<uint64_t>(call.Integer(1));
  const auto held = client->snapshots.find(id);
  if (held == client->snapshots.end()) return nullptr;
  if (--held->second.holds == 0) client->snapshots.erase(held);
  DropSnapshot(client->database.get(), id);
  return nullptr;
}

// properties(client): fills results with keys; memtable, SST, block cache and uncompacted bytes
napi_value Properties(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  const char* names[] = {"rocksdb.estimate-num-keys", "rocksdb.cur-size-all-mem-tables",
                         "rocksdb.total-sst-files-size", "rocksdb.block-cache-usage",
                         "rocksdb.estimate-pending-compaction-bytes"};
  for (int index = 0; index < 5; index++) {
    uint64_t value = 0;
    client->database->db->GetIntProperty(names[index], &value);
    call.environment->results[index] = static_cast<double>(value);
  }
  return nullptr;
}

}  // namespace

bool UseSnapshot(Call& call, Client* client, uint64_t id, rocksdb::ReadOptions* options) {
  if (id == 0) return true;
  const auto held = client->snapshots.find(id);
  if (held == client->snapshots.end()) {
    call.Fail("bug", "the snapshot is released");
    return false;
  }
  options->snapshot = held->second.snapshot;
  return true;
}

rocksdb::Status LeaveDatabase(Client* client) {
  client->cursors.clear();
  client->free_cursors.clear();
  for (auto& [id, held] : client->snapshots) {
    held.idle.clear();
    for (; held.holds > 0; held.holds--) DropSnapshot(client->database.get(), id);
  }
  client->snapshots.clear();
  std::shared_ptr<Database> database = std::move(client->database);
  std::unique_ptr<rocksdb::DB> db;
  {
    std::lock_guard<std::mutex> lock(database->mutex);
    if (--database->clients == 0) db = std::move(database->db);
  }
  if (db == nullptr) return rocksdb::Status::OK();
  {
    Shared& shared = SharedState();
    std::lock_guard<std::mutex> lock(shared.mutex);
    shared.databases.erase(database->id);
  }
  const rocksdb::Status synced = db->SyncWAL();
  const rocksdb::Status closed = db->Close();
  return synced.ok() ? closed : synced;
}

void DefineDatabaseCalls(napi_env env, napi_value exports, Environment* environment) {
  Define(env, exports, "open", Open, environment);
  Define(env, exports, "attach", Attach, environment);
  Define(env, exports, "databaseId", DatabaseId, environment);
  Define(env, exports, "close", Close, environment);
  Define(env, exports, "createSnapshot", CreateSnapshot, environment);
  Define(env, exports, "attachSnapshot", AttachSnapshot, environment);
  Define(env, exports, "releaseSnapshot", ReleaseSnapshot, environment);
  Define(env, exports, "properties", Properties, environment);
}

}  // namespace svc
