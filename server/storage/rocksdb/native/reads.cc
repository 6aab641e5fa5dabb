// Point lookups and scans. Rows are packed as store.ts says: u32 key length, u32 value length
// (0xffffffff: absent), key, value. No slice of RocksDB's outlives its call.

#include <algorithm>
#include <cstring>

#include "binding.h"

namespace svc {
namespace {

constexpr size_t kRowHeaderBytes = 8;
constexpr uint32_t kAbsent = 0xffffffff;
constexpr size_t kKeysPerLookup = 32;
constexpr size_t kIdleIteratorsMax = 2;
// Fewer keys than these are looked up one by one, however near each other they lie.
constexpr size_t kNeighboursMin = 16;
// Keys are neighbours when as many times their number of keys may lie between first and last.
constexpr uint32_t kNeighbourSpread = 3;
// Rows that are passed over unseen before a scan that pauses does: some milliseconds.
constexpr uint64_t kPassedOverMax = 16'384;

uint32_t ReadU32(const char* at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

// Rows packed one behind another into a caller's buffer.
struct Packer {
  char* target;
  size_t capacity;
  size_t used = 0;
  uint64_t rows = 0;

  bool Fits(size_t key_length, size_t value_length) const {
    return used + kRowHeaderBytes + key_length + value_length <= capacity;
  }

  void Add(const rocksdb::Slice& key, const rocksdb::Slice& value, bool absent) {
    const auto key_length = static_cast<uint32_t>(key.size());
    const uint32_t value_length = absent ? kAbsent : static_cast<uint32_t>(value.size());
    char* at = target + used;
    memcpy(at, &key_length, 4);
    memcpy(at + 4, &value_length, 4);
    memcpy(at + kRowHeaderBytes, key.data(), key.size());
    memcpy(at + kRowHeaderBytes + key.size(), value.data(), value.size());
    used += kRowHeaderBytes + key.size() + value.size();
    rows++;
  }

  void Report(Environment* environment, bool done) const {
    environment->results[kByteLength] = static_cast<double>(used);
    environment->results[kRowCount] = static_cast<double>(rows);
    environment->results[kDone] = done ? 1 : 0;
  }
};

// get(client, snapshot, key) -> length of the value, now in scratch; -1 when absent. A value
// longer than scratch is kept for takeValue.
napi_value Get(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  const auto snapshot = static_cast<uint64_t>(call.Integer(1));
  const rocksdb::Slice key = call.Bytes(2);
  rocksdb::ReadOptions options;
  if (!call.ok || !UseSnapshot(call, client, snapshot, &options)) return nullptr;
  Environment* environment = call.environment;
  rocksdb::PinnableSlice& value = environment->value;
  value.Reset();
  rocksdb::DB* db = client->database->db.get();
  const rocksdb::Status status = db->Get(options, db->DefaultColumnFamily(), key, &value);
  if (status.IsNotFound()) return call.Number(-1);
  if (!call.Check(status)) return nullptr;
  const size_t length = value.size();
  if (length <= environment->scratch_length) {
    memcpy(environment->scratch, value.data(), length);
    value.Reset();
  }
  return call.Number(static_cast<double>(length));
}

// takeValue(target): copies the value that the last get kept
napi_value TakeValue(napi_env env, napi_callback_info info) {
  Call call(env, info);
  size_t length = 0;
  char* target = call.Target(0, &length);
  if (!call.ok) return nullptr;
  rocksdb::PinnableSlice& value = call.environment->value;
  memcpy(target, value.data(), std::min(length, value.size()));
  value.Reset();
  return nullptr;
}

// Takes the iterator of an earlier read over the snapshot, or makes one of such traits.
std::unique_ptr<BoundedIterator> TakeIterator(Client* client, uint64_t snapshot,
                                              const IteratorTraits& traits,
                                              rocksdb::ReadOptions options) {
  const auto held = client->snapshots.find(snapshot);
  if (held != client->snapshots.end()) {
    auto& idle = held->second.idle;
    for (auto it = idle.begin(); it != idle.end(); ++it) {
      if (!((*it)->traits == traits)) continue;
      auto taken = std::move(*it);
      idle.erase(it);
      return taken;
    }
  }
  auto bounded = std::make_unique<BoundedIterator>();
  bounded->traits = traits;
  options.auto_readahead_size = false;
  options.fill_cache = traits.fills_cache;
  if (traits.pauses) options.max_skippable_internal_keys = kPassedOverMax;
  if (traits.has_upper) options.iterate_upper_bound = &bounded->upper;
  if (traits.has_lower) options.iterate_lower_bound = &bounded->lower;
  bounded->iterator.reset(client->database->db->NewIterator(options));
  return bounded;
}

// Keeps it for the next read over the snapshot, as long as that is held.
void GiveBack(Client* client, uint64_t snapshot, std::unique_ptr<BoundedIterator> bounded) {
  const auto held = client->snapshots.find(snapshot);
  if (held == client->snapshots.end()) return;
  if (held->second.idle.size() < kIdleIteratorsMax && bounded->iterator->status().ok()) {
    held->second.idle.push_back(std::move(bounded));
  }
}

uint32_t LastFourBytes(const rocksdb::Slice& key) {
  uint32_t number = 0;
  for (size_t at = key.size() - 4; at < key.size(); at++) {
    number = number << 8 | static_cast<unsigned char>(key[at]);
  }
  return number;
}

// Whether the keys ascend, differ in nothing but their last four bytes, and lie near each other: the
// records that an index finds when they were inserted in its order.
bool AreNeighbours(const rocksdb::Slice* keys, size_t count) {
  const size_t length = keys[0].size();
  if (count < kNeighboursMin || length < 4) return false;
  const uint32_t first = LastFourBytes(keys[0]);
  uint32_t before = first;
  for (size_t index = 1; index < count; index++) {
    if (keys[index].size() != length) return false;
    if (memcmp(keys[index].data(), keys[0].data(), length - 4) != 0) return false;
    const uint32_t number = LastFourBytes(keys[index]);
    if (number <= before) return false;
    before = number;
  }
  return before - first < kNeighbourSpread * count;
}

// Answers keys one after another into `packer`.
struct ManyReader {
  Call& call;
  Client* client;
  uint64_t snapshot;
  const rocksdb::ReadOptions& options;
  Packer packer{};
  std::unique_ptr<BoundedIterator> walker;

  // False when it does not fit, which the results say then.
  bool Add(const rocksdb::Slice& value, bool absent) {
    if (!packer.Fits(0, value.size())) {
      call.environment->results[kBytesNeeded] = static_cast<double>(kRowHeaderBytes + value.size());
      return false;
    }
    packer.Add({}, value, absent);
    return true;
  }

  bool LookUp(const rocksdb::Slice* keys, size_t count) {
    rocksdb::PinnableSlice values[kKeysPerLookup];
    rocksdb::Status statuses[kKeysPerLookup];
    rocksdb::DB* db = client->database->db.get();
    db->MultiGet(options, db->DefaultColumnFamily(), count, keys, values, statuses);
    for (size_t index = 0; index < count; index++) {
      const bool absent = statuses[index].IsNotFound();
      if (!absent && !call.Check(statuses[index])) return false;
      if (!Add(absent ? rocksdb::Slice() : values[index], absent)) return false;
    }
    return true;
  }

  // Walks from key to key, which takes a part of the time of looking for each. Its bound is the last
  // one: behind that may lie any number of deleted rows.
  bool Walk(const rocksdb::Slice* keys, size_t count) {
    if (!walker) walker = TakeIterator(client, snapshot, {.has_upper = true}, options);
    std::string beyond = keys[count - 1].ToString();
    beyond.push_back('\0');
    walker->upper = beyond;
    rocksdb::Iterator& iterator = *walker->iterator;
    iterator.Seek(keys[0]);
    for (size_t index = 0; index < count; index++) {
      while (iterator.Valid() && iterator.key().compare(keys[index]) < 0) iterator.Next();
      if (!call.Check(iterator.status())) return false;
      const bool absent = !iterator.Valid() || iterator.key() != keys[index];
      if (!Add(absent ? rocksdb::Slice() : iterator.value(), absent)) return false;
    }
    return true;
  }
};

// getMany(client, snapshot, keys, keyCount, into) -> keys answered; -1 when one does not fit
napi_value GetMany(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  const auto snapshot = static_cast<uint64_t>(call.Integer(1));
  const rocksdb::Slice packed = call.Bytes(2);
  const auto key_count = static_cast<size_t>(call.Integer(3));
  rocksdb::ReadOptions options;
  ManyReader reader{call, client, snapshot, options};
  Packer& packer = reader.packer;
  packer.target = call.Target(4, &packer.capacity);
  if (!call.ok || !UseSnapshot(call, client, snapshot, &options)) return nullptr;

  rocksdb::Slice keys[kKeysPerLookup];
  size_t offset = 0;
  bool fits = true;
  while (fits && packer.rows < key_count) {
    const size_t count = std::min(kKeysPerLookup, key_count - packer.rows);
    for (size_t index = 0; index < count; index++) {
      const bool has_length = offset + 4 <= packed.size();
      const uint32_t length = has_length ? ReadU32(packed.data() + offset) : kAbsent;
      if (length > packed.size() || offset + 4 + length > packed.size()) {
        call.Fail("bug", "the packed keys end in the middle of a key");
        return nullptr;
      }
      keys[index] = {packed.data() + offset + 4, length};
      offset += 4 + length;
    }
    // Without a snapshot an iterator would be made for this call alone.
    const bool walks = snapshot != 0 && AreNeighbours(keys, count);
    fits = walks ? reader.Walk(keys, count) : reader.LookUp(keys, count);
    if (!call.ok) return nullptr;
  }
  if (reader.walker) GiveBack(client, snapshot, std::move(reader.walker));
  packer.Report(call.environment, fits);
  return call.Number(!fits && packer.rows == 0 ? -1 : static_cast<double>(packer.rows));
}

bool ReadRanges(Cursor* cursor, size_t count) {
  const std::string& bytes = cursor->bytes;
  size_t offset = 0;
  cursor->ranges.reserve(count);
  for (size_t index = 0; index < count; index++) {
    if (offset + kRowHeaderBytes > bytes.size()) return false;
    const size_t start_length = ReadU32(bytes.data() + offset);
    const uint32_t end_length = ReadU32(bytes.data() + offset + 4);
    const bool has_end = end_length != kAbsent;
    const char* start = bytes.data() + offset + kRowHeaderBytes;
    offset += kRowHeaderBytes + start_length + (has_end ? end_length : 0);
    if (offset > bytes.size()) return false;
    const rocksdb::Slice end(start + start_length, has_end ? end_length : 0);
    cursor->ranges.push_back({{start, start_length}, end, has_end});
  }
  return true;
}

// openCursor(client, snapshot, ranges, rangeCount, flags) -> cursor; flags: 1 reverse, 2 keys only,
// 4 once, 8 pauses (forward alone)
napi_value OpenCursor(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  auto cursor = std::make_unique<Cursor>();
  cursor->snapshot_id = static_cast<uint64_t>(call.Integer(1));
  const rocksdb::Slice ranges = call.Bytes(2);
  const auto range_count = static_cast<size_t>(call.Integer(3));
  const int64_t flags = call.Integer(4);
  rocksdb::ReadOptions options;
  if (!call.ok || !UseSnapshot(call, client, cursor->snapshot_id, &options)) return nullptr;
  cursor->bytes.assign(ranges.data(), ranges.size());
  cursor->reverse = (flags & 1) != 0;
  cursor->keys_only = (flags & 2) != 0;
  cursor->once = (flags & 4) != 0;
  cursor->pauses = (flags & 8) != 0 && !cursor->reverse;
  if (!ReadRanges(cursor.get(), range_count)) {
    call.Fail("bug", "the packed ranges end in the middle of a range");
    return nullptr;
  }
  bool has_upper = true;
  for (const Range& range : cursor->ranges) has_upper = has_upper && range.has_end;
  const IteratorTraits traits{.has_upper = has_upper,
                              .has_lower = cursor->reverse,
                              .fills_cache = !cursor->once,
                              .pauses = cursor->pauses};
  cursor->bounded = TakeIterator(client, cursor->snapshot_id, traits, options);
  uint32_t index;
  if (client->free_cursors.empty()) {
    index = static_cast<uint32_t>(client->cursors.size());
    client->cursors.push_back(std::move(cursor));
  } else {
    index = client->free_cursors.back();
    client->free_cursors.pop_back();
    client->cursors[index] = std::move(cursor);
  }
  return call.Number(index);
}

// Puts the iterator on the first row of the present range, or where it paused.
void Seek(Cursor* cursor) {
  const Range& range = cursor->ranges[cursor->range_index];
  BoundedIterator& bounded = *cursor->bounded;
  rocksdb::Iterator& iterator = *bounded.iterator;
  bounded.lower = range.start;
  if (bounded.traits.has_upper) bounded.upper = range.end;
  if (cursor->resuming) {
    cursor->resuming = false;
    iterator.Seek(cursor->resume);
  } else if (!cursor->reverse) {
    iterator.Seek(range.start);
  } else if (!range.has_end || bounded.traits.has_upper) {
    iterator.SeekToLast();
  } else {
    iterator.SeekForPrev(range.end);
    if (iterator.Valid() && iterator.key() == range.end) iterator.Prev();
  }
  cursor->positioned = true;
}

bool InRange(const Cursor& cursor) {
  if (!cursor.bounded->iterator->Valid()) return false;
  const Range& range = cursor.ranges[cursor.range_index];
  if (cursor.reverse || cursor.bounded->traits.has_upper || !range.has_end) return true;
  return cursor.bounded->iterator->key().compare(range.end) < 0;
}

// Goes on to the next row in scan order, over range borders; false at the end of the scan.
bool Settle(Cursor* cursor) {
  while (cursor->range_index < cursor->ranges.size()) {
    if (!cursor->positioned) {
      const Range& range = cursor->ranges[cursor->range_index];
      const bool empty = range.has_end && range.start.compare(range.end) >= 0;
      if (!empty) Seek(cursor);
    }
    if (cursor->positioned && InRange(*cursor)) return true;
    if (!cursor->bounded->iterator->status().ok()) return false;
    cursor->range_index++;
    cursor->positioned = false;
  }
  return false;
}

// Whether RocksDB gave up amid rows that nobody sees; the scan goes on from there when asked again.
bool Pause(Cursor* cursor) {
  rocksdb::Iterator& iterator = *cursor->bounded->iterator;
  if (!cursor->pauses || !iterator.status().IsIncomplete()) return false;
  // The last key that was passed over: every call gets further, if by little.
  if (!iterator.GetProperty("rocksdb.iterator.internal-key", &cursor->resume).ok()) return false;
  cursor->resuming = true;
  cursor->positioned = false;
  return true;
}

// nextRows(client, cursor, into, rowsMax) -> 0; -1 when a single row does not fit. At the end of
// the scan the cursor is closed.
napi_value NextRows(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  const auto index = static_cast<uint32_t>(call.Integer(1));
  Packer packer{};
  packer.target = call.Target(2, &packer.capacity);
  const auto rows_max = static_cast<uint64_t>(call.Integer(3));
  if (!call.ok) return nullptr;
  if (index >= client->cursors.size() || client->cursors[index] == nullptr) {
    call.Fail("bug", "the scanner is closed");
    return nullptr;
  }
  Cursor* cursor = client->cursors[index].get();
  rocksdb::Iterator& iterator = *cursor->bounded->iterator;
  bool more = Settle(cursor);
  double answer = 0;
  while (more && packer.rows < rows_max) {
    const rocksdb::Slice key = iterator.key();
    const rocksdb::Slice value = cursor->keys_only ? rocksdb::Slice() : iterator.value();
    if (!packer.Fits(key.size(), value.size())) {
      call.environment->results[kBytesNeeded] =
          static_cast<double>(kRowHeaderBytes + key.size() + value.size());
      if (packer.rows == 0) answer = -1;
      break;
    }
    packer.Add(key, value, false);
    if (cursor->reverse) {
      iterator.Prev();
    } else {
      iterator.Next();
    }
    more = Settle(cursor);
  }
  if (Pause(cursor)) {
    more = true;
  } else if (!call.Check(iterator.status())) {
    return nullptr;
  }
  packer.Report(call.environment, !more);
  call.environment->results[kRangeIndex] = static_cast<double>(cursor->range_index);
  if (!more) EndCursor(client, index);
  return call.Number(answer);
}

// closeCursor(client, cursor)
napi_value CloseCursor(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Client* client = call.UsedClient();
  if (client == nullptr) return nullptr;
  const auto index = static_cast<uint32_t>(call.Integer(1));
  if (call.ok) EndCursor(client, index);
  return nullptr;
}

}  // namespace

void EndCursor(Client* client, uint32_t index) {
  if (index >= client->cursors.size() || client->cursors[index] == nullptr) return;
  auto cursor = std::move(client->cursors[index]);
  client->free_cursors.push_back(index);
  GiveBack(client, cursor->snapshot_id, std::move(cursor->bounded));
}

void DefineReadCalls(napi_env env, napi_value exports, Environment* environment) {
  Define(env, exports, "get", Get, environment);
  Define(env, exports, "takeValue", TakeValue, environment);
  Define(env, exports, "getMany", GetMany, environment);
  Define(env, exports, "openCursor", OpenCursor, environment);
  Define(env, exports, "nextRows", NextRows, environment);
  Define(env, exports, "closeCursor", CloseCursor, environment);
}

}  // namespace svc
