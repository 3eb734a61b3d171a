#pragma once

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

namespace penstock::k3 {

inline const std::string kTiny = PENSTOCK_SOURCE_DIR "/models/k3/tiny";

// The embedded checkpoint, opened piece by piece, for tests of the parts between it and the engine.
struct TinyModel {
  explicit TinyModel(size_t extent_bytes = 16 << 10, const std::string& fault = {}) {
    config = *ReadConfig(kTiny);
    const auto checkpoint = *io::Checkpoint::Open(kTiny, nullptr);
    catalogue = std::make_unique<Catalogue>(*Catalogue::Build(*checkpoint, config.shape));
    pass = std::make_unique<Pass>(Pass::Build(*catalogue, config.shape, extent_bytes));
    io::IoOptions options;
    options.ioengine = "pread";
    options.direct = "0";
    options.fault = fault;
    reader = *io::MakeReader(options, catalogue->files(), {}, nullptr, "layer");
  }

  Config config;
  std::unique_ptr<Catalogue> catalogue;
  std::unique_ptr<Pass> pass;
  std::unique_ptr<io::Reader> reader;

  const Shape& shape() const { return config.shape; }
};

}  // namespace penstock::k3
