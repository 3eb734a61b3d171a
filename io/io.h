#pragma once

// io: bytes that cross the process boundary, and the order in which they do.
//
//   checkpoint ──► where every tensor lies          Checkpoint (io/checkpoint.h)
//                  (file, offset, bytes)            an Extent is such a range
//   extents ─────► Reader ──► BufferRef             one read each, in order of class
//                    │ rounds out to the alignment, splits into blocks of --bs,
//                    │ continues short reads
//                  Scheduler                        what goes to the device next: demanded at once,
//                    │                              then trunk, then predicted, within W bytes
//                  Engine (io/engines/engine.h)     how it goes: io_uring, pread or memory,
//                                                   decorated by --fault and --pace
//
// A directory of safetensors files is opened as a Checkpoint from its headers alone: nothing is
// believed before it is checked, no weight is read. What a caller then wants, it asks of a Reader:
//
//   FileSet::Open(checkpoint.files(), mode, notice)      decides O_DIRECT and alignment per file
//   MakeReader(options, files, regions, notice)          engine, threads, registered memory
//   reader->Read(extent, buffer, ReadClass::kTrunk, done)
//
// Read only queues. `done` runs on an I/O thread, once, with whole bytes or an error that names
// file, offset and reason. The Scheduler (io/queue/scheduler.h) is arithmetic without threads or a
// disk; an Engine is mechanism without policy; the Reader joins them and is the only place that
// knows both. What each device did meanwhile, the Reader tells as DeviceStats (io/device_stats.h).
//
// Weights that were stored once more, losslessly coded in the order of their use, are a Pack
// (io/pack.h): its manifest gives the extents, StripeView the chunks in the bytes that arrive.
//
// Blocks that stay for a while are a BlockCache (io/cache/block_cache.h); which of them makes room is
// arithmetic of its own (io/cache/eviction/), which can be replayed over recorded requests.
//
// What is written and must be whole or not there is a SealedWriter's (io/sealed/sealed_file.h).
//
// Not here: what the bytes mean and when they are wanted.

#include "io/checkpoint.h"
#include "io/file.h"
#include "io/options.h"
#include "io/reader.h"
