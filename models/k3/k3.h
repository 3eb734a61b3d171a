#pragma once

// penstock::k3: Kimi K3, from the shards of a checkpoint to logits. The one place where files,
// arithmetic, the graph and text meet.
//
//   config/    the numbers of a checkpoint (Shape), and the options of a run
//   weights/   what is read: the catalogue of tensors, the order of use (Pass), the stream
//              through the ring, and where weights meet their inputs
//   experts/   the routed experts: their cache, and those that are read before they are demanded
//   state/     versions of a sequence, immutable and sharing what did not change; saved as files
//   layers/    the arithmetic of a step's positions, and its dataflow as bookkeeping alone (Flow)
//   plan/      shares the memory budget out, before anything is allocated, and predicts a step
//   step/      the graph of one step: start reading at step/pipeline.h
//   engine.h   opens a checkpoint and answers as a text::TextModel
//   census/    what a directory of safetensors files holds, and how many bits its weights are
//              worth; synth/ writes a random checkpoint
//   pack/      packs: written, verified, unpacked
//   bench/     how fast parts of it are on a machine, as `penstock bench` tells
//   commands/  the command line, thin
//
// A step in five sentences. The weights side admits the extents of a pass into a byte ring in order
// of use, as far ahead as their bytes fit, also over the end of the step. An extent that has
// arrived meets the input of its product, and whichever comes second sends row blocks of about a
// MiB to the cores. When the last rows of a product are in place, `advance` starts what that makes
// possible. The router's choice sends for experts, which come from the cache or from the device,
// are applied as they arrive and added in the router's order. `commit` ends the step: after each of
// its positions there is a new version, and the one before stays readable as long as it is held.
//
// Nothing here may change a bit of the result with a tuning option: threads split rows, never a
// sum, and nothing is added in order of arrival.

#include "models/k3/engine.h"
