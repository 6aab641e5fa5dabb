// Deflate of level 1: what backups spend nearly all their time with, at several times the rate of
// zlib's level of that number and about its ratio.
//
// One look into a table of hashes for each place, the match that is found there is taken, blocks
// have Huffman codes of their own. What it writes is plain RFC 1951: any program inflates it, and
// server/storage/rocksdb/deflate.test.ts has zlib do so with all kinds of bytes.
//
// A piece is a whole for itself. One that is not the last ends at a byte with an empty stored
// block, as Z_SYNC_FLUSH ends it, so that pieces one behind the other are one stream.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "binding.h"

namespace svc {
namespace {

constexpr int kHashBits = 15;
constexpr uint32_t kWindow = 32768;
constexpr uint32_t kMatchMin = 4;
constexpr uint32_t kMatchMax = 258;
constexpr int kLiteralSymbols = 286;
constexpr int kDistanceSymbols = 30;
constexpr int kEnd = 256;
constexpr size_t kTokensInBlock = 32768;
constexpr size_t kStoredMax = 65535;

constexpr uint16_t kLengthBase[29] = {3,  4,  5,  6,  7,  8,  9,  10,  11,  13,
                                      15, 17, 19, 23, 27, 31, 35, 43,  51,  59,
                                      67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr uint8_t kLengthBits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                     2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr uint16_t kDistanceBase[30] = {
    1,   2,   3,   4,   5,    7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769,  1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr uint8_t kDistanceBits[30] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                       6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
constexpr uint8_t kCodeOrder[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};

// The symbol of each length, and of each distance in two ranges, looked up.
struct Tables {
  uint8_t length[kMatchMax + 1];
  uint8_t nearDistance[257];
  uint8_t farDistance[257];

  Tables() {
    for (uint32_t length = 3, symbol = 0; length <= kMatchMax; ++length) {
      while (symbol < 28 && length >= kLengthBase[symbol + 1]) ++symbol;
      this->length[length] = static_cast<uint8_t>(symbol);
    }
    for (uint32_t distance = 1, symbol = 0; distance <= kWindow; ++distance) {
      while (symbol < 29 && distance >= kDistanceBase[symbol + 1]) ++symbol;
      if (distance <= 256) nearDistance[distance] = static_cast<uint8_t>(symbol);
      farDistance[(distance - 1) >> 7] = static_cast<uint8_t>(symbol);
    }
  }

  int distance(uint32_t distance) const {
    return distance <= 256 ? nearDistance[distance] : farDistance[(distance - 1) >> 7];
  }
};

const Tables kTables;

// Writes bits from the lowest of each byte on; the room was reckoned before.
class Bits {
 public:
  explicit Bits(uint8_t* out) : out_(out), begin_(out) {}

  void Put(uint64_t bits, int count) {
    held_ |= bits << count_;
    count_ += count;
  }

  // At most 56 bits may be put between two calls.
  void Drain() {
    std::memcpy(out_, &held_, 8);
    const int bytes = count_ >> 3;
    out_ += bytes;
    held_ >>= bytes * 8;
    count_ &= 7;
  }

  void ToByte() {
    Drain();
    if (count_ > 0) {
      *out_++ = static_cast<uint8_t>(held_);
      held_ = 0;
      count_ = 0;
    }
  }

  void Copy(const uint8_t* bytes, size_t length) {
    std::memcpy(out_, bytes, length);
    out_ += length;
  }

  size_t Size() const { return static_cast<size_t>(out_ - begin_); }

 private:
  uint8_t* out_;
  uint8_t* begin_;
  uint64_t held_ = 0;
  int count_ = 0;
};

// A Huffman code: of each symbol how many bits, and which, in the order they are written.
template <int kSymbols>
struct Code {
  uint8_t bits[kSymbols];
  uint16_t words[kSymbols];

  // Takes the frequencies into account, none of its words longer than `bitsMax`.
  void Make(const uint32_t* frequencies, int bitsMax) {
    std::memset(bits, 0, sizeof(bits));
    int used[kSymbols];
    int count = 0;
    for (int symbol = 0; symbol < kSymbols; ++symbol) {
      if (frequencies[symbol] > 0) used[count++] = symbol;
    }
    // A code of one word has one bit, which some programs want to be one of two.
    if (count < 2) {
      const int only = count == 1 ? used[0] : 0;
      bits[only] = 1;
      bits[only == 0 ? 1 : 0] = 1;
      Assign();
      return;
    }
    std::sort(used, used + count, [&](int one, int other) {
      return frequencies[one] != frequencies[other] ? frequencies[one] < frequencies[other]
                                                    : one < other;
    });
    uint32_t depths[kSymbols];
    DepthsOf(frequencies, used, count, depths);
    Limit(depths, count, bitsMax);
    for (int at = 0; at < count; ++at) bits[used[at]] = static_cast<uint8_t>(depths[at]);
    Assign();
  }

 private:
  // Huffman's tree with two queues; leaves are in the order of their frequencies.
  static void DepthsOf(const uint32_t* frequencies, const int* used, int count, uint32_t* depths) {
    uint64_t weights[2 * kSymbols];
    int parents[2 * kSymbols];
    for (int at = 0; at < count; ++at) weights[at] = frequencies[used[at]];
    int leaf = 0;
    int inner = count;
    const int root = 2 * count - 2;
    for (int next = count; next <= root; ++next) {
      weights[next] = 0;
      for (int child = 0; child < 2; ++child) {
        const bool isLeaf = leaf < count && (inner >= next || weights[leaf] <= weights[inner]);
        const int taken = isLeaf ? leaf++ : inner++;
        weights[next] += weights[taken];
        parents[taken] = next;
      }
    }
    uint32_t levels[2 * kSymbols];
    levels[root] = 0;
    for (int at = root - 1; at >= 0; --at) levels[at] = levels[parents[at]] + 1;
    for (int at = 0; at < count; ++at) depths[at] = levels[at];
  }

  // Shortens words that are too long and lengthens others until they are a code again: the sum of
  // 2^-bits must be one. The rarest symbols come first.
  static void Limit(uint32_t* depths, int count, int bitsMax) {
    const uint64_t whole = uint64_t{1} << bitsMax;
    uint64_t sum = 0;
    for (int at = 0; at < count; ++at) {
      depths[at] = std::min<uint32_t>(depths[at], static_cast<uint32_t>(bitsMax));
      sum += whole >> depths[at];
    }
    for (int at = 0; sum > whole; at = at + 1 < count ? at + 1 : 0) {
      while (sum > whole && depths[at] < static_cast<uint32_t>(bitsMax)) {
        sum -= whole >> (depths[at] + 1);
        ++depths[at];
      }
    }
    for (int at = count - 1; at >= 0; --at) {
      while (depths[at] > 1 && sum + (whole >> depths[at]) <= whole) {
        sum += whole >> depths[at];
        --depths[at];
      }
    }
  }

  // Canonical words, their bits turned round, as deflate writes them.
  void Assign() {
    uint32_t counts[16] = {0};
    for (int symbol = 0; symbol < kSymbols; ++symbol) ++counts[bits[symbol]];
    counts[0] = 0;
    uint32_t next[16];
    uint32_t word = 0;
    for (int length = 1; length < 16; ++length) {
      word = (word + counts[length - 1]) << 1;
      next[length] = word;
    }
    for (int symbol = 0; symbol < kSymbols; ++symbol) {
      uint32_t turned = 0;
      uint32_t straight = bits[symbol] == 0 ? 0 : next[bits[symbol]]++;
      for (int bit = 0; bit < bits[symbol]; ++bit) {
        turned = turned << 1 | (straight & 1);
        straight >>= 1;
      }
      words[symbol] = static_cast<uint16_t>(turned);
    }
  }
};

// A literal is its byte; a match its length in the upper and its distance in the lower bits.
using Token = uint32_t;

uint32_t Load32(const uint8_t* at) {
  uint32_t value;
  std::memcpy(&value, at, 4);
  return value;
}

uint32_t MatchLength(const uint8_t* one, const uint8_t* other, uint32_t most) {
  uint32_t length = 0;
  while (length + 8 <= most) {
    uint64_t a;
    uint64_t b;
    std::memcpy(&a, one + length, 8);
    std::memcpy(&b, other + length, 8);
    if (a != b) return length + static_cast<uint32_t>(__builtin_ctzll(a ^ b)) / 8;
    length += 8;
  }
  while (length < most && one[length] == other[length]) ++length;
  return length;
}

// The lengths of both codes as the head of a block writes them: runs as words of their own.
struct Head {
  uint8_t symbols[kLiteralSymbols + kDistanceSymbols];
  uint8_t extra[kLiteralSymbols + kDistanceSymbols];
  int count = 0;
  int literals = 257;
  int distances = 1;
  int codeLengths = 4;
  Code<19> code;

  Head(const uint8_t* literalBits, const uint8_t* distanceBits) {
    literals = UsedOf(literalBits, kLiteralSymbols, 257);
    distances = UsedOf(distanceBits, kDistanceSymbols, 1);
    uint8_t all[kLiteralSymbols + kDistanceSymbols];
    std::memcpy(all, literalBits, literals);
    std::memcpy(all + literals, distanceBits, distances);
    Pack(all, literals + distances);
    uint32_t frequencies[19] = {0};
    for (int at = 0; at < count; ++at) ++frequencies[symbols[at]];
    code.Make(frequencies, 7);
    for (codeLengths = 19; codeLengths > 4 && code.bits[kCodeOrder[codeLengths - 1]] == 0;) {
      --codeLengths;
    }
  }

  size_t SizeInBits() const {
    size_t size = 14 + 3 * static_cast<size_t>(codeLengths);
    for (int at = 0; at < count; ++at) size += code.bits[symbols[at]] + ExtraBits(symbols[at]);
    return size;
  }

  void Write(Bits& out) const {
    out.Put(static_cast<uint64_t>(literals - 257), 5);
    out.Put(static_cast<uint64_t>(distances - 1), 5);
    out.Put(static_cast<uint64_t>(codeLengths - 4), 4);
    out.Drain();
    for (int at = 0; at < codeLengths; ++at) {
      out.Put(code.bits[kCodeOrder[at]], 3);
      out.Drain();
    }
    for (int at = 0; at < count; ++at) {
      out.Put(code.words[symbols[at]], code.bits[symbols[at]]);
      out.Put(extra[at], ExtraBits(symbols[at]));
      out.Drain();
    }
  }

 private:
  static int ExtraBits(int symbol) {
    return symbol == 16 ? 2 : symbol == 17 ? 3 : symbol == 18 ? 7 : 0;
  }

  static int UsedOf(const uint8_t* bits, int most, int least) {
    while (most > least && bits[most - 1] == 0) --most;
    return most;
  }

  void Add(int symbol, int more) {
    symbols[count] = static_cast<uint8_t>(symbol);
    extra[count++] = static_cast<uint8_t>(more);
  }

  void Pack(const uint8_t* all, int length) {
    for (int at = 0; at < length;) {
      const uint8_t value = all[at];
      int run = 1;
      while (at + run < length && all[at + run] == value) ++run;
      at += run;
      if (value == 0) {
        for (; run >= 11; run -= std::min(run, 138)) Add(18, std::min(run, 138) - 11);
        for (; run >= 3; run -= std::min(run, 10)) Add(17, std::min(run, 10) - 3);
      } else {
        Add(value, 0);
        for (--run; run >= 3; run -= std::min(run, 6)) Add(16, std::min(run, 6) - 3);
      }
      for (; run > 0; --run) Add(value, 0);
    }
  }
};

class Deflater {
 public:
  Deflater(const uint8_t* bytes, size_t length, uint8_t* out)
      : bytes_(bytes),
        length_(length),
        bits_(out),
        heads_(size_t{1} << kHashBits, kNowhere),
        tokens_(new Token[kTokensInBlock]) {
  }

  size_t Run(bool isLast) {
    size_t at = 0;
    do {
      at = Block(at, isLast);
    } while (at < length_);
    if (!isLast) {
      PutStoredHead(0, false);
    }
    bits_.ToByte();
    return bits_.Size();
  }

 private:
  static constexpr uint32_t kNowhere = 0xffffffff;

  static uint32_t HashOf(uint32_t four) { return (four * 2654435761u) >> (32 - kHashBits); }

  // Collects and writes one block; answers where the next one begins.
  size_t Block(size_t start, bool isLastPiece) {
    count_ = 0;
    std::memset(literalCounts_, 0, sizeof(literalCounts_));
    std::memset(distanceCounts_, 0, sizeof(distanceCounts_));
    const size_t end = Collect(start);
    literalCounts_[kEnd] = 1;
    literals_.Make(literalCounts_, 15);
    distances_.Make(distanceCounts_, 15);
    const Head head(literals_.bits, distances_.bits);
    const bool isLast = isLastPiece && end == length_;
    if (Coded(head) >= Stored(end - start)) {
      Store(start, end, isLast);
      return end;
    }
    bits_.Put(isLast ? 1 : 0, 1);
    bits_.Put(2, 2);
    head.Write(bits_);
    WriteTokens();
    bits_.Put(literals_.words[kEnd], literals_.bits[kEnd]);
    bits_.Drain();
    return end;
  }

  size_t Collect(size_t at) {
    // Where nothing matches for long, places are passed over.
    size_t misses = 0;
    while (at < length_ && count_ < kTokensInBlock) {
      if (length_ - at < 8) {
        Literal(bytes_[at++]);
        continue;
      }
      const uint32_t four = Load32(bytes_ + at);
      uint32_t& head = heads_[HashOf(four)];
      const uint32_t candidate = head;
      head = static_cast<uint32_t>(at);
      const size_t distance = at - candidate;
      if (candidate == kNowhere || distance > kWindow || Load32(bytes_ + candidate) != four) {
        size_t skipped = 1 + (misses++ >> 6);
        for (; skipped > 0 && at < length_ && count_ < kTokensInBlock; --skipped) {
          Literal(bytes_[at++]);
        }
        continue;
      }
      misses = 0;
      const auto most = static_cast<uint32_t>(std::min<size_t>(kMatchMax, length_ - at));
      const uint32_t length =
          4 + MatchLength(bytes_ + candidate + 4, bytes_ + at + 4, most - 4);
      Match(length, static_cast<uint32_t>(distance));
      // The ends of a match are where the next one is likely to be found.
      if (at + length + 8 <= length_) {
        const size_t last = at + length - 1;
        heads_[HashOf(Load32(bytes_ + last))] = static_cast<uint32_t>(last);
        heads_[HashOf(Load32(bytes_ + at + 1))] = static_cast<uint32_t>(at + 1);
      }
      at += length;
    }
    return at;
  }

  void Literal(uint8_t byte) {
    tokens_[count_++] = byte;
    ++literalCounts_[byte];
  }

  void Match(uint32_t length, uint32_t distance) {
    tokens_[count_++] = length << 16 | distance;
    ++literalCounts_[257 + kTables.length[length]];
    ++distanceCounts_[kTables.distance(distance)];
  }

  void WriteTokens() {
    for (size_t at = 0; at < count_;) {
      const Token token = tokens_[at++];
      if (token < 256) {
        bits_.Put(literals_.words[token], literals_.bits[token]);
        // Two more words of 15 bits have room before the next drain.
        for (int more = 0; more < 2 && at < count_ && tokens_[at] < 256; ++more, ++at) {
          bits_.Put(literals_.words[tokens_[at]], literals_.bits[tokens_[at]]);
        }
      } else {
        PutMatch(token >> 16, token & 0xffff);
      }
      bits_.Drain();
    }
  }

  // At most 48 bits.
  void PutMatch(uint32_t length, uint32_t distance) {
    const int lengthSymbol = kTables.length[length];
    bits_.Put(literals_.words[257 + lengthSymbol], literals_.bits[257 + lengthSymbol]);
    bits_.Put(length - kLengthBase[lengthSymbol], kLengthBits[lengthSymbol]);
    const int distanceSymbol = kTables.distance(distance);
    bits_.Put(distances_.words[distanceSymbol], distances_.bits[distanceSymbol]);
    bits_.Put(distance - kDistanceBase[distanceSymbol], kDistanceBits[distanceSymbol]);
  }

  size_t Coded(const Head& head) const {
    size_t size = 3 + head.SizeInBits();
    for (int symbol = 0; symbol < kLiteralSymbols; ++symbol) {
      const int extra = symbol > 256 ? kLengthBits[symbol - 257] : 0;
      size += size_t{literalCounts_[symbol]} * (literals_.bits[symbol] + extra);
    }
    for (int symbol = 0; symbol < kDistanceSymbols; ++symbol) {
      size += size_t{distanceCounts_[symbol]} * (distances_.bits[symbol] + kDistanceBits[symbol]);
    }
    return size;
  }

  static size_t Stored(size_t length) {
    return length * 8 + (length / kStoredMax + 1) * 40;
  }

  void Store(size_t start, size_t end, bool isLast) {
    do {
      const size_t length = std::min(end - start, kStoredMax);
      PutStoredHead(length, isLast && start + length == end);
      bits_.Copy(bytes_ + start, length);
      start += length;
    } while (start < end);
  }

  void PutStoredHead(size_t length, bool isLast) {
    bits_.Put(isLast ? 1 : 0, 3);
    bits_.ToByte();
    bits_.Put(length, 16);
    bits_.Put(~length & 0xffff, 16);
    bits_.ToByte();
  }

  const uint8_t* bytes_;
  const size_t length_;
  Bits bits_;
  std::vector<uint32_t> heads_;
  std::unique_ptr<Token[]> tokens_;
  size_t count_ = 0;
  uint32_t literalCounts_[kLiteralSymbols];
  uint32_t distanceCounts_[kDistanceSymbols];
  Code<kLiteralSymbols> literals_;
  Code<kDistanceSymbols> distances_;
};

// No block is longer than its bytes with the heads of stored ones, and bits are written in eights.
size_t RoomFor(size_t length) { return length + (length / 16384 + 2) * 16 + 64; }

// One piece on its way through the thread pool.
struct Work {
  napi_async_work work = nullptr;
  napi_deferred deferred = nullptr;
  napi_ref source = nullptr;
  const uint8_t* bytes = nullptr;
  size_t length = 0;
  bool isLast = false;
  uint8_t* out = nullptr;
  size_t written = 0;
};

void Execute(napi_env, void* data) {
  auto* work = static_cast<Work*>(data);
  work->out = static_cast<uint8_t*>(std::malloc(RoomFor(work->length)));
  if (work->out == nullptr) return;
  work->written = Deflater(work->bytes, work->length, work->out).Run(work->isLast);
}

void Release(napi_env, void* data, void*) { std::free(data); }

void Complete(napi_env env, napi_status status, void* data) {
  std::unique_ptr<Work> work(static_cast<Work*>(data));
  napi_delete_reference(env, work->source);
  napi_delete_async_work(env, work->work);
  napi_value result;
  if (status == napi_ok && work->out != nullptr &&
      napi_create_external_buffer(env, work->written, work->out, Release, nullptr, &result) ==
          napi_ok) {
    napi_resolve_deferred(env, work->deferred, result);
    return;
  }
  std::free(work->out);
  napi_value message;
  napi_create_string_utf8(env, "there is no memory to deflate into", NAPI_AUTO_LENGTH, &message);
  napi_create_error(env, nullptr, message, &result);
  napi_reject_deferred(env, work->deferred, result);
}

// deflate(bytes, isLast): a promise of the deflated bytes, made on a thread of the platform's pool.
// The bytes are not to be changed until then.
napi_value Deflate(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const rocksdb::Slice bytes = call.Bytes(0);
  const bool isLast = call.Boolean(1);
  if (!call.ok) return nullptr;
  auto work = std::make_unique<Work>();
  work->bytes = reinterpret_cast<const uint8_t*>(bytes.data());
  work->length = bytes.size();
  work->isLast = isLast;
  napi_value promise;
  napi_value name;
  napi_create_promise(env, &work->deferred, &promise);
  napi_create_reference(env, call.arguments[0], 1, &work->source);
  napi_create_string_utf8(env, "svc.deflate", NAPI_AUTO_LENGTH, &name);
  Work* taken = work.release();
  napi_create_async_work(env, nullptr, name, Execute, Complete, taken, &taken->work);
  napi_queue_async_work(env, taken->work);
  return promise;
}

}  // namespace

void DefineDeflateCalls(napi_env env, napi_value exports, Environment* environment) {
  Define(env, exports, "deflate", Deflate, environment);
}

}  // namespace svc
