// CRC-32 (the one of zlib) by carry-less multiplication, several times as fast as zlib's: for
// whole files of a snapshot. Only where the processor can; elsewhere the call is missing and
// callers take zlib's.
//
// Source: V. Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ, Intel 2009.

#include "binding.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>

namespace svc {

namespace {

constexpr uint32_t kPolynomial = 0xedb88320;
constexpr size_t kBlock = 64;

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) ? kPolynomial : 0);
    table[byte] = rest;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = MakeTable();

uint32_t ByBytes(const uint8_t* bytes, size_t length, uint32_t crc) {
  for (size_t at = 0; at < length; ++at) crc = kTable[(crc ^ bytes[at]) & 255] ^ (crc >> 8);
  return crc;
}

__attribute__((target("pclmul,sse4.1"))) inline __m128i Load(const uint8_t* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

// `folded` moved on by the distance that the constants stand for, and added to `next`.
__attribute__((target("pclmul,sse4.1"))) inline __m128i Fold(__m128i folded, __m128i constants,
                                                              __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(folded, constants, 0x00);
  const __m128i high = _mm_clmulepi64_si128(folded, constants, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// `length` is a multiple of kBlock, and not 0. What is left after the folding, 16 bytes, has the
// remainder of all of it, and is small enough for the table.
__attribute__((target("pclmul,sse4.1"))) uint32_t ByBlocks(const uint8_t* bytes, size_t length,
                                                           uint32_t crc) {
  // x^(512+32), x^(512-32) and x^(128+32), x^(128-32) modulo the polynomial, bits reflected.
  const __m128i by512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i parts[4];
  for (int part = 0; part < 4; ++part) parts[part] = Load(bytes + 16 * part);
  parts[0] = _mm_xor_si128(parts[0], _mm_cvtsi32_si128(static_cast<int>(crc)));
  for (size_t at = kBlock; at < length; at += kBlock) {
    for (int part = 0; part < 4; ++part) {
      parts[part] = Fold(parts[part], by512, Load(bytes + at + 16 * part));
    }
  }
  __m128i whole = parts[0];
  for (int part = 1; part < 4; ++part) whole = Fold(whole, by128, parts[part]);
  uint8_t rest[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest), whole);
  return ByBytes(rest, sizeof(rest), 0);
}

// crc32(bytes, before): of `bytes` behind others, whose checksum is `before`; 0 for none.
napi_value Crc32(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const rocksdb::Slice bytes = call.Bytes(0);
  uint32_t crc = ~static_cast<uint32_t>(call.Integer(1));
  if (!call.ok) return nullptr;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  const size_t blocks = bytes.size() / kBlock * kBlock;
  if (blocks > 0) crc = ByBlocks(data, blocks, crc);
  crc = ByBytes(data + blocks, bytes.size() - blocks, crc);
  return call.Number(~crc);
}

}  // namespace

void DefineChecksumCalls(napi_env env, napi_value exports, Environment* environment) {
  if (!__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("sse4.1")) return;
  Define(env, exports, "crc32", Crc32, environment);
}

}  // namespace svc

#else

namespace svc {

void DefineChecksumCalls(napi_env, napi_value, Environment*) {}

}  // namespace svc

#endif
