#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/result.h"

namespace penstock::io {

// What is known of one file from its header.
struct ShardIdentity {
  std::string path;
  std::string header_hash;  // XXH3-128 of the header with its length, 16 bytes.
  uint64_t data_begin = 0;
  uint64_t data_bytes = 0;
};

inline constexpr size_t kIdentityBlocks = 16;
inline constexpr size_t kIdentityBlockBytes = 4096;

// The part of a config.json that decides what the weights mean: the text of `text_config` if
// there, else the whole document; as stored, byte for byte. kRefused when it is not a JSON object.
Result<std::string> TextConfig(std::string_view config_json, std::string_view file);

// XXH3-128, as 32 hex digits, over the text config, and for every file in order its header hash,
// its data size and kIdentityBlocks blocks of kIdentityBlockBytes of its data, at positions drawn
// from the header hash. Two checkpoints with the same shapes and other weights differ in it except
// by a change so local that no block saw it; it identifies, it does not verify.
// Reads 64 KiB per file. kFailed when a file cannot be read any more.
Result<std::string> IdentityOf(std::string_view text_config, std::span<const ShardIdentity> shards);

}  // namespace penstock::io
