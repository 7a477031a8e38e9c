// Blocks: packed lists of neighboring columns in one piece of bytes, because most lists are shorter than what a row of
// their own costs. Each list is
//   varint(column - next), varint(bytes), bytes
// where `next` is the column of the block for the first list, and one more than the column before for the others. The
// bytes may come from an untrusted file: whatever is wrong with them throws std::invalid_argument.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "words/postings.hpp"

namespace sthash::words {

// Puts lists into blocks of at most `most` bytes; a longer list has one for itself. A block has the column of its first
// list.
PackedPostings pack_blocks(const PackedPostingsView& lists, size_t most);

// The list of a column in a block; none if the block has none.
std::optional<std::span<const uint8_t>> list_in_block(std::span<const uint8_t> block, int32_t first, int32_t column);

// All lists of a block.
PackedPostings unpack_block(std::span<const uint8_t> block, int32_t first);

}  // namespace sthash::words
