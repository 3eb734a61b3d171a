#pragma once

// runtime: what every other module stands on, and nothing of what they are about.
//
//   result.h, check.h, notice.h  How things go wrong: a Result for causes from outside, a check for
//                                our own mistakes, a Notice for one line about a degradation.
//   size.h                       Sizes ("8M") and durations ("100us").
//   options/                     An option is declared once, as a row of its struct's Visit; flags,
//                                JSON in and out, help and the head of every result are made of
//                                rows.
//   memory/                      Who may write and who may read a piece of memory, regions backed
//                                by 2 MiB pages, the ring of bytes.
//   cpu/                         CPU lists, the inherited set, pinning, short time slices.
//   machine/                     What the machine is and allows: cgroup limits, the block device
//                                below a path, the facts that stand in a result's head.
//   process/                     What this process holds and has read; a request to stop.
//   measure/                     Several variants timed in turns, and what their samples come to;
//                                when something was the case.
//   output/                      Records as JSON lines, result files, the progress line.
//   trace/                       What ran when on which thread, for Perfetto.
//   report/                      A page of HTML from headings, tables and charts.
//
// Nothing here prints or exits, save for a second Ctrl-C and a failed check. The types to know:
// Result, OptionSet, CpuSet.

#include "runtime/cpu/cpu_list.h"
#include "runtime/options/options.h"
#include "runtime/result.h"
