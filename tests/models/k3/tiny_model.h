#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "io/checkpoint.h"
#include "io/file.h"
#include "io/options.h"
#include "io/reader.h"
#include "models/k3/config/shape.h"
#include "models/k3/weights/catalogue.h"
#include "models/k3/weights/pass.h"
#include "tests/models/k3/config/tiny_checkpoint.h"

namespace penstock::k3 {

inline constexpr uint64_t kTinyExpertBytes = 3 * 64 * 96 / 2 + 3 * 64 * 96 / 32;

inline io::IoOptions BufferedPread() {
  io::IoOptions options;
  options.ioengine = "pread";
  options.direct = "0";
  return options;
}

inline io::IoOptions FromMemory(const std::string& pace = {}) {
  io::IoOptions options;
  options.ioengine = "memory";
  options.pace = pace;
  return options;
}

// The embedded checkpoint, opened piece by piece, for tests of the parts between it and the engine.
struct TinyModel {
  explicit TinyModel(size_t extent_bytes = 16 << 10, const std::string& fault = {}) {
    config = *ReadConfig(kTiny);
    const auto checkpoint = *io::Checkpoint::Open(kTiny, nullptr);
    catalogue = std::make_unique<Catalogue>(*Catalogue::Build(*checkpoint, config.shape));
    pass = std::make_unique<Pass>(Pass::Build(*catalogue, config.shape, extent_bytes));
    io::IoOptions options = BufferedPread();
    options.fault = fault;
    reader = *io::MakeReader(options, catalogue->files(), {}, nullptr, "layer");
  }

  Config config;
  std::unique_ptr<Catalogue> catalogue;
  std::unique_ptr<Pass> pass;
  std::unique_ptr<io::Reader> reader;

  const Shape& shape() const { return config.shape; }
  uint64_t LargestExtent() const {
    uint64_t most = 0;
    for (const PassExtent& extent : pass->extents()) {
      most = std::max<uint64_t>(most, reader->BufferBytes(extent.extent));
    }
    return most;
  }
};

}  // namespace penstock::k3
