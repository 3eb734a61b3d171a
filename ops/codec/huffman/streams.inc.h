// The decoder of coded planes, one text for every instruction set. Included inside an unnamed
// namespace, after the lanes of the instruction set:
//   CountLeadingZeros(uint64_t), never of zero
//   LowBits(uint64_t): the lowest kIndexBits
//   Merge(symbols, rest, n, out, streaming): out[i] = sign << 15 | symbol << 7 | mantissa
//   Fence(): streaming stores come before what follows
//   merge.inc.h
//
// Four streams are decoded side by side because one lookup waits for the one before: its bits are
// found, looked up and shifted out, some seven cycles for up to six symbols.
//
// Bounds. A stream's place is p = at * 8 + leading zeros of `bits`. A step is one refill, at most
// one lone symbol (kLong), and kLookups lookups, so it moves p by at most Step::kBytes * 8 bits and
// gives at most Step::kSymbols symbols. Steps are only begun that a stream has bytes and symbols
// for; a refill then loads eight bytes from a place not behind the stream's end. What a stream
// cannot do in such steps, Finish does with checks.

using Contents = Tables::Contents;

constexpr unsigned kLookups = 5;
constexpr uint64_t kMarker = uint64_t{1} << 63;
constexpr size_t kMostSteps = 16;      // Before symbols are merged: they stay in the first cache.
constexpr intptr_t kInputAhead = 512;  // Bytes of a stream that are asked for before they are used.

template <bool kLong>
struct Step {
  static constexpr size_t kBytes = kLong ? 9 : 7;
  static constexpr size_t kSymbols = kLookups * kMostRunSymbols + (kLong ? 1 : 0);
  static constexpr size_t kStore = 8;  // A lookup stores so many bytes, used or not.
};

// The marker is the highest bit when `bits` is loaded and tells later how many were shifted out.
// 63 - 7 = 56 bits are there after a refill.
struct Stream {
  uint64_t bits;
  const uint8_t* at;
  uint8_t* out;  // Behind the next symbol's place: a stream begins with its last.
  const uint8_t* end;
  size_t left;  // Symbols to come.
};

inline uint64_t Load64(const uint8_t* p) {
  uint64_t value;
  __builtin_memcpy(&value, p, sizeof(value));
  return value;
}

PENSTOCK_INLINE void Refill(uint64_t& bits, const uint8_t*& at) {
  const uint64_t used = CountLeadingZeros(bits);
  at += used >> 3;
  bits = (Load64(at) | kMarker) >> (used & 7);
}

// Writes downwards from `out`.
PENSTOCK_INLINE void Lookup(const uint64_t* runs, uint64_t& bits, uint8_t*& out) {
  const uint64_t* const entry = runs + LowBits(bits);
  const uint64_t run = *entry;
  bits >>= run & 63;
  __builtin_memcpy(out - sizeof(run), &run, sizeof(run));
  out -= reinterpret_cast<const uint8_t*>(entry)[1];
}

// The next symbol, of up to 16 bits.
inline uint8_t LoneSymbol(const Contents& tables, uint64_t& bits) {
  uint16_t entry = tables.head[bits % kIndices];
  if (entry < 256) {
    const uint64_t tail = bits >> kIndexBits & ((1u << kTailBits) - 1);
    entry = tables.tail[static_cast<size_t>(entry) << kTailBits | tail];
  }
  bits >>= entry >> 8;
  return static_cast<uint8_t>(entry);
}

template <bool kLong>
PENSTOCK_INLINE void RefillAndSkipLong(const Contents& tables, Stream& s) {
  Refill(s.bits, s.at);
  if (!kLong || tables.runs[s.bits % kIndices] != 0) return;
  *--s.out = LoneSymbol(tables, s.bits);
  Refill(s.bits, s.at);
}

template <bool kLong>
void Steps(const Contents& tables, Stream streams[kStreams], size_t steps) {
  const uint64_t* const runs = tables.runs;
  Stream a = streams[0];
  Stream b = streams[1];
  Stream c = streams[2];
  Stream d = streams[3];
  for (; steps != 0; --steps) {
    RefillAndSkipLong<kLong>(tables, a);
    RefillAndSkipLong<kLong>(tables, b);
    RefillAndSkipLong<kLong>(tables, c);
    RefillAndSkipLong<kLong>(tables, d);
    Prefetch(a.at, kInputAhead);
    Prefetch(b.at, kInputAhead);
    Prefetch(c.at, kInputAhead);
    Prefetch(d.at, kInputAhead);
#pragma GCC unroll 5
    for (unsigned i = 0; i < kLookups; ++i) {
      Lookup(runs, a.bits, a.out);
      Lookup(runs, b.bits, b.out);
      Lookup(runs, c.bits, c.out);
      Lookup(runs, d.bits, d.out);
    }
  }
  streams[0] = a;
  streams[1] = b;
  streams[2] = c;
  streams[3] = d;
}

// Bits between a stream's place and its end; negative behind it.
inline int64_t BitsLeft(const Stream& s) {
  return (s.end - s.at) * 8 - static_cast<int64_t>(CountLeadingZeros(s.bits));
}

// The steps that a stream has bytes and symbols for.
template <bool kLong>
size_t StepsLeft(const Stream& s) {
  using S = Step<kLong>;
  const int64_t bytes = BitsLeft(s) / 8;
  if (s.left < S::kStore || bytes < static_cast<int64_t>(S::kBytes)) return 0;
  const size_t of_symbols = (s.left - (S::kStore - kMostRunSymbols)) / S::kSymbols;
  const size_t of_bytes = static_cast<size_t>(bytes) / S::kBytes;
  return of_symbols < of_bytes ? of_symbols : of_bytes;
}

// Decodes what is left of a stream, which is short of bytes or of symbols for a step, and looks
// whether it ends where it should.
template <bool kLong>
bool Finish(const Contents& tables, Stream& s) {
  if (BitsLeft(s) < static_cast<int64_t>(s.left)) return false;  // A code has a bit at least.
  while (s.left >= Step<kLong>::kStore) {
    if (BitsLeft(s) < 0) return false;
    Refill(s.bits, s.at);
    const uint8_t* const before = s.out;
    if (tables.runs[s.bits % kIndices] == 0) {
      *--s.out = LoneSymbol(tables, s.bits);
    } else {
      Lookup(tables.runs, s.bits, s.out);
    }
    s.left -= static_cast<size_t>(before - s.out);
  }
  for (; s.left != 0; --s.left) {
    if (BitsLeft(s) < 0) return false;
    Refill(s.bits, s.at);
    *--s.out = LoneSymbol(tables, s.bits);
  }
  const int64_t spare = BitsLeft(s);
  if (spare < 0 || spare >= 8) return false;
  return spare == 0 || s.end[-1] >> (8 - spare) == 0;
}

// A stream that is finished keeps its place in the steps of the others, reading zeros.
struct Idle {
  uint8_t zeros[kMostSteps * 9 + 8] = {};
  uint8_t symbols[kMostSteps * Step<true>::kSymbols + 8];
};

// Decodes the streams of a plane into the places that `sink` gives:
//   uint8_t* Place(s)        the next symbols of stream s go below: kSinkRoom bytes, or all that the
//                            stream has left
//   void Take(s, symbols)    so many were put there
template <bool kLong, class Sink>
bool DecodeStreams(const Contents& tables, Stream streams[kStreams], Sink& sink) {
  Idle idle;
  bool running[kStreams] = {true, true, true, true};
  for (;;) {
    size_t steps = kMostSteps;
    bool any = false;
    for (size_t s = 0; s < kStreams; ++s) {
      Stream& stream = streams[s];
      if (!running[s]) {
        stream = {kMarker, idle.zeros, idle.symbols + sizeof(idle.symbols), nullptr, 0};
        continue;
      }
      stream.out = sink.Place(s);
      const size_t possible = StepsLeft<kLong>(stream);
      if (possible == 0) {
        const size_t left = stream.left;
        if (!Finish<kLong>(tables, stream)) return false;
        sink.Take(s, left);
        running[s] = false;
        stream = {kMarker, idle.zeros, idle.symbols + sizeof(idle.symbols), nullptr, 0};
        continue;
      }
      any = true;
      steps = possible < steps ? possible : steps;
    }
    if (!any) return true;
    Steps<kLong>(tables, streams, steps);
    for (size_t s = 0; s < kStreams; ++s) {
      if (!running[s]) continue;
      const auto symbols = static_cast<size_t>(sink.Place(s) - streams[s].out);
      streams[s].left -= symbols;
      sink.Take(s, symbols);
    }
  }
}

constexpr size_t kSinkRoom = kMostSteps * Step<true>::kSymbols + Step<true>::kStore;
static_assert(kSinkRoom >= Step<true>::kBytes * 8 + Step<true>::kStore);  // For Finish.

// Symbols as they are.
struct SymbolSink {
  uint8_t* place[kStreams];
  uint8_t* Place(size_t s) { return place[s]; }
  void Take(size_t s, size_t symbols) { place[s] -= symbols; }
};

// Elements: whole groups of symbols are merged, counted from the beginning of the quarter; those
// below them wait for the next.
struct Bf16Sink {
  struct Quarter {
    alignas(64) uint8_t symbols[(kSinkRoom / 64 + 2) * 64];
    size_t waiting;  // At the end of `symbols`.
    const uint8_t* rest;
    uint16_t* out;
    size_t left;  // Elements that are not merged yet.
  };
  Quarter quarters[kStreams];
  bool streaming;

  static uint8_t* End(Quarter& q) { return q.symbols + sizeof(q.symbols); }
  uint8_t* Place(size_t s) { return End(quarters[s]) - quarters[s].waiting; }
  void Take(size_t s, size_t symbols) {
    Quarter& q = quarters[s];
    const size_t ready = q.waiting + symbols;
    q.waiting = (ready - q.left) % kGroup;  // Above them whole groups are left; modulo 2^64.
    if (q.waiting > ready) q.waiting = ready;
    const size_t merged = ready - q.waiting;
    q.left -= merged;
    Merge(End(q) - merged, q.rest + q.left, merged, q.out + q.left, streaming);
    __builtin_memmove(End(q) - kGroup, End(q) - merged - kGroup, kGroup);
  }
};

template <class Sink>
bool DecodeCoded(const Contents& tables, const uint8_t* coded, size_t coded_bytes,
                 const Quarters& quarters, Sink& sink) {
  Streams places;
  if (!ReadStreams(coded, coded_bytes, places)) return false;
  Stream streams[kStreams];
  for (size_t s = 0; s < kStreams; ++s) {
    streams[s] = {kMarker, coded + places.begin[s], nullptr, coded + places.begin[s + 1],
                  quarters.begin[s + 1] - quarters.begin[s]};
  }
  for (intptr_t ahead = 0; ahead < kInputAhead; ahead += 64) {
    for (const Stream& stream : streams) Prefetch(stream.at, ahead);
  }
  return tables.kind == Contents::Kind::kLong ? DecodeStreams<true>(tables, streams, sink)
                                              : DecodeStreams<false>(tables, streams, sink);
}

// What a plane is before a stream is looked at.
enum class Plane { kCorrupt, kSingle, kRaw, kCoded };
Plane PlaneOf(const Contents& tables, const uint8_t* coded, size_t coded_bytes, size_t n) {
  if (tables.kind == Contents::Kind::kNone) return Plane::kCorrupt;
  if (n == 0 || tables.kind == Contents::Kind::kSingle) {
    return coded_bytes == 0 ? Plane::kSingle : Plane::kCorrupt;
  }
  if (coded_bytes == 0) return Plane::kCorrupt;
  if (coded[0] == kRawPlane) return coded_bytes - 1 == n ? Plane::kRaw : Plane::kCorrupt;
  return coded[0] == kCodedPlane ? Plane::kCoded : Plane::kCorrupt;
}

bool DecodeSymbols(const Contents& tables, const uint8_t* coded, size_t coded_bytes, size_t n,
                   uint8_t* symbols) {
  switch (PlaneOf(tables, coded, coded_bytes, n)) {
    case Plane::kCorrupt:
      return false;
    case Plane::kSingle:
      if (n != 0) __builtin_memset(symbols, tables.single, n);
      return true;
    case Plane::kRaw:
      __builtin_memcpy(symbols, coded + 1, n);
      return true;
    case Plane::kCoded:
      break;
  }
  const Quarters quarters = QuartersOf(n);
  SymbolSink sink;
  for (size_t s = 0; s < kStreams; ++s) sink.place[s] = symbols + quarters.begin[s + 1];
  return DecodeCoded(tables, coded, coded_bytes, quarters, sink);
}

void MergeSingle(uint8_t symbol, const uint8_t* rest, size_t n, uint16_t* out, bool streaming) {
  uint8_t symbols[1024];
  __builtin_memset(symbols, symbol, sizeof(symbols));
  while (n != 0) {
    const size_t part = n < sizeof(symbols) ? n : sizeof(symbols);
    Merge(symbols, rest, part, out, streaming);
    rest += part;
    out += part;
    n -= part;
  }
}

bool DecodeElements(const Contents& tables, const uint8_t* coded, size_t coded_bytes,
                    const uint8_t* rest, size_t n, uint16_t* out, bool streaming) {
  switch (PlaneOf(tables, coded, coded_bytes, n)) {
    case Plane::kCorrupt:
      return false;
    case Plane::kSingle:
      MergeSingle(tables.single, rest, n, out, streaming);
      return true;
    case Plane::kRaw:
      Merge(coded + 1, rest, n, out, streaming);
      return true;
    case Plane::kCoded:
      break;
  }
  const Quarters quarters = QuartersOf(n);
  Bf16Sink sink;
  sink.streaming = streaming;
  for (size_t s = 0; s < kStreams; ++s) {
    Bf16Sink::Quarter& q = sink.quarters[s];
    q.waiting = 0;
    q.rest = rest + quarters.begin[s];
    q.out = out + quarters.begin[s];
    q.left = quarters.begin[s + 1] - quarters.begin[s];
  }
  return DecodeCoded(tables, coded, coded_bytes, quarters, sink);
}

bool DecodeBf16(const Contents& tables, const uint8_t* coded, size_t coded_bytes,
                const uint8_t* rest, size_t n, uint16_t* out, bool streaming) {
  const bool whole = DecodeElements(tables, coded, coded_bytes, rest, n, out, streaming);
  if (streaming) Fence();
  return whole;
}
