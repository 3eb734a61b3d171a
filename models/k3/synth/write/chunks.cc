#include "models/k3/synth/write/chunks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "io/safetensors/dtype.h"

namespace penstock::k3 {
namespace {

constexpr size_t kPieceBytes = 256 << 10;
constexpr size_t kUnit = 8;  // Parts of a tensor begin at multiples of this.

}  // namespace

std::string ShardHeader(const std::vector<SynthTensor>& tensors) {
  std::string json = R"({"__metadata__":{"format":"pt"})";
  uint64_t at = 0;
  for (const SynthTensor& tensor : tensors) {
    json += fmt::format(R"(,"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        tensor.name, io::DtypeName(tensor.dtype), fmt::join(tensor.dims, ","), at,
                        at + tensor.bytes());
    at += tensor.bytes();
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const uint64_t length = json.size();
  std::string header(sizeof length, '\0');
  std::memcpy(header.data(), &length, sizeof length);
  return header + json;
}

ChunkCutter::ChunkCutter(const SynthLayout& layout, size_t chunk_bytes)
    : layout_(layout), chunk_bytes_(chunk_bytes) {
  BeginShard();
}

void ChunkCutter::BeginShard() {
  if (shard_ == layout_.shards()) return;
  tensors_ = std::make_shared<const std::vector<SynthTensor>>(layout_.Shard(shard_));
  header_ = ShardHeader(*tensors_);
  header_at_ = tensor_ = tensor_at_ = 0;
  file_bytes_ = header_.size();
  for (const SynthTensor& tensor : *tensors_) file_bytes_ += tensor.bytes();
}

bool ChunkCutter::Next(Chunk& chunk) {
  if (shard_ == layout_.shards()) return false;
  chunk.shard = shard_;
  chunk.file_bytes = file_bytes_;
  chunk.tensors = tensors_;
  chunk.pieces.clear();
  chunk.bytes = std::exchange(overhang_, 0);
  TakeHeader(chunk);
  TakeTensors(chunk);
  chunk.overhang = overhang_ = chunk.bytes - std::min(chunk.bytes, chunk_bytes_);
  chunk.bytes -= overhang_;
  if (overhang_ == 0 && tensor_ == tensors_->size()) {
    ++shard_;
    BeginShard();
  }
  return true;
}

void ChunkCutter::TakeHeader(Chunk& chunk) {
  chunk.header_bytes = std::min(header_.size() - header_at_, chunk_bytes_ - chunk.bytes);
  std::memcpy(chunk.memory + chunk.bytes, header_.data() + header_at_, chunk.header_bytes);
  header_at_ += chunk.header_bytes;
  chunk.bytes += chunk.header_bytes;
}

// The last part may reach into the slack: parts end at multiples of kUnit of their tensor.
void ChunkCutter::TakeTensors(Chunk& chunk) {
  while (tensor_ < tensors_->size() && chunk.bytes < chunk_bytes_) {
    const SynthTensor& tensor = (*tensors_)[tensor_];
    const uint64_t room = (chunk_bytes_ - chunk.bytes + kUnit - 1) / kUnit * kUnit;
    const size_t part = std::min<uint64_t>(tensor.bytes() - tensor_at_, room);
    for (size_t at = 0; at < part; at += kPieceBytes) {
      chunk.pieces.push_back({&tensor, (tensor_at_ + at) / io::DtypeBytes(tensor.dtype),
                              chunk.bytes + at, std::min(kPieceBytes, part - at)});
    }
    chunk.bytes += part;
    tensor_at_ += part;
    if (tensor_at_ < tensor.bytes()) continue;
    ++tensor_;
    tensor_at_ = 0;
  }
}

}  // namespace penstock::k3
