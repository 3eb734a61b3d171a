#include "io/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "io/safetensors/header.h"
#include "io/safetensors/index.h"
#include "io/safetensors/regular_file.h"

namespace penstock::io {
namespace {

constexpr std::string_view kSuffix = ".safetensors";
constexpr uint64_t kNotFound = UINT64_MAX;
constexpr uint64_t kMaxConfigBytes = 16 << 20;

Result<std::string> AbsoluteDirectory(const std::string& directory) {
  if (directory.empty() || directory.find('\0') != std::string::npos) {
    return Refused("expected the name of a checkpoint's directory, got an empty one");
  }
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) {
    return Refused(fmt::format("{}: cannot be opened: {}", directory, std::strerror(errno)));
  }
  if (!S_ISDIR(info.st_mode)) {
    return Refused(
        fmt::format("{}: expected a directory with a checkpoint, got a file", directory));
  }
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(directory, error);
  if (error) return Refused(fmt::format("{}: {}", directory, error.message()));
  std::string path = absolute.lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The names of the directory's *.safetensors entries, sorted.
Result<std::vector<std::string>> ListSafetensors(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(::opendir(directory.c_str()), ::closedir);
  if (!handle) {
    return Refused(fmt::format("{}: cannot be listed: {}", directory, std::strerror(errno)));
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(handle.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix) && name.front() != '.') {
      names.emplace_back(name);
    }
  }
  if (errno != 0) {
    const int error = errno;
    return Failed(fmt::format("{}: cannot be listed: {}", directory, std::strerror(error)), error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

// Builds a Checkpoint. Names are collected first (from the index, or from the headers when there
// is none), then sorted; with an index the headers fill in what it named.
class CheckpointReader {
 public:
  CheckpointReader(std::string directory, const Notice& notice) : notice_(notice) {
    out_->directory_ = std::move(directory);
  }

  Result<std::unique_ptr<Checkpoint>> Read() {
    struct stat info {};
    const std::string index = Path(kIndexName);
    // A broken link counts as an index: better to refuse than to take every file for it.
    out_->has_index_ = ::lstat(index.c_str(), &info) == 0;
    PENSTOCK_TRY_VOID(out_->has_index_ ? ReadIndexed(index) : ReadAll());
    out_->names_.Seal();
    out_->entries_.shrink_to_fit();
    return std::move(out_);
  }

 private:
  std::string Path(std::string_view name) const {
    return fmt::format("{}/{}", out_->directory_, name);
  }

  std::string Name(const Checkpoint::Entry& entry) const {
    return Quoted(
        std::string(out_->names_.group(entry.name)).append(out_->names_.leaf(entry.name)));
  }

  // ---- without an index

  Status ReadAll() {
    PENSTOCK_TRY(const std::vector<std::string> names, ListSafetensors(out_->directory_));
    if (names.empty()) {
      return Refused(fmt::format("{}: expected {} or *{} files, got neither", out_->directory_,
                                 kIndexName, kSuffix));
    }
    for (const std::string& name : names) {
      const auto file = static_cast<uint32_t>(out_->files_.size());
      out_->files_.push_back(Path(name));
      PENSTOCK_TRY(const SafetensorsHeader header, ReadHeader(out_->files_.back()));
      for (const SafetensorsHeader::Tensor& tensor : header.tensors) {
        Checkpoint::Entry entry;
        entry.name = out_->names_.Intern(header.name(tensor));
        entry.file = file;
        Fill(header, tensor, entry);
        out_->entries_.push_back(entry);
      }
    }
    SortEntries();
    const auto twice = FindTwice();
    if (twice == out_->entries_.end()) return {};
    return Refused(fmt::format(
        "{}: tensor {} is in two files, {} and {}, and there is no {} to decide between them",
        out_->directory_, Name(*twice), out_->files_[twice->file],
        out_->files_[std::next(twice)->file], kIndexName));
  }

  // ---- with an index

  Status ReadIndexed(const std::string& index) {
    std::map<std::string, uint32_t, std::less<>> ids;
    PENSTOCK_TRY_VOID(ReadIndex(index, [&](std::string_view tensor, std::string_view file) {
      auto found = ids.find(file);
      if (found == ids.end()) {
        found = ids.emplace(file, static_cast<uint32_t>(ids.size())).first;
      }
      Checkpoint::Entry entry;
      entry.offset = kNotFound;
      entry.name = out_->names_.Intern(tensor);
      entry.file = found->second;
      out_->entries_.push_back(entry);
      return Status();
    }));
    NumberFiles(ids);
    SortEntries();
    if (const auto twice = FindTwice(); twice != out_->entries_.end()) {
      return Refused(fmt::format("{}: tensor {} is in 'weight_map' twice", index, Name(*twice)));
    }
    if (out_->entries_.empty()) {
      return Refused(fmt::format("{}: expected tensors in 'weight_map', got none", index));
    }
    for (uint32_t file = 0; file < out_->files_.size(); ++file) {
      PENSTOCK_TRY(const SafetensorsHeader header, ReadHeader(out_->files_[file]));
      Match(header, file);
    }
    PENSTOCK_TRY_VOID(CheckAllFound(index));
    PENSTOCK_TRY_VOID(LookAtUnlisted(ids));
    TellAmbiguity();
    return {};
  }

  // Files are numbered in the order of their names, not of their first tensor in the index.
  void NumberFiles(const std::map<std::string, uint32_t, std::less<>>& ids) {
    std::vector<uint32_t> sorted(ids.size());
    for (const auto& [name, id] : ids) {
      sorted[id] = static_cast<uint32_t>(out_->files_.size());
      out_->files_.push_back(Path(name));
    }
    for (Checkpoint::Entry& entry : out_->entries_) entry.file = sorted[entry.file];
  }

  // Takes from a header what the index says is in that file.
  void Match(const SafetensorsHeader& header, uint32_t file) {
    for (const SafetensorsHeader::Tensor& tensor : header.tensors) {
      Checkpoint::Entry* entry = FindEntry(header.name(tensor));
      if (!entry) continue;
      if (entry->file == file) {
        Fill(header, tensor, *entry);
      } else {
        NoteElsewhere(*entry, out_->files_[file]);
      }
    }
  }

  Status CheckAllFound(const std::string& index) const {
    for (const Checkpoint::Entry& entry : out_->entries_) {
      if (entry.offset != kNotFound) continue;
      return Refused(fmt::format("{}: expected tensor {}, which {} places there, got none",
                                 out_->files_[entry.file], Name(entry), index));
    }
    return {};
  }

  // Other safetensors files of the directory are no part of the checkpoint: what they hold twice
  // is reported, and one that is damaged does no harm.
  Status LookAtUnlisted(const std::map<std::string, uint32_t, std::less<>>& ids) {
    PENSTOCK_TRY(const std::vector<std::string> names, ListSafetensors(out_->directory_));
    for (const std::string& name : names) {
      if (ids.contains(name)) continue;
      const std::string path = Path(name);
      auto file = RegularFile::Open(path);
      if (!file) continue;
      const auto header = ReadSafetensorsHeader(*file);
      if (!header) continue;
      for (const SafetensorsHeader::Tensor& tensor : header->tensors) {
        const Checkpoint::Entry* entry = FindEntry(header->name(tensor));
        if (entry) NoteElsewhere(*entry, path);
      }
    }
    return {};
  }

  void NoteElsewhere(const Checkpoint::Entry& entry, const std::string& path) {
    if (elsewhere_++ == 0) {
      first_elsewhere_ = fmt::format("tensor {} is read from {} as {} says, never from {}",
                                     Name(entry), out_->files_[entry.file], kIndexName, path);
    }
  }

  void TellAmbiguity() const {
    if (elsewhere_ == 0) return;
    const std::string more =
        elsewhere_ == 1 ? "" : fmt::format(" (and {} more such copies)", elsewhere_ - 1);
    Tell(notice_, first_elsewhere_ + more);
  }

  // ---- both

  Result<SafetensorsHeader> ReadHeader(const std::string& path) {
    PENSTOCK_TRY(const RegularFile file, RegularFile::Open(path));
    PENSTOCK_TRY(SafetensorsHeader header, ReadSafetensorsHeader(file));
    out_->shards_.push_back({path, header.hash, header.data_begin, header.data_bytes});
    return header;
  }

  void Fill(const SafetensorsHeader& header, const SafetensorsHeader::Tensor& tensor,
            Checkpoint::Entry& entry) {
    entry.offset = header.data_begin + tensor.begin;
    entry.dtype = tensor.dtype;
    entry.shape =
        ShapeId(header.shape(tensor), (tensor.end - tensor.begin) / DtypeBytes(tensor.dtype));
  }

  uint32_t ShapeId(std::vector<uint64_t> shape, uint64_t elements) {
    const auto next = static_cast<uint32_t>(out_->shapes_.size());
    const auto [found, added] = shape_ids_.try_emplace(shape, next);
    if (added) {
      out_->shapes_.push_back({elements, static_cast<uint32_t>(out_->dims_.size()),
                               static_cast<uint32_t>(shape.size())});
      out_->dims_.insert(out_->dims_.end(), shape.begin(), shape.end());
    }
    return found->second;
  }

  void SortEntries() {
    out_->names_.Sort();
    for (Checkpoint::Entry& entry : out_->entries_) {
      entry.name = out_->names_.Renumbered(entry.name);
    }
    std::sort(out_->entries_.begin(), out_->entries_.end(),
              [](const Checkpoint::Entry& a, const Checkpoint::Entry& b) {
                return a.name != b.name ? a.name < b.name : a.file < b.file;
              });
  }

  std::vector<Checkpoint::Entry>::const_iterator FindTwice() const {
    return std::adjacent_find(
        out_->entries_.cbegin(), out_->entries_.cend(),
        [](const Checkpoint::Entry& a, const Checkpoint::Entry& b) { return a.name == b.name; });
  }

  Checkpoint::Entry* FindEntry(std::string_view name) {
    const auto id = out_->names_.Find(name);
    if (!id) return nullptr;
    const auto found = std::lower_bound(
        out_->entries_.begin(), out_->entries_.end(), *id,
        [](const Checkpoint::Entry& entry, TensorNames::Id key) { return entry.name < key; });
    return found != out_->entries_.end() && found->name == *id ? &*found : nullptr;
  }

  const Notice& notice_;
  std::unique_ptr<Checkpoint> out_{new Checkpoint};
  std::map<std::vector<uint64_t>, uint32_t> shape_ids_;
  size_t elsewhere_ = 0;
  std::string first_elsewhere_;
};

Result<std::unique_ptr<Checkpoint>> Checkpoint::Open(const std::string& directory,
                                                     const Notice& notice) {
  PENSTOCK_TRY(std::string absolute, AbsoluteDirectory(directory));
  return CheckpointReader(std::move(absolute), notice).Read();
}

TensorInfo Checkpoint::tensor(size_t i) const {
  const Entry& entry = entries_[i];
  const ShapeEntry& shape = shapes_[entry.shape];
  return {names_.group(entry.name),
          names_.leaf(entry.name),
          entry.dtype,
          std::span(dims_).subspan(shape.dims_begin, shape.rank),
          {entry.file, entry.offset, shape.elements * DtypeBytes(entry.dtype)}};
}

std::optional<TensorInfo> Checkpoint::Find(std::string_view name) const {
  const auto id = names_.Find(name);
  if (!id) return std::nullopt;
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), *id,
                       [](const Entry& entry, TensorNames::Id key) { return entry.name < key; });
  if (found == entries_.end() || found->name != *id) return std::nullopt;
  return tensor(static_cast<size_t>(found - entries_.begin()));
}

Result<std::string> Checkpoint::Identity() const {
  const std::string path = directory_ + "/config.json";
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 && errno == ENOENT) return IdentityOf("", shards_);
  PENSTOCK_TRY(const std::string config, ReadWholeFile(path, kMaxConfigBytes));
  PENSTOCK_TRY(const std::string text_config, TextConfig(config, path));
  return IdentityOf(text_config, shards_);
}

size_t Checkpoint::table_bytes() const {
  return entries_.capacity() * sizeof(Entry) + names_.bytes() +
         shapes_.capacity() * sizeof(ShapeEntry) + dims_.capacity() * sizeof(uint64_t);
}

}  // namespace penstock::io
