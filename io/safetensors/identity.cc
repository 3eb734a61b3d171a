#include "io/safetensors/identity.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>
#include <xxhash.h>

#include "io/safetensors/regular_file.h"
#include "runtime/check.h"

namespace penstock::io {
namespace {

std::string Canonical(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  return {reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest};
}

// The n-th position drawn from a header hash, in [0, range].
uint64_t Draw(std::string_view header_hash, uint64_t n, uint64_t range) {
  const uint64_t bits = XXH3_64bits_withSeed(header_hash.data(), header_hash.size(), n);
  if (range == UINT64_MAX) return bits;
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * (range + 1)) >> 64);
}

Status AppendBlocks(const ShardIdentity& shard, std::string& digest) {
  PENSTOCK_TRY(const RegularFile file, RegularFile::Open(shard.path));
  if (file.size() != shard.data_begin + shard.data_bytes) {
    return Failed(fmt::format("{}: expected {} bytes as when it was opened, got {}", shard.path,
                              shard.data_begin + shard.data_bytes, file.size()));
  }
  std::vector<char> block(std::min<uint64_t>(kIdentityBlockBytes, shard.data_bytes));
  std::vector<uint64_t> positions(kIdentityBlocks);
  for (size_t i = 0; i < positions.size(); ++i) {
    positions[i] = Draw(shard.header_hash, i, shard.data_bytes - block.size());
  }
  std::sort(positions.begin(), positions.end());  // One sweep for a disk that seeks.
  for (const uint64_t position : positions) {
    PENSTOCK_TRY_VOID(file.ReadAt(shard.data_begin + position, block));
    digest += Canonical(XXH3_128bits(block.data(), block.size()));
  }
  return {};
}

}  // namespace

Result<std::string> TextConfig(std::string_view config_json, std::string_view file) {
  namespace json = simdjson::ondemand;
  const simdjson::padded_string padded(config_json);
  json::parser parser;
  json::document document;
  json::object root;
  const auto refuse = [&](simdjson::error_code error) {
    return Refused(
        fmt::format("{}: expected a JSON object: {}", file, simdjson::error_message(error)));
  };
  if (auto error = parser.iterate(padded).get(document)) return refuse(error);
  if (auto error = document.get_object().get(root)) return refuse(error);
  json::object text;
  const auto missing = root.find_field_unordered("text_config").get_object().get(text);
  if (missing == simdjson::NO_SUCH_FIELD) return std::string(config_json);
  if (missing) return refuse(missing);
  std::string_view raw;
  if (auto error = text.raw_json().get(raw)) return refuse(error);
  return std::string(raw);
}

Result<std::string> IdentityOf(std::string_view text_config,
                               std::span<const ShardIdentity> shards) {
  std::string digest = Canonical(XXH3_128bits(text_config.data(), text_config.size()));
  for (const ShardIdentity& shard : shards) {
    digest += shard.header_hash;
    digest.append(reinterpret_cast<const char*>(&shard.data_bytes), sizeof shard.data_bytes);
    if (shard.data_bytes > 0) PENSTOCK_TRY_VOID(AppendBlocks(shard, digest));
  }
  std::string hex;
  for (const char byte : Canonical(XXH3_128bits(digest.data(), digest.size()))) {
    hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return hex;
}

}  // namespace penstock::io
