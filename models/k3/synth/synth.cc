#include "models/k3/synth/synth.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/safetensors/header.h"
#include "io/safetensors/index.h"
#include "models/k3/synth/layout.h"
#include "models/k3/synth/new_directory.h"
#include "models/k3/synth/values.h"

namespace penstock::k3 {
namespace {

constexpr size_t kChunkBytes = 4 << 20;
constexpr size_t kPieceBytes = 256 << 10;  // Of a chunk, filled by one thread.
constexpr size_t kMostThreads = 8;

// The header of a shard: length, JSON, padded with spaces to 8 bytes.
std::string HeaderOf(const std::vector<SynthTensor>& tensors) {
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

// Writes one checkpoint. Threads fill pieces of a chunk; the caller writes it.
class Synthesizer {
 public:
  Synthesizer(const SynthOptions& options, const Shape& shape, const SynthProgress& progress)
      : options_(options),
        progress_(progress),
        layout_(shape, options.flat ? "" : "language_model.", options.a_log_padding),
        chunk_(kChunkBytes) {}

  Result<SynthResult> Run(const std::string& config) {
    PENSTOCK_TRY(NewDirectory directory, NewDirectory::Make(options_.out));
    PENSTOCK_TRY(const uint64_t free, directory.FreeBytes());
    PENSTOCK_TRY_VOID(Measure(free));
    for (size_t shard = 0; shard < layout_.shards(); ++shard) {
      PENSTOCK_TRY_VOID(WriteShard(directory, shard));
    }
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
      for (const SynthTensor& tensor : layout_.Shard(shard)) {
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

  Status WriteShard(NewDirectory& directory, size_t shard) {
    const std::vector<SynthTensor> tensors = layout_.Shard(shard);
    const std::string header = HeaderOf(tensors);
    if (header.size() > io::kMaxHeaderBytes) {
      return Refused(
          fmt::format("{}: the header of a shard would take {} bytes, expected at most {}",
                      layout_.FileName(shard), header.size(), io::kMaxHeaderBytes));
    }
    uint64_t bytes = header.size();
    for (const SynthTensor& tensor : tensors) bytes += tensor.bytes();
    PENSTOCK_TRY_VOID(directory.Begin(layout_.FileName(shard), bytes));
    PENSTOCK_TRY_VOID(directory.Write(header));
    for (const SynthTensor& tensor : tensors) PENSTOCK_TRY_VOID(AddTensor(directory, tensor));
    PENSTOCK_TRY_VOID(Flush(directory));
    return directory.End();
  }

  // Small tensors share a chunk: the disk sees large writes also where experts are small.
  Status AddTensor(NewDirectory& directory, const SynthTensor& tensor) {
    const size_t element = io::DtypeBytes(tensor.dtype);
    const uint64_t bytes = tensor.bytes();
    for (uint64_t at = 0; at < bytes;) {
      if (chunk_.size() - used_ < kUnit) PENSTOCK_TRY_VOID(Flush(directory));
      const uint64_t room = (chunk_.size() - used_) / kUnit * kUnit;
      const size_t part = std::min<uint64_t>(bytes - at, room);
      for (size_t piece = 0; piece < part; piece += kPieceBytes) {
        pieces_.push_back(
            {&tensor, (at + piece) / element, used_ + piece, std::min(kPieceBytes, part - piece)});
      }
      used_ += part;
      at += part;
    }
    return {};
  }

  Status Flush(NewDirectory& directory) {
    Fill();
    PENSTOCK_TRY_VOID(directory.Write(std::span(chunk_).first(used_)));
    done_ += used_;
    used_ = 0;
    pieces_.clear();
    if (progress_ && !progress_(done_, result_.bytes)) {
      return Cancelled(fmt::format("{}: stopped after {} of {} bytes; nothing is left of it",
                                   options_.out, done_, result_.bytes));
    }
    return {};
  }

  void Fill() {
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t i = next++; i < pieces_.size(); i = next++) {
        const Piece& piece = pieces_[i];
        const SynthTensor& tensor = *piece.tensor;
        FillValues(options_.seed, tensor.name, tensor.dtype, tensor.recipe, piece.first,
                   std::span(chunk_).subspan(piece.at, piece.bytes));
      }
    };
    const size_t wanted = std::min({kMostThreads, used_ / kPieceBytes,
                                    size_t{std::max(1u, std::thread::hardware_concurrency())}});
    std::vector<std::jthread> helpers;
    for (size_t i = 1; i < wanted; ++i) helpers.emplace_back(work);
    work();
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

  static constexpr size_t kUnit = 8;  // Parts of a tensor begin at multiples of this.

  struct Piece {
    const SynthTensor* tensor;  // Of the shard being written.
    uint64_t first;             // Element.
    size_t at;                  // In the chunk.
    size_t bytes;
  };

  const SynthOptions& options_;
  const SynthProgress& progress_;
  SynthLayout layout_;
  std::vector<std::byte> chunk_;
  size_t used_ = 0;
  std::vector<Piece> pieces_;
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
