#pragma once

// A pack: weights stored once more, losslessly coded, in the order in which a step reads them.
// This comment is the format, complete enough to write a second reader from.
//
//   DIR/pack.json               the manifest; that it is there means that the pack is complete
//   DIR/stripes.bin             the stripes, one after another
//   DIR/stripes.bin.partial     \ while it is being written, and afterwards when that was stopped:
//   DIR/pack.jsonl.partial      / the stripes so far, and the journal that says which are whole
//   DIR/pack.json.partial       for a moment at the end: stripes.bin may have its name by then
//
// Numbers in stripes.bin are little-endian. A sum is XXH3-64 with seed 0; in JSON it is 16
// hexadecimal digits, small letters, the most significant first.
//
//
// Stripes
//
// A stripe is a range of the elements of one tensor, decodable alone. It begins at a multiple of
// 4096 in stripes.bin; zeros follow it up to the next multiple, where the next stripe begins or the
// file ends. Its bytes ("stored", a multiple of 64) are, offsets relative to its beginning:
//
//   head     32 bytes:  0 u32 magic 0x72747370 ("pstr")
//                       4 u8  codec: 0 raw, 1 chain, 2 huffman
//                       5 u8  element: 0 bytes, 1 bf16, 2 f16, 3 f8 e4m3, 4 f8 e5m2, 5 f32
//                       6 u16 zero
//                       8 u32 chunks: elements / chunk_elements, rounded up
//                      12 u32 chunk_elements, at least 1
//                      16 u64 elements, at least 1
//                      24 u32 code_bytes
//                      28 u32 zero
//   table    for each chunk 24 bytes:
//                       0 u32 stored_bytes, at least 1
//                       4 u32 position in units of 64 bytes
//                       8 u64 sum of its stored bytes
//                      16 u64 sum of its elements as they were, decoded
//   code     code_bytes of what the chunks share (the lengths of a Huffman code); none for raw
//   zeros    up to a multiple of 64
//   chunks   each its stored_bytes, then zeros up to a multiple of 64, where the next one begins;
//            the first begins behind the zeros above. All have chunk_elements elements but the last,
//            which has what remains. A chunk of the codec raw is its elements, little-endian.
//   slack    64 zeros: a decoder may read them
//
// Head, table, code and the zeros behind them are the stripe's front. The manifest holds the sum of
// the front, the front holds the sum of every chunk: who checks the front once, each chunk just
// before it is decoded, and the zeros, has checked every byte of the file while it was in cache.
// The codec raw goes with every element, the others with all but 0. A stripe has at most 256 MiB of
// elements and 512 MiB stored.
//
//
// Chunks
//
// A chunk of the codecs chain and huffman is the rest of its n elements, then the coded plane of
// their exponents. Of an element, taken as one unsigned number:
//
//   bf16      exponent: the 8 bits below the sign;  rest: sign << 7 | 7 bits of mantissa
//   f16       5 bits;                               sign << 10 | 10 bits
//   f8 e4m3   4 bits;                               sign << 3 | 3 bits
//   f8 e5m2   5 bits;                               sign << 2 | 2 bits
//   f32       8 bits;                               sign << 23 | 23 bits
//
// The rest is one plane of n bytes for each whole byte of it, the least significant first, then one
// bit plane of ceil(n / 8) bytes for each bit that is left, the least significant first. Here and
// below bit i of a run of bits is bit i % 8 of byte i / 8, and spare bits are zero. The symbols of
// the coded plane are the exponents, a byte each.
//
// chain. There is no code.
//
// Coded plane of n symbols. None for n = 0; otherwise
//
//   u8 units            1..16: the plane is cut into blocks of units * 1024 symbols, the last shorter
//   block...            one after another, nothing between or behind them
//
// A block of m symbols begins with
//
//   u8 shape            bits 0-3  narrow: levels of one plane, one symbol each
//                       bits 4-6  wide: levels of two planes, three symbols each; at most 4
//                       bit  7    how the dictionary is written
//
// Two shapes stand apart. 0x00, raw: the m symbols follow as they are. 0x70, constant: one byte
// follows, all m symbols. In any other shape the dictionary has d = 3 * wide + narrow <= 15
// symbols, and is written as
//
//   bit 7 clear         u8 s0, u16 up (little-endian): the dictionary is an interval that grows from
//                       s0; symbol i + 1 is the next above it where bit i of `up` is set and the
//                       next below it elsewhere, modulo 256. Bits d - 1 and above are zero.
//   bit 7 set           d bytes, the symbols
//
// Then u16, little-endian: the escapes of the first level. Behind it lie the levels, first the wide
// ones, then the narrow ones. Each takes the next three symbols of the dictionary, or the next one,
// and codes a sequence: the first all m symbols, any other the escapes of the level before, in
// order. A wide level has a two-bit code for each, its low bit in plane x and its high bit in plane
// y: 0, 1, 2 for the level's symbols, 3 for an escape. A narrow level has plane x only: 0 for its
// symbol, 1 for an escape. A plane is little-endian words of 64 codes, bit i of a word for the
// i-th; a wide level alternates them, x0 y0 x1 y1 ...
//
//   first level         ceil(m / 64) words of each plane. Bit 8 * k + t of word w belongs to symbol
//                       64 * w + 8 * t + k of the block; bits without a symbol are zero.
//   other levels        c codes, in order: c / 64 words of each plane, then the other c % 64 codes
//                       in ceil(c % 64 / 8) bytes of each plane; spare bits are zero.
//
// The length of a level is the number of escapes in the one before; only the second one's is
// written. Behind the levels, the escapes of the last one: one byte each, the symbol, in order.
//
// huffman. The limit of lengths is 16 for the two kinds of f8 and 11 for the others.
//
// Code of a stripe (WriteCode).
//   One symbol: one byte, the symbol.
//   Two or more:
//     u8   first  the smallest symbol that occurs
//     u8   last   the largest, > first
//     bits        one for each symbol of first..last, set if it occurs: ceil((last-first+1) / 8)
//                 bytes; the bits of first and last are set
//     nibbles     length - 1 of each symbol that occurs, ascending, the low nibble first:
//                 ceil(symbols / 2) bytes
//   Lengths are 1..limit and the sum of 2^-length is exactly 1. Nothing follows.
//
// Prefix codes. Symbols in the order of (length, symbol) take consecutive codes: the first is all
// zeros, each next one is (code + 1) << (its length - the length before). A code enters its stream
// from the most significant of its bits to the least.
//
// Coded plane of n symbols (Encode).
//   n = 0, or a code of one symbol: no bytes.
//   Otherwise
//     u8   mode   0: n bytes follow, the symbols as they are; 1: coded
//   and if coded
//     u32  bytes of stream 0, 1, 2 and 3; they add up to what follows
//     the four streams
//   Stream s holds the symbols of quarter s, the last one first: those from s * q up to (s + 1) * q
//   as far as there are so many, q = 32 * ceil(n / 128). It has ceil(bits / 8) bytes; no symbols,
//   no bytes.
//
//
// What is packed
//
// kind "trunk": the matrices that a step of a K3 checkpoint applies, in order of use, each a tensor
// of bf16 called layers.N.ROLE, or head, with roles as models/k3/weights/pass.cc lists them. A
// stripe is whole rows. A chunk is 8 * max(1, floor(65536 / columns / 8)) rows, of kv_b the rows of
// 8 heads; the program refuses others. Pass::Build says how stripe_bytes cuts matrices into rows.
// kind "file": one safetensors file. The first tensor, "__metadata__", is its header with the 8 bytes
// of its length; the others follow in the order of their data. All elements in order are the file.
// The identity of a source is that of io/safetensors/identity.h; a file counts as a checkpoint of
// one shard with an empty config.
//
//
// Manifest
//
// One JSON object with exactly these keys; none occurs twice, other keys are refused:
//
//   {"schema": "penstock.pack.v1",
//    "kind": "trunk",                             or "file"
//    "source": {"identity": "32 hex digits", "name": "..."},
//    "parameters": {"codec": "auto",              as asked: auto, chain, huffman or raw
//                   "stripe_bytes": 67108864,     as asked: raw bytes of a stripe, about
//                   "extra": {"key": "text"}},    whatever else the bytes depend on
//    "program": "penstock 0.1.0",
//    "file": {"name": "stripes.bin", "bytes": 8192},
//    "tensors": [{"name": "...", "element": 1, "elements": 2048}, ...],
//    "stripes": [[tensor, first, elements, offset, stored_bytes, codec, "front sum", "raw sum"], ...],
//    "statistics": {"raw": {"stripes": 0, "raw_bytes": 0, "stored_bytes": 0},
//                   "chain": {...}, "huffman": {...}},
//    "raw_bytes": 4096, "stored_bytes": 4160,     of all stripes, without the zeros between them
//    "sum": "16 hex digits"}                      of all bytes of the document before the comma
//                                                 in front of it; the last entry
//
// Names of tensors differ. Stripes are in order of offset and leave no gap: the first is at 0, and
// the file ends behind the zeros of the last. The stripes of a tensor follow one another and cover
// its elements exactly, in order; tensors come in the order of the list; one without elements has no
// stripe. The raw sum of a stripe is the sum of all of its elements, decoded. No time and no name of
// a machine is in it: the same input and parameters give the same bytes.
//
//
// Journal
//
// A line is whole when it ends in a newline. The first one is a JSON object with the keys schema
// ("penstock.pack.journal.v1"), kind, source, parameters, program and tensors as above, and "plan":
// [[tensor, first, elements], ...], the stripes to come. Each further line is the entry of one
// stripe as in the manifest, in order, with the sum of the text before the last comma as its ninth
// value. A line is written after its stripe's bytes have reached the device. Whoever resumes trusts
// the lines up to the first that is torn or wrong, checks the stored bytes that they stand for, and
// cuts both files behind the last stripe that is whole.
//
//
//   writing   PackWriter::Open(...)         io/pack/write/writer.h    new, or where the last one stopped
//             StripeBuilder                 io/pack/write/builder.h   chunks to the bytes of a stripe
//   reading   Pack::Open(directory)         io/pack/directory.h the manifest, checked, and the file
//             pack->extent(stripe, file)    to a Reader (io/reader.h)
//             StripeView::Parse(...)        io/pack/stripe.h    chunks out of the bytes that arrived
//   checking  VerifyStripe(...)             io/pack/stripe.h    every stored byte of a stripe
//
// Not here: encoding and decoding, and what the weights mean.

#include "io/pack/directory.h"
#include "io/pack/layout.h"
#include "io/pack/manifest.h"
#include "io/pack/read_stripe.h"
#include "io/pack/stripe.h"
#include "io/pack/write/begun.h"
#include "io/pack/write/builder.h"
#include "io/pack/write/writer.h"
