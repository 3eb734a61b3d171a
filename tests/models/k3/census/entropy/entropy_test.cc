#include "models/k3/census/entropy/entropy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/models/k3/census/entropy/shard_of.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

using io::ScratchDirectory;

Result<EntropyCensus> Take(const std::string& directory, EntropyRequest request = {}) {
  return TakeEntropyCensus(directory, request, BufferedPread(), nullptr);
}

std::string BytesOf(const io::Checkpoint& checkpoint, const io::TensorInfo& info) {
  std::ifstream file(checkpoint.files()[info.extent.file], std::ios::binary);
  file.seekg(static_cast<std::streamoff>(info.extent.offset));
  std::string bytes(info.extent.bytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// Entropy of `symbol(i)`, a byte, for i below n, the plain way.
template <class Symbol>
double PlainEntropy(size_t n, const Symbol& symbol) {
  std::vector<double> counts(256);
  for (size_t i = 0; i < n; ++i) counts[symbol(i)] += 1;
  double bits = 0;
  for (const double count : counts) {
    if (count > 0)
      bits += count / static_cast<double>(n) * std::log2(static_cast<double>(n) / count);
  }
  return bits;
}

// Hill's estimate from sorted magnitudes; 0 for none.
double PlainTail(std::vector<double> magnitudes) {
  std::erase_if(magnitudes, [](double x) { return x == 0 || !std::isfinite(x); });
  if (magnitudes.size() < 100) return 0;
  std::sort(magnitudes.rbegin(), magnitudes.rend());
  const size_t k = std::max<size_t>(10, magnitudes.size() / 50);
  double sum = 0;
  for (size_t i = 0; i < k; ++i) sum += std::log(magnitudes[i]) - std::log(magnitudes[k]);
  return static_cast<double>(k) / sum;
}

float AsFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

void ExpectBf16(const std::string& bytes, const EntropyFigures& f) {
  const size_t n = bytes.size() / 2;
  const auto code = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(bytes[2 * i]) |
                                 static_cast<uint8_t>(bytes[2 * i + 1]) << 8);
  };
  EXPECT_NEAR(*f.exponent_bits, PlainEntropy(n, [&](size_t i) { return code(i) >> 7 & 255; }),
              1e-9);
  EXPECT_NEAR(*f.rest_bits,
              PlainEntropy(n, [&](size_t i) { return (code(i) & 127) | (code(i) >> 8 & 128); }),
              1e-9);
  std::vector<double> magnitudes;
  for (size_t i = 0; i < n; ++i) magnitudes.push_back(std::abs(AsFloat(code(i) << 16)));
  const double tail = PlainTail(magnitudes);
  ASSERT_EQ(f.tail.has_value(), tail > 0 && std::isfinite(tail));
  if (f.tail) {
    EXPECT_NEAR(f.tail->alpha, tail, 1e-6 * tail);
  }
}

void ExpectF32(const std::string& bytes, const EntropyFigures& f) {
  const size_t n = bytes.size() / 4;
  const auto code = [&](size_t i) {
    uint32_t bits;
    std::memcpy(&bits, bytes.data() + 4 * i, 4);
    return bits;
  };
  EXPECT_NEAR(*f.exponent_bits, PlainEntropy(n, [&](size_t i) { return code(i) >> 23 & 255; }),
              1e-9);
  double rest =
      PlainEntropy(n, [&](size_t i) { return code(i) >> 31 << 7 | (code(i) >> 16 & 127); });
  for (const unsigned shift : {0u, 8u}) {
    rest += PlainEntropy(n, [&](size_t i) { return code(i) >> shift & 255; });
  }
  EXPECT_NEAR(*f.rest_bits, rest, 1e-9);
}

void ExpectCodes(const std::string& bytes, const EntropyFigures& f) {
  if (f.form == EntropyForm::kMxfp4) {
    EXPECT_NEAR(*f.code_bits,
                PlainEntropy(2 * bytes.size(),
                             [&](size_t i) {
                               return static_cast<uint32_t>(static_cast<uint8_t>(bytes[i / 2])) >>
                                          i % 2 * 4 &
                                      15;
                             }),
                1e-9);
  } else {
    EXPECT_NEAR(*f.code_bits,
                PlainEntropy(bytes.size(),
                             [&](size_t i) {
                               return static_cast<uint32_t>(static_cast<uint8_t>(bytes[i]));
                             }),
                1e-9);
  }
}

TEST(EntropyCensus, AgreesWithAPlainComputationOfTheEmbeddedCheckpoint) {
  EntropyRequest request;
  request.tensors = true;
  const auto census = Take(kTiny, request);
  ASSERT_TRUE(census) << census.error().message;
  EXPECT_TRUE(census->k3);
  const auto checkpoint = *io::Checkpoint::Open(kTiny, nullptr);
  ASSERT_EQ(census->tensors.size(), checkpoint->size());
  std::map<EntropyForm, std::pair<double, double>> exponent_means;  // Sum and elements.
  size_t measured = 0;
  for (const EntropyRow& row : census->tensors) {
    SCOPED_TRACE(row.name);
    const EntropyFigures& f = row.figures;
    if (f.sampled == 0) continue;
    ++measured;
    EXPECT_EQ(f.sampled, f.elements);  // None is larger than the sample.
    const std::string bytes = BytesOf(*checkpoint, *checkpoint->Find(row.name));
    if (f.form == EntropyForm::kBf16) {
      ExpectBf16(bytes, f);
    } else if (f.form == EntropyForm::kF32) {
      ExpectF32(bytes, f);
    } else {
      ExpectCodes(bytes, f);
    }
    if (!f.exponent_bits) continue;
    exponent_means[f.form].first += *f.exponent_bits * static_cast<double>(f.elements);
    exponent_means[f.form].second += static_cast<double>(f.elements);
  }
  EXPECT_EQ(measured, 8u * 8 * 6 + 234);
  ASSERT_EQ(census->totals.size(), 4u);
  for (const EntropyRow& row : census->totals) {
    if (!row.figures.exponent_bits) continue;
    const auto& [sum, elements] = exponent_means[row.figures.form];
    EXPECT_NEAR(*row.figures.exponent_bits, sum / elements, 1e-9);
  }
}

TEST(EntropyCensus, GroupsHoldEveryTensorOnce) {
  const auto census = Take(kTiny);
  ASSERT_TRUE(census);
  for (const auto* rows : {&census->groups, &census->kinds, &census->totals}) {
    uint64_t tensors = 0, bytes = 0;
    for (const EntropyRow& row : *rows) {
      tensors += row.figures.tensors;
      bytes += row.figures.bytes;
    }
    EXPECT_EQ(tensors, 1770u);
    EXPECT_EQ(bytes, 7'245'216u);
  }
  EXPECT_TRUE(census->tensors.empty());
  std::set<size_t> layers;
  for (const EntropyRow& row : census->groups) {
    if (row.layer) layers.insert(*row.layer);
    double shares = 0;
    for (const double share : row.figures.exponents) shares += share;
    EXPECT_NEAR(shares, row.figures.exponents.empty() ? 0 : 1, 1e-9);
  }
  EXPECT_EQ(layers.size(), 9u);
}

TEST(EntropyCensus, FullReadsEveryExpert) {
  EntropyRequest request;
  request.sample.full = true;
  const auto census = Take(kTiny, request);
  ASSERT_TRUE(census);
  uint64_t sampled = 0, elements = 0;
  for (const EntropyRow& row : census->totals) {
    sampled += row.figures.sampled;
    elements += row.figures.elements;
  }
  EXPECT_EQ(sampled, elements);
  EXPECT_EQ(census->read_bytes, 7'245'216u);
}

// bf16 whose first half has one exponent and whose second half has another.
std::string Halves(size_t elements) {
  std::string data;
  for (size_t i = 0; i < elements; ++i) {
    const uint16_t code = i < elements / 2 ? 0x3F80 : 0x4000;
    data.append(reinterpret_cast<const char*>(&code), 2);
  }
  return data;
}

// Sizes that a codec saw, and bytes that stand for its code.
uint64_t HalfOf(ops::Codec, ops::Element, std::span<const std::byte> raw) { return raw.size() / 2; }

TEST(EntropyCensus, SampleAndFullAgreeOnASmallTensor) {
  const ScratchDirectory scratch;
  scratch.Write("a.safetensors", ShardOf({{"w", "BF16", "1000", Halves(1000)}}));
  EntropyRequest request;
  request.coded = HalfOf;
  const auto sampled = Take(scratch.path(), request);
  request.sample.full = true;
  const auto full = Take(scratch.path(), request);
  ASSERT_TRUE(sampled && full);
  auto left = EntropyJson(*sampled), right = EntropyJson(*full);
  EXPECT_EQ(left["totals"], right["totals"]);
  EXPECT_EQ(left["groups"], right["groups"]);
  EXPECT_NEAR(*sampled->totals[0].figures.exponent_bits, 1, 1e-12);
  EXPECT_FALSE(sampled->k3);
}

// 40 bytes of 4000: blocks of 8 at 0, 1000-8k, ..., so both halves are seen.
TEST(EntropyCensus, SampleTakesItsBlocksAlone) {
  const ScratchDirectory scratch;
  scratch.Write("a.safetensors", ShardOf({{"w", "BF16", "2000", Halves(2000)}}));
  EntropyRequest request;
  request.sample.blocks = 4;
  request.sample.block_bytes = 8;
  std::vector<size_t> seen;
  request.coded = [&](ops::Codec codec, ops::Element element, std::span<const std::byte> raw) {
    EXPECT_EQ(element, ops::Element::kBf16);
    seen.push_back(raw.size());
    return codec == ops::Codec::kRaw ? raw.size() : raw.size() * 3 / 4;
  };
  const auto census = Take(scratch.path(), request);
  ASSERT_TRUE(census);
  const EntropyFigures& f = census->totals[0].figures;
  EXPECT_EQ(census->read_bytes, 32u);
  EXPECT_EQ(f.sampled, 16u);
  EXPECT_EQ(f.elements, 2000u);
  EXPECT_NEAR(*f.exponent_bits, 1, 1e-12);
  EXPECT_EQ(seen, (std::vector<size_t>{32, 32, 32}));
  EXPECT_NEAR(*f.coded_bits[0], 16, 1e-12);
  EXPECT_NEAR(*f.coded_bits[1], 12, 1e-12);
  EXPECT_NEAR(*f.ratio(2), 4.0 / 3, 1e-12);
  request.sample.full = true;
  seen.clear();
  const auto full = Take(scratch.path(), request);
  ASSERT_TRUE(full);
  EXPECT_EQ(full->totals[0].figures.sampled, 2000u);
  EXPECT_EQ(seen, (std::vector<size_t>{32, 32, 32}));
}

// Pieces of the reads of --full do not move what the codecs get.
TEST(EntropyCensus, FullKeepsTheSampleOverItsPieces) {
  const ScratchDirectory scratch;
  std::string data;
  for (uint32_t i = 0; i < (3u << 20) / 4; ++i) {
    data.append(reinterpret_cast<const char*>(&i), 4);
  }
  scratch.Write("a.safetensors", ShardOf({{"w", "F32", std::to_string(data.size() / 4), data}}));
  EntropyRequest request;
  std::vector<std::string> seen;
  request.coded = [&](ops::Codec, ops::Element, std::span<const std::byte> raw) {
    seen.emplace_back(reinterpret_cast<const char*>(raw.data()), raw.size());
    return raw.size();
  };
  ASSERT_TRUE(Take(scratch.path(), request));
  request.sample.full = true;
  ASSERT_TRUE(Take(scratch.path(), request));
  ASSERT_EQ(seen.size(), 6u);
  EXPECT_EQ(seen[0].size(), size_t{1} << 20);
  EXPECT_EQ(seen[0].substr(0, 65536), data.substr(0, 65536));
  EXPECT_EQ(seen[0].substr(15 * 65536), data.substr(data.size() - 65536));
  EXPECT_TRUE(seen[0] == seen[3]);
}

TEST(EntropyCensus, ListsWhatItCannotMeasure) {
  const ScratchDirectory scratch;
  const uint16_t nan = 0x7FC0;
  std::string spoilt;
  for (int i = 0; i < 200; ++i) spoilt.append(reinterpret_cast<const char*>(&nan), 2);
  scratch.Write("a.safetensors", ShardOf({{"empty", "BF16", "0, 3", ""},
                                          {"ids", "I64", "2", std::string(16, 'x')},
                                          {"nan", "BF16", "200", spoilt},
                                          {"zero", "F16", "300", std::string(600, '\0')}}));
  EntropyRequest request;
  request.tensors = true;
  request.coded = HalfOf;
  const auto census = Take(scratch.path(), request);
  ASSERT_TRUE(census) << census.error().message;
  ASSERT_EQ(census->tensors.size(), 4u);
  const auto figures = [&](size_t i) { return census->tensors[i].figures; };
  EXPECT_EQ(figures(0).elements, 0u);
  EXPECT_FALSE(figures(0).exponent_bits || figures(0).coded_bits[0]);
  EXPECT_EQ(figures(1).form, EntropyForm::kOther);
  EXPECT_EQ(figures(1).elements, 2u);
  EXPECT_FALSE(figures(1).code_bits);
  EXPECT_EQ(figures(2).nonfinite, 200u);
  EXPECT_EQ(*figures(2).exponent_bits, 0);
  EXPECT_FALSE(figures(2).tail);
  EXPECT_EQ(figures(3).zeros, 300u);
  EXPECT_FALSE(figures(3).tail);
  const auto json = EntropyJson(*census);
  EXPECT_TRUE(json["tensors"][3]["tail"].is_null());
  EXPECT_FALSE(EntropyTable(*census).empty());
}

TEST(EntropyCensus, StopsWhenAsked) {
  EntropyRequest request;
  std::vector<std::pair<uint64_t, uint64_t>> calls;
  request.progress = [&](uint64_t done, uint64_t total) {
    calls.emplace_back(done, total);
    return calls.size() < 5;
  };
  const auto stopped = Take(kTiny, request);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  ASSERT_EQ(calls.size(), 5u);
  EXPECT_EQ(calls[0].first, 0u);
  request.progress = [&](uint64_t done, uint64_t total) {
    calls.emplace_back(done, total);
    return true;
  };
  const auto whole = Take(kTiny, request);
  ASSERT_TRUE(whole);
  EXPECT_EQ(calls.back().first, calls.back().second);
  EXPECT_EQ(calls.back().first, whole->read_bytes);
}

TEST(EntropyCensus, RefusesATruncatedShard) {
  const ScratchDirectory scratch;
  const std::string shard = ShardOf({{"w", "BF16", "1000", Halves(1000)}});
  scratch.Write("a.safetensors", shard.substr(0, shard.size() - 1));
  io::ExpectRefused(Take(scratch.path()), {"a.safetensors"});
  io::ExpectRefused(Take(scratch.File("absent")), {"absent"});
}

TEST(FaultEntropyCensus, NamesTheTensorOfAFailedRead) {
  const ScratchDirectory scratch;
  scratch.Write("a.safetensors", ShardOf({{"a", "BF16", "1000", Halves(1000)},
                                          {"b", "BF16", "1000", Halves(1000)}}));
  io::IoOptions options = BufferedPread();
  options.fault = "eio@2";
  const auto census = TakeEntropyCensus(scratch.path(), {}, options, nullptr);
  ASSERT_FALSE(census);
  EXPECT_EQ(census.error().code, ErrorCode::kFailed);
  EXPECT_EQ(census.error().where, "tensor b");
  EXPECT_NE(census.error().message.find("a.safetensors"), std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
