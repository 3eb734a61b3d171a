#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "io/reader.h"

namespace penstock::io {

// What one read costs, and on which device. `id` is the caller's and unique among those inside.
struct Ticket {
  uint64_t id = 0;
  uint32_t device = 0;
  uint64_t bytes = 0;
};

// Decides which waiting read goes to its device next. Pure arithmetic: no thread, no clock, no
// disk.
//
// Invariants:
//  1. A ticket leaves exactly once: by Next or by Cancel.
//  2. A demanded ticket is never held back.
//  3. The classes below share one window on each device: they have at most `window_bytes`
//     submitted, but always at least two reads. One read would leave the device idle between its
//     completion and the next submission (0.92 of the rate); more than the smallest window that
//     saturates the device only lengthens the wait of a demanded read.
//  4. On one device: by class, then first in first out. The head is never overtaken by a smaller
//     ticket behind it.
// Threads: none; the caller serialises.
class Scheduler {
 public:
  Scheduler(uint64_t window_bytes, uint32_t device_count);

  void Queue(const Ticket& ticket, ReadClass read_class);

  // The next ticket to submit, or nothing until something completes or is queued.
  std::optional<Ticket> Next();

  // A ticket that Next gave has come back from the device.
  void Complete(uint64_t id);

  // Moves a waiting ticket to the end of a more urgent class. False when it does not wait or waits
  // in that class or above already.
  bool Raise(uint64_t id, ReadClass read_class);

  // Takes a waiting ticket out. False when it does not wait.
  bool Cancel(uint64_t id);

  // Whether something waits for this device. After Next has answered nothing, it is the window
  // that holds it back.
  bool Waits(uint32_t device) const { return !devices_[device].queue.empty(); }
  size_t waiting() const { return places_.size(); }
  size_t submitted() const { return submitted_.size(); }

 private:
  // Order of leaving: by class, then by arrival in it.
  struct Place {
    ReadClass read_class;
    uint64_t arrival;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Device {
    std::map<Place, Ticket> queue;
    uint64_t window_reads = 0;  // Submitted and not demanded when they were.
    uint64_t window_bytes = 0;
  };
  struct Waiting {
    uint32_t device;
    Place place;
  };
  struct Submitted {
    Ticket ticket;
    bool in_window;
  };

  bool Admits(const Device& device, ReadClass read_class, uint64_t bytes) const;

  const uint64_t window_bytes_;
  uint64_t next_arrival_ = 0;
  std::vector<Device> devices_;
  std::unordered_map<uint64_t, Waiting> places_;
  std::unordered_map<uint64_t, Submitted> submitted_;
};

}  // namespace penstock::io
