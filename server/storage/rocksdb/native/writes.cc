// Writes, durability, sorted files, and the list of live files that a checkpoint links.

#include <rocksdb/metadata.h>
#include <rocksdb/write_batch.h>

#include <cstring>

#include "binding.h"

namespace svc {
namespace {

// More than a memtable needs for a row besides its bytes.
constexpr size_t kRowOverheadBytes = 64;

// Changes the memtable and its log file before RocksDB would, the old log synced first. RocksDB
// alone goes on in a new log while the old one's end is unsynced, and a power loss that takes
// that end and leaves the new log loses writes out of the middle: recovery finds no damage and
// replays both. With the old log whole, what survives is a prefix. Only the writing thread calls.
rocksdb::Status MakeRoom(Database* database, size_t bytes) {
  if (database->memtable_bytes + bytes <= database->memtable_bytes_max) {
    database->memtable_bytes += bytes;
    return rocksdb::Status::OK();
  }
  const rocksdb::Status synced = database->db->SyncWAL();
  if (!synced.ok()) return synced;
  database->memtable_bytes = bytes;
  rocksdb::FlushOptions options;
  options.wait = false;
  options.allow_write_stall = true;
  return database->db->Flush(options);
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
  rocksdb::WriteBatch batch(packed.ToString());
  Database* database = client->database.get();
  const size_t bytes = packed.size() + kRowOverheadBytes * static_cast<size_t>(batch.Count());
  if (!call.Check(MakeRoom(database, bytes))) return nullptr;
  call.Check(database->db->Write(options, &batch));
  return nullptr;
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
  call.Check(client->database->db->Flush(options));
  return nullptr;
}

// compact(client)
napi_value Compact(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  call.Check(client->database->db->CompactRange(options, nullptr, nullptr));
  return nullptr;
}

// ingest(client, path): the file is moved into the database where the filesystem can
napi_value Ingest(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  const std::string path = call.Text(1);
  if (!call.ok) return nullptr;
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  options.failed_move_fall_back_to_copy = true;
  call.Check(client->database->db->IngestExternalFile({path}, options));
  return nullptr;
}

rocksdb::SstFileWriter* UsedWriter(Call& call, Client* client) {
  const auto index = static_cast<uint64_t>(call.Integer(1));
  if (index < client->writers.size() && client->writers[index] != nullptr) {
    return client->writers[index].get();
  }
  if (call.ok) call.Fail("bug", "the sorted file is finished");
  return nullptr;
}

// openSortedFile(client, path) -> writer
napi_value OpenSortedFile(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  const std::string path = call.Text(1);
  if (!call.ok) return nullptr;
  auto writer = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(),
                                                         client->database->options);
  if (!call.Check(writer->Open(path))) return nullptr;
  client->writers.push_back(std::move(writer));
  return call.Number(static_cast<double>(client->writers.size() - 1));
}

// putSortedRows(client, writer, packedRows): rows as scans pack them
napi_value PutSortedRows(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  rocksdb::SstFileWriter* writer = UsedWriter(call, client);
  const rocksdb::Slice rows = call.Bytes(2);
  if (!call.ok) return nullptr;
  size_t offset = 0;
  while (offset < rows.size()) {
    uint32_t key_length, value_length;
    memcpy(&key_length, rows.data() + offset, 4);
    memcpy(&value_length, rows.data() + offset + 4, 4);
    const char* key = rows.data() + offset + 8;
    const rocksdb::Status status =
        writer->Put({key, key_length}, {key + key_length, value_length});
    if (!call.Check(status)) return nullptr;
    offset += 8 + static_cast<size_t>(key_length) + value_length;
  }
  return nullptr;
}

// finishSortedFile(client, writer) -> bytes of the file, which is synced
napi_value FinishSortedFile(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  rocksdb::SstFileWriter* writer = UsedWriter(call, client);
  if (!call.ok) return nullptr;
  rocksdb::ExternalSstFileInfo file;
  const rocksdb::Status status = writer->Finish(&file);
  client->writers[static_cast<size_t>(call.Integer(1))].reset();
  if (!call.Check(status)) return nullptr;
  return call.Number(static_cast<double>(file.file_size));
}

// abandonSortedFile(client, writer)
napi_value AbandonSortedFile(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  if (UsedWriter(call, client) == nullptr) return nullptr;
  client->writers[static_cast<size_t>(call.Integer(1))].reset();
  return nullptr;
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
  Define(env, exports, "flush", Flush, environment);
  Define(env, exports, "compact", Compact, environment);
  Define(env, exports, "ingest", Ingest, environment);
  Define(env, exports, "openSortedFile", OpenSortedFile, environment);
  Define(env, exports, "putSortedRows", PutSortedRows, environment);
  Define(env, exports, "finishSortedFile", FinishSortedFile, environment);
  Define(env, exports, "abandonSortedFile", AbandonSortedFile, environment);
  Define(env, exports, "holdFiles", HoldFiles, environment);
  Define(env, exports, "releaseFiles", ReleaseFiles, environment);
}

}  // namespace svc
