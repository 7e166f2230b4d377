#include "layouts.h"

#include <algorithm>
#include <iterator>

namespace softcuda {
namespace {

// What read_debug_layout() reads, which a test compares; rows of releases that don't differ are
// one.
// clang-format off
constexpr Layout kLayouts[] = {
    {.first = 21803, .last = 21803,
     .source = "DWARF of the official 2.18.3",
     .conn = {.bytes = 96, .buffer = 16, .tail = 24, .head = 32, .step_size = 0, .sizes = 64, .offsets = 72, .step = 80},
     .slot = {.bytes = 4, .mode = 0, .offset = 0, .offset_bytes = 0, .size = 0, .size_bytes = 4},
     .comm = {.simple_buffer = 16, .p2p_chunk = 0, .abort = 32, .channels = 40, .work_consumed = 0},
     .channel = {.bytes = 240, .ring = 8, .ring_ranks = 16, .ring_index = 24, .tree = 32, .work_done = 224},
     .profiler = {},
     .coll = {.bytes = 56, .refused_flags = 0x6, .root = 40, .send = 8, .recv = 16, .count = 24, .op_arg = 48},
     .style = WorkStyle::kRounds, .p2p_parts_reversed = false, .pat_sums_strided = false, .func_bits = 16},
    {.first = 21903, .last = 21903,
     .source = "DWARF of the official 2.19.3",
     .conn = {.bytes = 152, .buffer = 16, .tail = 48, .head = 56, .step_size = 0, .sizes = 88, .offsets = 96, .step = 104},
     .slot = {.bytes = 4, .mode = 0, .offset = 0, .offset_bytes = 0, .size = 0, .size_bytes = 4},
     .comm = {.simple_buffer = 16, .p2p_chunk = 20, .abort = 40, .channels = 48, .work_consumed = 0},
     .channel = {.bytes = 240, .ring = 8, .ring_ranks = 16, .ring_index = 24, .tree = 32, .work_done = 224},
     .profiler = {},
     .coll = {.bytes = 56, .refused_flags = 0x6, .root = 40, .send = 8, .recv = 16, .count = 24, .op_arg = 48},
     .style = WorkStyle::kRounds, .p2p_parts_reversed = false, .pat_sums_strided = false, .func_bits = 16},
    {.first = 22105, .last = 22105,
     .source = "DWARF of the official 2.21.5",
     .conn = {.bytes = 152, .buffer = 16, .tail = 48, .head = 56, .step_size = 72, .sizes = 96, .offsets = 0, .step = 104},
     .slot = {.bytes = 24, .mode = 0, .offset = 4, .offset_bytes = 4, .size = 8, .size_bytes = 8},
     .comm = {.simple_buffer = 24, .p2p_chunk = 28, .abort = 56, .channels = 64, .work_consumed = 0},
     .channel = {.bytes = 368, .ring = 8, .ring_ranks = 16, .ring_index = 24, .tree = 32, .work_done = 352},
     .profiler = {},
     .coll = {.bytes = 56, .refused_flags = 0xff02, .root = 4, .send = 8, .recv = 16, .count = 24, .op_arg = 32},
     .style = WorkStyle::kParts, .p2p_parts_reversed = false, .pat_sums_strided = false, .func_bits = 16},
    {.first = 22304, .last = 22304,
     .source = "DWARF of the official 2.23.4",
     .conn = {.bytes = 152, .buffer = 16, .tail = 48, .head = 56, .step_size = 72, .sizes = 96, .offsets = 0, .step = 104},
     .slot = {.bytes = 24, .mode = 0, .offset = 4, .offset_bytes = 4, .size = 8, .size_bytes = 8},
     .comm = {.simple_buffer = 24, .p2p_chunk = 28, .abort = 56, .channels = 64, .work_consumed = 40},
     .channel = {.bytes = 368, .ring = 8, .ring_ranks = 16, .ring_index = 24, .tree = 32, .work_done = 352},
     .profiler = {},
     .coll = {.bytes = 96, .refused_flags = 0x7000000, .root = 4, .send = 16, .recv = 8, .count = 56, .op_arg = 88},
     .style = WorkStyle::kBatches, .p2p_parts_reversed = true, .pat_sums_strided = false, .func_bits = 15},
    {.first = 22501, .last = 22501,
     .source = "DWARF of the official 2.25.1",
     .conn = {.bytes = 152, .buffer = 16, .tail = 48, .head = 56, .step_size = 72, .sizes = 96, .offsets = 0, .step = 104},
     .slot = {.bytes = 24, .mode = 0, .offset = 4, .offset_bytes = 4, .size = 8, .size_bytes = 8},
     .comm = {.simple_buffer = 24, .p2p_chunk = 28, .abort = 56, .channels = 64, .work_consumed = 40},
     .channel = {.bytes = 352, .ring = 8, .ring_ranks = 16, .ring_index = 24, .tree = 32, .work_done = 344},
     .profiler = {},
     .coll = {.bytes = 96, .refused_flags = 0x7000000, .root = 4, .send = 16, .recv = 8, .count = 56, .op_arg = 88},
     .style = WorkStyle::kBatches, .p2p_parts_reversed = true, .pat_sums_strided = false, .func_bits = 15},
    {.first = 22602, .last = 22602,
     .source = "DWARF of the official 2.26.2",
     .conn = {.bytes = 152, .buffer = 16, .tail = 48, .head = 56, .step_size = 72, .sizes = 96, .offsets = 0, .step = 104},
     .slot = {.bytes = 24, .mode = 0, .offset = 4, .offset_bytes = 4, .size = 8, .size_bytes = 8},
     .comm = {.simple_buffer = 24, .p2p_chunk = 28, .abort = 56, .channels = 64, .work_consumed = 40},
     .channel = {.bytes = 368, .ring = 8, .ring_ranks = 16, .ring_index = 24, .tree = 32, .work_done = 344},
     .profiler = {.started = 80, .completed = 88, .bytes = 8, .counter = 352, .flag = 0x0},
     .coll = {.bytes = 96, .refused_flags = 0x7000000, .root = 4, .send = 16, .recv = 8, .count = 56, .op_arg = 88},
     .style = WorkStyle::kBatches, .p2p_parts_reversed = true, .pat_sums_strided = true, .func_bits = 15},
    {.first = 22707, .last = 22707,
     .source = "DWARF of the official 2.27.7",
     .conn = {.bytes = 152, .buffer = 16, .tail = 48, .head = 56, .step_size = 72, .sizes = 96, .offsets = 0, .step = 104},
     .slot = {.bytes = 24, .mode = 0, .offset = 4, .offset_bytes = 4, .size = 8, .size_bytes = 8},
     .comm = {.simple_buffer = 24, .p2p_chunk = 28, .abort = 48, .channels = 56, .work_consumed = 0},
     .channel = {.bytes = 368, .ring = 8, .ring_ranks = 16, .ring_index = 24, .tree = 32, .work_done = 344},
     .profiler = {.started = 72, .completed = 80, .bytes = 1024, .counter = 352, .flag = 0x80000000},
     .coll = {.bytes = 96, .refused_flags = 0x7000000, .root = 4, .send = 16, .recv = 8, .count = 56, .op_arg = 88},
     .style = WorkStyle::kBatches, .p2p_parts_reversed = true, .pat_sums_strided = true, .func_bits = 15},
    {.first = 22803, .last = 22809,
     .source = "DWARF of the official 2.28.3 and 2.28.9",
     .conn = {.bytes = 152, .buffer = 16, .tail = 48, .head = 56, .step_size = 72, .sizes = 96, .offsets = 0, .step = 104},
     .slot = {.bytes = 24, .mode = 0, .offset = 4, .offset_bytes = 4, .size = 8, .size_bytes = 8},
     .comm = {.simple_buffer = 24, .p2p_chunk = 28, .abort = 48, .channels = 56, .work_consumed = 0},
     .channel = {.bytes = 368, .ring = 8, .ring_ranks = 16, .ring_index = 24, .tree = 32, .work_done = 344},
     .profiler = {.started = 72, .completed = 80, .bytes = 1024, .counter = 352, .flag = 0x80000000},
     .coll = {.bytes = 96, .refused_flags = 0x7000000, .root = 4, .send = 16, .recv = 8, .count = 56, .op_arg = 88},
     .style = WorkStyle::kBatches, .p2p_parts_reversed = false, .pat_sums_strided = true, .func_bits = 15},
    {.first = 22902, .last = 22907,
     .source = "DWARF of the official 2.29.2 and 2.29.7",
     .conn = {.bytes = 152, .buffer = 16, .tail = 48, .head = 56, .step_size = 72, .sizes = 96, .offsets = 0, .step = 104},
     .slot = {.bytes = 24, .mode = 0, .offset = 4, .offset_bytes = 4, .size = 8, .size_bytes = 8},
     .comm = {.simple_buffer = 24, .p2p_chunk = 28, .abort = 48, .channels = 56, .work_consumed = 0},
     .channel = {.bytes = 368, .ring = 8, .ring_ranks = 16, .ring_index = 32, .tree = 40, .work_done = 352},
     .profiler = {.started = 72, .completed = 80, .bytes = 1024, .counter = 360, .flag = 0x80000000},
     .coll = {.bytes = 96, .refused_flags = 0x7000000, .root = 4, .send = 16, .recv = 8, .count = 56, .op_arg = 88},
     .style = WorkStyle::kBatches, .p2p_parts_reversed = false, .pat_sums_strided = true, .func_bits = 15},
    {.first = 23003, .last = 23007,
     .source = "DWARF of the official 2.30.3 and 2.30.7",
     .conn = {.bytes = 152, .buffer = 16, .tail = 48, .head = 56, .step_size = 72, .sizes = 96, .offsets = 0, .step = 104},
     .slot = {.bytes = 24, .mode = 0, .offset = 4, .offset_bytes = 4, .size = 8, .size_bytes = 8},
     .comm = {.simple_buffer = 24, .p2p_chunk = 28, .abort = 48, .channels = 56, .work_consumed = 0},
     .channel = {.bytes = 368, .ring = 8, .ring_ranks = 16, .ring_index = 32, .tree = 40, .work_done = 352},
     .profiler = {.started = 72, .completed = 80, .bytes = 1024, .counter = 360, .flag = 0x80000000},
     .coll = {.bytes = 128, .refused_flags = 0x7000000, .root = 4, .send = 32, .recv = 24, .count = 80, .op_arg = 112},
     .style = WorkStyle::kBatches, .p2p_parts_reversed = false, .pat_sums_strided = true, .func_bits = 15},
    {.first = 23203, .last = 23203,
     .source = "DWARF of the official 2.32.3",
     .conn = {.bytes = 152, .buffer = 16, .tail = 48, .head = 56, .step_size = 72, .sizes = 96, .offsets = 0, .step = 104},
     .slot = {.bytes = 32, .mode = 0, .offset = 8, .offset_bytes = 8, .size = 16, .size_bytes = 8},
     .comm = {.simple_buffer = 24, .p2p_chunk = 28, .abort = 48, .channels = 56, .work_consumed = 0},
     .channel = {.bytes = 368, .ring = 8, .ring_ranks = 16, .ring_index = 32, .tree = 40, .work_done = 352},
     .profiler = {.started = 72, .completed = 80, .bytes = 1024, .counter = 360, .flag = 0x80000000},
     .coll = {.bytes = 96, .refused_flags = 0x7000000, .root = 4, .send = 16, .recv = 8, .count = 56, .op_arg = 88},
     .style = WorkStyle::kBatches, .p2p_parts_reversed = false, .pat_sums_strided = true, .func_bits = 11},
};
// clang-format on

}  // namespace

const Layout* find_layout(int nccl_version) {
  const auto* found =
      std::find_if(std::begin(kLayouts), std::end(kLayouts), [nccl_version](const Layout& row) {
        return row.first <= nccl_version && nccl_version <= row.last;
      });
  return found == std::end(kLayouts) ? nullptr : found;
}

bool parts_are_reversed(int nccl_version) { return 22200 <= nccl_version && nccl_version < 22800; }

bool pat_sums_are_strided(int nccl_version) { return nccl_version >= 22600; }

int oldest_layout() { return std::begin(kLayouts)->first; }
int newest_layout() { return std::prev(std::end(kLayouts))->last; }

}  // namespace softcuda
