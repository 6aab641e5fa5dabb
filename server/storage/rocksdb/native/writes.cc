// Writes, durability, sorted files, and the list of live files that a checkpoint links.

#include <rocksdb/metadata.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "binding.h"

namespace svc {
namespace {

// More than a memtable needs for a row besides its bytes.
constexpr size_t kRowOverheadBytes = 64;

// Files of level 0 at which they are merged with the next level, and at which writes are slowed
// down and stopped. A merge rewrites most of that level, since the keys of edges lie everywhere in
// it; with nine times as many files at once that is done a ninth as often (measured in
// docs/design/0048-what-keeps-the-house-in-order.md). In the usual state few files are better,
// because every scan searches each of them.
using Merging = std::unordered_map<std::string, std::string>;
Merging MergingAt(int files, int slow, int stop) {
  return {{"level0_file_num_compaction_trigger", std::to_string(files)},
          {"level0_slowdown_writes_trigger", std::to_string(slow)},
          {"level0_stop_writes_trigger", std::to_string(stop)}};
}

// A matter of speed alone: an error leaves it as it is until the next time.
void MergeLate(Database* database, bool late) {
  if (database->merges_late == late) return;
  const rocksdb::Status changed =
      database->db->SetOptions(late ? MergingAt(36, 56, 72) : MergingAt(4, 20, 36));
  if (changed.ok()) database->merges_late = late;
}

// Memtables that follow each other faster than this are those of a load.
constexpr std::chrono::seconds kLoadMemtableLasts{5};

// Changes the memtable and its log file before RocksDB would, the old log synced first. RocksDB
// alone goes on in a new log while the old one's end is unsynced, and a power loss that takes
// that end and leaves the new log loses writes out of the middle: recovery finds no damage and
// replays both. With the old log whole, what survives is a prefix. Only the writing thread calls.
rocksdb::Status ChangeMemtable(Database* database) {
  const rocksdb::Status synced = database->db->SyncWAL();
  if (!synced.ok()) return synced;
  database->memtable_bytes = 0;
  database->memtable_deletions = 0;
  const auto now = std::chrono::steady_clock::now();
  MergeLate(database, now - database->memtable_changed < kLoadMemtableLasts);
  database->memtable_changed = now;
  rocksdb::FlushOptions options;
  options.wait = false;
  options.allow_write_stall = true;
  return database->db->Flush(options);
}

// Counts what a batch deletes.
class DeletionCounter : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(uint32_t, const rocksdb::Slice&, const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice&) override {
    deletions++;
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteRangeCF(uint32_t, const rocksdb::Slice& start,
                                const rocksdb::Slice& end) override {
    ranges.emplace_back(start, end);
    return rocksdb::Status::OK();
  }
  size_t deletions = 0;
  std::vector<rocksdb::Range> ranges;
};

// Many deletions in memory, or a large range: their room on disk comes back only once they are in
// a file (DeletionCollector), which an idle database would not write.
constexpr size_t kDeletionsInMemory = 20'000;
constexpr uint64_t kEmptiedBytes = 1 << 20;

// What a batch takes of a memtable, about.
size_t MemtableBytes(const rocksdb::WriteBatch& batch) {
  return batch.GetDataSize() + kRowOverheadBytes * static_cast<size_t>(batch.Count());
}

rocksdb::Status WriteDeletionsSoon(Database* database, const rocksdb::WriteBatch& batch) {
  if (!batch.HasDelete() && !batch.HasDeleteRange()) return rocksdb::Status::OK();
  DeletionCounter counter;
  const rocksdb::Status counted = batch.Iterate(&counter);
  if (!counted.ok()) return counted;
  database->memtable_deletions += counter.deletions;
  bool is_much = database->memtable_deletions >= kDeletionsInMemory;
  for (const rocksdb::Range& range : counter.ranges) {
    uint64_t bytes = 0;
    database->db->GetApproximateSizes(&range, 1, &bytes);
    is_much = is_much || bytes >= kEmptiedBytes;
  }
  return is_much ? ChangeMemtable(database) : rocksdb::Status::OK();
}

// A row of a packed batch: a key, and its bytes with tag and value.
struct PackedRow {
  rocksdb::Slice key;
  rocksdb::Slice bytes;
};

constexpr size_t kBatchHeaderBytes = 12;
constexpr char kDeleteTag = 0x00;
constexpr char kPutTag = 0x01;

// Takes a length and so many bytes from the front of `rest`.
bool TakeSlice(rocksdb::Slice* rest, rocksdb::Slice* taken) {
  uint32_t length = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    if (rest->empty()) return false;
    const auto byte = static_cast<unsigned char>((*rest)[0]);
    rest->remove_prefix(1);
    length |= static_cast<uint32_t>(byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    if (rest->size() < length) return false;
    *taken = rocksdb::Slice(rest->data(), length);
    rest->remove_prefix(length);
    return true;
  }
  return false;
}

// The batch with its rows in the order of their keys, those of one key as they were. A memtable
// finds the place of a row from that of the row before when they are neighbours, and else from its
// top: records that commits made at once are neighbours, but each has entries of indexes behind it.
// A batch that does more than to set and delete rows stays as it is.
std::string InKeyOrder(const rocksdb::Slice& packed) {
  if (packed.size() < kBatchHeaderBytes) return packed.ToString();
  std::vector<PackedRow> rows;
  rocksdb::Slice rest(packed.data() + kBatchHeaderBytes, packed.size() - kBatchHeaderBytes);
  while (!rest.empty()) {
    const char* begin = rest.data();
    const char tag = *begin;
    rest.remove_prefix(1);
    PackedRow row;
    rocksdb::Slice value;
    if (tag != kPutTag && tag != kDeleteTag) return packed.ToString();
    if (!TakeSlice(&rest, &row.key)) return packed.ToString();
    if (tag == kPutTag && !TakeSlice(&rest, &value)) return packed.ToString();
    row.bytes = rocksdb::Slice(begin, static_cast<size_t>(rest.data() - begin));
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const PackedRow& left, const PackedRow& right) {
    return left.key.compare(right.key) < 0;
  });
  std::string ordered(packed.data(), kBatchHeaderBytes);
  ordered.reserve(packed.size());
  for (const PackedRow& row : rows) ordered.append(row.bytes.data(), row.bytes.size());
  return ordered;
}

rocksdb::Status WriteInTime(Database* database, const rocksdb::WriteOptions& options,
                            rocksdb::WriteBatch* batch) {
  const size_t bytes = MemtableBytes(*batch);
  if (database->memtable_bytes + bytes > database->memtable_bytes_max) {
    const rocksdb::Status changed = ChangeMemtable(database);
    if (!changed.ok()) return changed;
  }
  database->memtable_bytes += bytes;
  const rocksdb::Status written = database->db->Write(options, batch);
  // What stands in its way is told to the next write: this one is done.
  if (written.ok()) WriteDeletionsSoon(database, *batch).PermitUncheckedError();
  return written;
}

// write(client, packedBatch, sync)
napi_value Write(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  const rocksdb::Slice packed = call.Bytes(1);
  rocksdb::WriteOptions options;
  options.sync = call.Boolean(2);
  if (!call.ok) return nullptr;
  rocksdb::WriteBatch batch(InKeyOrder(packed));
  Database* database = client->database.get();
  if (database->is_full) {
    const rocksdb::Status resumed = database->db->Resume();
    if (!resumed.ok()) {
      call.Fail("no-space", resumed.ToString());
      return nullptr;
    }
    database->is_full = false;
  }
  const rocksdb::Status status = WriteInTime(database, options, &batch);
  database->is_full = status.IsNoSpace();
  call.Check(status);
  return nullptr;
}

// Whether a write of the batch changes the memtable, before or behind it.
bool ChangesMemtable(const Database& database, const rocksdb::WriteBatch& batch) {
  if (batch.HasDeleteRange()) return true;
  if (database.memtable_bytes + MemtableBytes(batch) > database.memtable_bytes_max) return true;
  if (!batch.HasDelete()) return false;
  DeletionCounter counter;
  const rocksdb::Status counted = batch.Iterate(&counter);
  return !counted.ok() || database.memtable_deletions + counter.deletions >= kDeletionsInMemory;
}

// takesAtOnce(client, packedBatch) -> whether writeAtOnce would write it, but for RocksDB's delays
napi_value TakesAtOnce(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  const rocksdb::Slice packed = call.Bytes(1);
  if (!call.ok) return nullptr;
  const rocksdb::WriteBatch batch(packed.ToString());
  const Database& database = *client->database;
  napi_value takes = nullptr;
  napi_get_boolean(env, !database.is_full && !ChangesMemtable(database, batch), &takes);
  return takes;
}

// writeAtOnce(client, packedBatch) -> whether it was written: not where it would have to wait for
// the disk or for merging
napi_value WriteAtOnce(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  const rocksdb::Slice packed = call.Bytes(1);
  if (!call.ok) return nullptr;
  rocksdb::WriteBatch batch(InKeyOrder(packed));
  Database* database = client->database.get();
  rocksdb::Status status = rocksdb::Status::Incomplete();
  if (!database->is_full && !ChangesMemtable(*database, batch)) {
    rocksdb::WriteOptions options;
    options.no_slowdown = true;
    status = WriteInTime(database, options, &batch);
    database->is_full = status.IsNoSpace();
  }
  if (!status.IsIncomplete() && !call.Check(status)) return nullptr;
  napi_value written = nullptr;
  napi_get_boolean(env, status.ok(), &written);
  return written;
}

// flush(client): the memtable becomes a synced file
napi_value Flush(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  rocksdb::FlushOptions options;
  options.wait = true;
  options.allow_write_stall = true;
  client->database->memtable_bytes = 0;
  client->database->memtable_deletions = 0;
  call.Check(client->database->db->Flush(options));
  return nullptr;
}

// Of a memtable that is filled so far an idle database does not keep the memory.
constexpr size_t kRestingShare = 4;

// rest(client): no more writes come for a while. Another thread may write one all the same.
napi_value Rest(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  Database* database = client->database.get();
  MergeLate(database, false);
  if (database->memtable_bytes < database->memtable_bytes_max / kRestingShare) return nullptr;
  rocksdb::FlushOptions options;
  options.wait = false;
  options.allow_write_stall = true;
  changing_beside_writes = database->db.get();
  // It is a matter of memory alone: where it fails the next write is told.
  database->db->Flush(options).PermitUncheckedError();
  changing_beside_writes = nullptr;
  database->memtable_bytes = 0;
  database->memtable_deletions = 0;
  return nullptr;
}

// compact(client, start, end, stop): whether it came to its end. A bound without bytes is none;
// another thread may write 1 into the first byte of `stop`, if there is one.
napi_value Compact(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  const rocksdb::Slice start = call.Bytes(1);
  const rocksdb::Slice end = call.Bytes(2);
  size_t stop_length = 0;
  char* stop = call.Target(3, &stop_length);
  if (client == nullptr || !call.ok) return nullptr;
  static_assert(sizeof(std::atomic<bool>) == 1 && std::atomic<bool>::is_always_lock_free);
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  if (stop_length > 0) options.canceled = reinterpret_cast<std::atomic<bool>*>(stop);
  rocksdb::DB* db = client->database->db.get();
  changing_beside_writes = db;
  const rocksdb::Status status = db->CompactRange(options, start.empty() ? nullptr : &start,
                                                  end.empty() ? nullptr : &end);
  changing_beside_writes = nullptr;
  const bool stopped = status.IsManualCompactionPaused();
  if (!stopped && !call.Check(status)) return nullptr;
  napi_value finished = nullptr;
  napi_get_boolean(env, !stopped, &finished);
  return finished;
}

napi_value FileEntry(Call& call, const rocksdb::LiveFileStorageInfo& file) {
  napi_value entry, name, contents, link;
  napi_create_object(call.env, &entry);
  napi_create_string_utf8(call.env, file.relative_filename.data(), file.relative_filename.size(),
                          &name);
  napi_set_named_property(call.env, entry, "name", name);
  napi_set_named_property(call.env, entry, "bytes", call.Number(static_cast<double>(file.size)));
  const bool immutable =
      file.file_type == rocksdb::kTableFile || file.file_type == rocksdb::kBlobFile;
  napi_get_boolean(call.env, immutable, &link);
  napi_set_named_property(call.env, entry, "immutable", link);
  if (!file.replacement_contents.empty()) {
    napi_create_string_utf8(call.env, file.replacement_contents.data(),
                            file.replacement_contents.size(), &contents);
    napi_set_named_property(call.env, entry, "contents", contents);
  }
  return entry;
}

// holdFiles(client) -> [{name, bytes, immutable, contents?}]: the files of one consistent state,
// memtable flushed; none of them is deleted until releaseFiles
napi_value HoldFiles(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  rocksdb::DB* db = client->database->db.get();
  if (!call.Check(db->DisableFileDeletions())) return nullptr;
  rocksdb::LiveFilesStorageInfoOptions options;
  options.wal_size_for_flush = 0;
  std::vector<rocksdb::LiveFileStorageInfo> files;
  const rocksdb::Status status = db->GetLiveFilesStorageInfo(options, &files);
  if (!status.ok()) {
    db->EnableFileDeletions().PermitUncheckedError();
    call.Check(status);
    return nullptr;
  }
  napi_value list;
  napi_create_array_with_length(env, files.size(), &list);
  for (size_t index = 0; index < files.size(); index++) {
    napi_set_element(env, list, static_cast<uint32_t>(index), FileEntry(call, files[index]));
  }
  return list;
}

// releaseFiles(client)
napi_value ReleaseFiles(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  call.Check(client->database->db->EnableFileDeletions());
  return nullptr;
}

}  // namespace

void DefineWriteCalls(napi_env env, napi_value exports, Environment* environment) {
  Define(env, exports, "write", Write, environment);
  Define(env, exports, "writeAtOnce", WriteAtOnce, environment);
  Define(env, exports, "takesAtOnce", TakesAtOnce, environment);
  Define(env, exports, "flush", Flush, environment);
  Define(env, exports, "rest", Rest, environment);
  Define(env, exports, "compact", Compact, environment);
  Define(env, exports, "holdFiles", HoldFiles, environment);
  Define(env, exports, "releaseFiles", ReleaseFiles, environment);
}

}  // namespace svc
