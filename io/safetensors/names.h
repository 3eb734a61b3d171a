#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "runtime/result.h"

namespace penstock::io {

// A name from a file, fit for an error message: in single quotes, control bytes as \xNN, and cut
// in the middle when it is longer than a line.
std::string Quoted(std::string_view name);

// Refuses a tensor name that cannot be shown or compared safely: control bytes (among them the
// zero byte) or more than 64 KiB. UTF-8 has been checked by the JSON parser.
Status CheckTensorName(std::string_view name, std::string_view file);

// Refuses a file name from an index that leaves the index's directory: empty, absolute, or with a
// component that is empty, "." or "..". Names only: symbolic links are followed when it is opened.
Status CheckFileName(std::string_view name, std::string_view index);

// Distinct strings, numbered. Interning is open until Sort(), which numbers them in byte order.
class StringPool {
 public:
  StringPool();
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;

  uint32_t Intern(std::string_view text);
  std::string_view operator[](uint32_t id) const {
    return std::string_view(text_).substr(begins_[id], begins_[id + 1] - begins_[id]);
  }
  size_t size() const { return begins_.size() - 1; }

  // Renumbers in byte order, frees what only interning needs; returns [old id] = new id.
  std::vector<uint32_t> Sort();
  std::optional<uint32_t> Find(std::string_view text) const;  // After Sort.
  size_t bytes() const { return text_.capacity() + begins_.capacity() * sizeof(uint64_t); }

 private:
  // The hash is seeded per pool, so that no input can be made to collide in advance.
  struct Hash {
    using is_transparent = void;
    const StringPool* pool;
    size_t operator()(uint32_t id) const { return (*this)((*pool)[id]); }
    size_t operator()(std::string_view text) const;
  };
  struct Equal {
    using is_transparent = void;
    const StringPool* pool;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }
    bool operator()(std::string_view a, uint32_t b) const { return a == (*pool)[b]; }
    bool operator()(uint32_t a, std::string_view b) const { return (*pool)[a] == b; }
  };

  uint64_t seed_;
  std::string text_;
  std::vector<uint64_t> begins_;  // One more than strings.
  std::unordered_set<uint32_t, Hash, Equal> ids_;
};

// Half a million tensor names in little memory: each is cut after its last component of digits, so
// that "layers.7.experts.12.w1.weight" shares "layers.7.experts.12." with the other tensors of
// expert 12 and "w1.weight" with the other experts. The cut is a function of the name alone.
class TensorNames {
 public:
  struct Id {
    uint32_t group = 0;
    uint32_t leaf = 0;
    auto operator<=>(const Id&) const = default;
  };

  Id Intern(std::string_view name);
  // Afterwards ids compare as (group, leaf) in byte order; Renumbered maps an id from before.
  void Sort();
  Id Renumbered(Id id) const { return {new_group_[id.group], new_leaf_[id.leaf]}; }
  void Seal();  // Frees what Renumbered needs.

  std::optional<Id> Find(std::string_view name) const;  // After Sort.
  std::string_view group(Id id) const { return groups_[id.group]; }
  std::string_view leaf(Id id) const { return leaves_[id.leaf]; }
  size_t bytes() const { return groups_.bytes() + leaves_.bytes(); }

 private:
  StringPool groups_;
  StringPool leaves_;
  std::vector<uint32_t> new_group_;
  std::vector<uint32_t> new_leaf_;
};

}  // namespace penstock::io
