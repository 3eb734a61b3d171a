#include "io/pack/stripe.h"

#include <cstring>
#include <functional>

#include "tests/io/pack/small_pack.h"

namespace penstock::io {
namespace {

// One stripe of three chunks in a file where it is not the first, that a test can spoil.
class Subject {
 public:
  explicit Subject(uint8_t codec) {
    std::mt19937_64 random(7 + codec);
    StripeBuilder builder;
    raw_ = RandomBytes(2 * 100, random);
    const EncodedStripe stripe = codec == kCodecRaw
                                     ? builder.BuildRaw(1, raw_, 40)
                                     : BuildCoded(builder, codec, 1, raw_, 40, random);
    manifest.tensors = {{"first", 0, 9}, {"the.tensor", 1, 100}};
    manifest.stripes = {{.elements = 9},
                        {.tensor = 1,
                         .codec = codec,
                         .elements = 100,
                         .raw_bytes = 200,
                         .offset = 8192,
                         .stored_bytes = stripe.stored.size(),
                         .stored_sum = stripe.stored_sum,
                         .raw_sum = stripe.raw_sum}};
    bytes.assign(stripe.stored.begin(), stripe.stored.end());
    bytes.resize(manifest.stripes[1].padded_bytes());
  }

  std::span<const std::byte> stored() const {
    return std::span(bytes).first(manifest.stripes[1].stored_bytes);
  }
  Result<StripeView> Parse() const { return StripeView::Parse(stored(), manifest, 1); }

  // Makes the front's sum right again, so that the check behind it is met.
  void Sign() {
    StripeHead head;
    std::memcpy(&head, bytes.data(), sizeof head);
    const uint64_t front = FrontBytes(head.chunks, head.code_bytes);
    if (front <= bytes.size())
      manifest.stripes[1].stored_sum = SumOf(std::span(bytes).first(front));
  }
  template <class T>
  void Put(size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  template <class T>
  T Get(size_t at) const {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }

  PackManifest manifest;
  std::vector<std::byte> bytes;

 private:
  std::vector<std::byte> raw_;
};

void ExpectUnsound(const Status& status, const std::vector<std::string>& parts) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsound);
  for (const std::string& part : parts) {
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
  }
}

Status StatusOf(const Result<StripeView>& view) { return view ? Status() : Status(view.error()); }

TEST(StripeView, SeesEveryFlippedByteWhereItLies) {
  for (uint8_t codec = 0; codec < kCodecs; ++codec) {
    Subject subject(codec);
    const auto whole = subject.Parse();
    ASSERT_TRUE(whole) << whole.error().message;
    ASSERT_EQ(whole->chunks(), 3u);
    const size_t front = static_cast<size_t>(whole->chunk(0).stored.data() - subject.bytes.data());
    std::array<size_t, 4> ends = {front};
    for (size_t i = 1; i < 3; ++i) {
      ends[i] = static_cast<size_t>(whole->chunk(i).stored.data() - subject.bytes.data());
    }
    ends[3] = subject.stored().size();
    ASSERT_TRUE(VerifyStripe(subject.bytes, subject.manifest, 1));
    for (size_t at = 0; at < subject.bytes.size(); ++at) {
      SCOPED_TRACE(at);
      subject.bytes[at] ^= std::byte{0x10};
      ExpectUnsound(VerifyStripe(subject.bytes, subject.manifest, 1),
                    {"stripes.bin, stripe 1 ('the.tensor', elements 0 to 99), offset "});
      const auto view = subject.Parse();
      EXPECT_EQ(view.has_value(), at >= front);
      for (size_t i = 0; view && i < 3; ++i) {
        const bool inside = at >= ends[i] && at < ends[i + 1];
        EXPECT_EQ(view->CheckChunk(i).has_value(), !inside) << "chunk " << i;
      }
      subject.bytes[at] ^= std::byte{0x10};
    }
  }
}

TEST(StripeView, RefusesEveryOtherSize) {
  const Subject subject(1);
  for (size_t bytes = 0; bytes < subject.stored().size(); ++bytes) {
    ExpectUnsound(
        StatusOf(StripeView::Parse(subject.stored().first(bytes), subject.manifest, 1)),
        {"expected " + std::to_string(subject.stored().size()), "got " + std::to_string(bytes)});
    Subject claimed(1);
    claimed.manifest.stripes[1].stored_bytes = bytes;
    claimed.Sign();
    EXPECT_FALSE(claimed.Parse()) << bytes;
  }
  EXPECT_FALSE(StripeView::Parse(subject.bytes, subject.manifest, 1));
}

TEST(StripeView, ChecksWhatTheFrontSaysBehindItsSum) {
  struct Case {
    const char* what;
    std::function<void(Subject&)> spoil;
  };
  const std::vector<Case> cases = {
      {"magic", [](Subject& s) { s.Put<uint32_t>(0, kStripeMagic + 1); }},
      {"another codec", [](Subject& s) { s.Put<uint8_t>(4, 2); }},
      {"no codec",
       [](Subject& s) {
         s.Put<uint8_t>(4, 3);
         s.manifest.stripes[1].codec = 3;
       }},
      {"another element", [](Subject& s) { s.Put<uint8_t>(5, 2); }},
      {"no element",
       [](Subject& s) {
         s.Put<uint8_t>(5, 6);
         s.manifest.tensors[1].element = 6;
       }},
      {"coded bytes",
       [](Subject& s) {
         s.Put<uint8_t>(5, 0);
         s.manifest.tensors[1].element = 0;
       }},
      {"first zero", [](Subject& s) { s.Put<uint16_t>(6, 1); }},
      {"second zero", [](Subject& s) { s.Put<uint32_t>(28, 1); }},
      {"fewer chunks", [](Subject& s) { s.Put<uint32_t>(8, 2); }},
      {"no chunks", [](Subject& s) { s.Put<uint32_t>(8, 0); }},
      {"chunks outside", [](Subject& s) { s.Put<uint32_t>(8, UINT32_MAX); }},
      {"no elements in a chunk", [](Subject& s) { s.Put<uint32_t>(12, 0); }},
      {"too few elements in a chunk", [](Subject& s) { s.Put<uint32_t>(12, 33); }},
      {"too many elements in a chunk", [](Subject& s) { s.Put<uint32_t>(12, 50); }},
      {"other elements", [](Subject& s) { s.Put<uint64_t>(16, 101); }},
      {"no elements",
       [](Subject& s) {
         s.Put<uint64_t>(16, 0);
         s.manifest.stripes[1].elements = 0;
       }},
      {"a code outside", [](Subject& s) { s.Put<uint32_t>(24, UINT32_MAX); }},
      {"a longer code", [](Subject& s) { s.Put<uint32_t>(24, s.Get<uint32_t>(24) + 64); }},
      {"another position", [](Subject& s) { s.Put<uint32_t>(36, s.Get<uint32_t>(36) + 1); }},
      {"a position before", [](Subject& s) { s.Put<uint32_t>(60, s.Get<uint32_t>(36)); }},
      {"an empty chunk", [](Subject& s) { s.Put<uint32_t>(80, 0); }},
      {"a chunk too long", [](Subject& s) { s.Put<uint32_t>(80, s.Get<uint32_t>(80) + 64); }},
      {"a chunk outside", [](Subject& s) { s.Put<uint32_t>(80, UINT32_MAX); }},
  };
  for (const Case& spoilt : cases) {
    SCOPED_TRACE(spoilt.what);
    Subject subject(1);
    spoilt.spoil(subject);
    subject.Sign();
    ExpectUnsound(StatusOf(subject.Parse()), {"stripe 1 ('the.tensor'", "expected", "got"});
  }
}

TEST(StripeView, ChecksThatRawIsAsLongAsItsElements) {
  Subject subject(kCodecRaw);
  subject.Put<uint32_t>(32, 79);
  subject.Sign();
  ExpectUnsound(StatusOf(subject.Parse()), {"chunk 0", "79"});
}

TEST(StripeView, ZerosBehindTheFrontAreChecked) {
  Subject subject(kCodecRaw);  // 32 + 3 * 24 = 104: zeros up to 128.
  for (size_t at = 104; at < 128; ++at) {
    subject.bytes[at] = std::byte{1};
    subject.Sign();
    ExpectUnsound(StatusOf(subject.Parse()), {"zeros"});
    subject.bytes[at] = std::byte{0};
  }
}

}  // namespace
}  // namespace penstock::io
