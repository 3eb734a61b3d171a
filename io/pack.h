#pragma once

// A pack: weights stored once more, losslessly coded, in the order in which a step reads them.
// This comment is the format, complete enough to write a second reader from.
//
//   DIR/pack.json               the manifest; that it is there means that the pack is complete
//   DIR/stripes.bin             the stripes, one after another
//   DIR/stripes.bin.partial     \ while it is being written, and afterwards when that was stopped:
//   DIR/pack.jsonl.partial      / the stripes so far, and the journal that says which are whole
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
//                       4 u8  codec: 0 raw, 1 chain, 2 huffman (ops/codec/codec.h defines them)
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
//    "raw_bytes": 4096, "stored_bytes": 4160}     of all stripes, without the zeros between them
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
