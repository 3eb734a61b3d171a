#include "models/k3/synth/synth.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/safetensors/header.h"
#include "io/safetensors/index.h"
#include "models/k3/synth/layout.h"
#include "models/k3/synth/write/chunks.h"
#include "models/k3/synth/write/filler.h"
#include "models/k3/synth/write/new_directory.h"
#include "runtime/cpu/affinity.h"
#include "runtime/memory/region.h"

namespace penstock::k3 {
namespace {

constexpr size_t kChunkBytes = 8 << 20;
constexpr size_t kChunks = 4;  // One is written, the others are filled.

// Writes one checkpoint: threads fill chunks ahead of the one that the caller writes.
class Synthesizer {
 public:
  Synthesizer(const SynthOptions& options, const Shape& shape, const SynthProgress& progress)
      : options_(options),
        progress_(progress),
        layout_(shape, options.flat ? "" : "language_model.", options.a_log_padding,
                {options.weights == "trained", RouteDesign::Make(options.routes, shape)}) {}

  Result<SynthResult> Run(const std::string& config) {
    PENSTOCK_TRY(NewDirectory directory, NewDirectory::Make(options_.out));
    PENSTOCK_TRY(const uint64_t free, directory.FreeBytes());
    PENSTOCK_TRY_VOID(Measure(free));
    PENSTOCK_TRY_VOID(WriteShards(directory));
    PENSTOCK_TRY_VOID(WriteIndex(directory));
    PENSTOCK_TRY_VOID(WriteText(directory, "generation_config.json", GenerationConfig(config)));
    PENSTOCK_TRY_VOID(WriteText(directory, "config.json", config));
    PENSTOCK_TRY_VOID(directory.Commit());
    return result_;
  }

 private:
  // Counts tensors and bytes, and stops where they are more than the disk takes.
  Status Measure(uint64_t free) {
    result_.files = layout_.shards();
    for (size_t shard = 0; shard < layout_.shards(); ++shard) {
      const std::vector<SynthTensor> tensors = layout_.Shard(shard);
      PENSTOCK_TRY_VOID(CheckHeader(shard, ShardHeader(tensors).size()));
      for (const SynthTensor& tensor : tensors) {
        ++result_.tensors;
        if (__builtin_add_overflow(result_.bytes, tensor.bytes(), &result_.bytes) ||
            result_.bytes > free) {
          return Refused(
              fmt::format("{}: expected a checkpoint that fits into the {} bytes free "
                          "there, got more with shard {} of {}",
                          options_.out, free, shard + 1, layout_.shards()));
        }
      }
    }
    return {};
  }

  Status CheckHeader(size_t shard, uint64_t bytes) const {
    if (bytes <= io::kMaxHeaderBytes) return {};
    return Refused(fmt::format("{}: the header of a shard would take {} bytes, expected at most {}",
                               layout_.FileName(shard), bytes, io::kMaxHeaderBytes));
  }

  Status WriteShards(NewDirectory& directory) {
    constexpr size_t kPieceBytes = 256 << 10;  // A thread more for less would wait.
    constexpr size_t kEach = kChunkBytes + ChunkCutter::kSlack;
    PENSTOCK_TRY(const HugeRegion memory, HugeRegion::Map(kChunks * kEach));
    PENSTOCK_TRY(const CpuSet cpus, AllowedCpus());
    std::array<Chunk, kChunks> chunks;
    for (size_t i = 0; i < kChunks; ++i) chunks[i].memory = memory.data() + i * kEach;
    ChunkCutter cutter(layout_, kChunkBytes);
    Filler filler(options_.seed, std::min<uint64_t>(cpus.size(), result_.bytes / kPieceBytes + 1));
    size_t planned = 0, written = 0;
    for (bool more = true;; ++written) {
      for (; more && planned < written + kChunks; planned += more) {
        more = cutter.Next(chunks[planned % kChunks]);
        if (more) filler.Start(chunks[planned % kChunks]);
      }
      if (written == planned) break;
      const Chunk& chunk = chunks[written % kChunks];
      filler.Wait(chunk);
      // A chunk with an overhang has one behind it, and that is planned.
      std::memcpy(chunks[(written + 1) % kChunks].memory, chunk.memory + kChunkBytes,
                  chunk.overhang);
      PENSTOCK_TRY_VOID(WriteChunk(directory, chunk));
    }
    return directory.End();
  }

  Status WriteChunk(NewDirectory& directory, const Chunk& chunk) {
    if (shard_ != chunk.shard) {
      if (shard_) PENSTOCK_TRY_VOID(directory.End());
      shard_ = chunk.shard;
      PENSTOCK_TRY_VOID(directory.BeginDirect(layout_.FileName(chunk.shard), chunk.file_bytes));
    }
    PENSTOCK_TRY_VOID(directory.Write(std::span(chunk.memory, chunk.bytes)));
    if (chunk.bytes == chunk.header_bytes) return {};
    done_ += chunk.bytes - chunk.header_bytes;
    if (progress_ && !progress_(done_, result_.bytes)) {
      return Cancelled(fmt::format("{}: stopped after {} of {} bytes; nothing is left of it",
                                   options_.out, done_, result_.bytes));
    }
    return {};
  }

  Status WriteIndex(NewDirectory& directory) {
    PENSTOCK_TRY_VOID(directory.Begin(std::string(io::kIndexName), 0));
    std::string text =
        fmt::format("{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n  \"weight_map\": {{",
                    result_.bytes);
    const char* separator = "\n";
    for (size_t shard = 0; shard < layout_.shards(); ++shard) {
      for (const SynthTensor& tensor : layout_.Shard(shard)) {
        text +=
            fmt::format("{}    \"{}\": \"{}\"", separator, tensor.name, layout_.FileName(shard));
        separator = ",\n";
      }
      PENSTOCK_TRY_VOID(directory.Write(text));
      text.clear();
    }
    PENSTOCK_TRY_VOID(directory.Write("\n  }\n}\n"));
    return directory.End();
  }

  static std::string GenerationConfig(const std::string& config) {
    const auto parsed = nlohmann::json::parse(config);
    const auto& text = parsed.contains("text_config") ? parsed["text_config"] : parsed;
    const nlohmann::ordered_json out = {{"max_length", text["max_position_embeddings"]},
                                        {"eos_token_id", text["eos_token_id"]}};
    return out.dump(2) + "\n";
  }

  static Status WriteText(NewDirectory& directory, const std::string& name,
                          const std::string& text) {
    PENSTOCK_TRY_VOID(directory.Begin(name, text.size()));
    PENSTOCK_TRY_VOID(directory.Write(text));
    return directory.End();
  }

  const SynthOptions& options_;
  const SynthProgress& progress_;
  SynthLayout layout_;
  std::optional<size_t> shard_;  // The one that is being written.
  uint64_t done_ = 0;
  SynthResult result_;
};

}  // namespace

Result<SynthResult> Synthesize(const SynthOptions& options, const SynthProgress& progress) {
  PENSTOCK_TRY(const std::string config, SynthConfig(options));
  PENSTOCK_TRY(const Shape shape, ParseShape(config, "the config of these options"));
  return Synthesizer(options, shape, progress).Run(config);
}

}  // namespace penstock::k3
