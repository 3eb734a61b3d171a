#pragma once

#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "io/reader.h"
#include "models/k3/weights/catalogue.h"

namespace penstock::k3 {

// A Reader whose reads end when the test says so, with the bytes of the checkpoint or an error.
class ManualReader final : public io::Reader {
 public:
  explicit ManualReader(const Catalogue& catalogue) : catalogue_(catalogue) {}

  struct Pending {
    io::ReadId id = 0;
    io::Extent extent;
    MutableBuffer buffer;
    io::ReadClass read_class = io::ReadClass::kDemanded;
    Done done;
    bool started = false;  // Cancel comes too late.
    bool cancelled = false;
  };

  size_t BufferBytes(const io::Extent& extent) const override { return extent.bytes; }
  size_t Alignment() const override { return 1; }
  io::ReadId Read(const io::Extent& extent, MutableBuffer buffer, io::ReadClass read_class,
                  Done done) override {
    const bool started = read_class == io::ReadClass::kDemanded;
    pending.push_back(
        {++last_id_, extent, std::move(buffer), read_class, std::move(done), started, false});
    return last_id_;
  }
  void Raise(io::ReadId id, io::ReadClass read_class) override {
    for (Pending& read : pending) {
      if (read.id != id) continue;
      read.read_class = read_class;
      read.started = true;
    }
  }
  bool Cancel(io::ReadId id) override {
    for (Pending& read : pending) {
      if (read.id != id || read.started || read.cancelled) continue;
      return read.cancelled = true;
    }
    return false;
  }
  io::ReaderCounters counters() const override { return counted; }
  std::string Describe() const override { return "manual"; }
  void Stop() override {}

  // Ends a read: with kCancelled where it was taken back, else as asked.
  void Complete(size_t index, bool readable = true) {
    Pending read = std::move(pending[index]);
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(index));
    const Done done = std::move(read.done);
    if (!read.cancelled) {
      counted.payload_bytes += read.extent.bytes;
      ++counted.reads;
    }
    if (read.cancelled || !readable) {
      read.buffer = MutableBuffer();
      return done(read.cancelled ? Cancelled("taken back") : Failed("unreadable"));
    }
    std::ifstream file(catalogue_.FileName(read.extent.file), std::ios::binary);
    file.seekg(static_cast<std::streamoff>(read.extent.offset));
    file.read(reinterpret_cast<char*>(read.buffer.data()),
              static_cast<std::streamsize>(read.extent.bytes));
    done(std::move(read.buffer).Freeze().Slice(0, read.extent.bytes));
  }

  std::vector<Pending> pending;
  io::ReaderCounters counted;

 private:
  const Catalogue& catalogue_;
  io::ReadId last_id_ = 0;
};

}  // namespace penstock::k3
