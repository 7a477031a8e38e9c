#include "words/list_blocks.hpp"

#include <limits>
#include <stdexcept>

namespace sthash::words {

namespace {

void append_varint(std::vector<uint8_t>& bytes, uint64_t value) {
    for (; value >= 128; value >>= 7) bytes.push_back(static_cast<uint8_t>(value | 128));
    bytes.push_back(static_cast<uint8_t>(value));
}

size_t varint_bytes(uint64_t value) {
    size_t count = 1;
    for (; value >= 128; value >>= 7) ++count;
    return count;
}

uint64_t read_varint(std::span<const uint8_t>& bytes) {
    uint64_t value = 0;
    for (int shift = 0; shift < 63; shift += 7) {
        if (bytes.empty()) break;
        const uint8_t byte = bytes.front();
        bytes = bytes.subspan(1);
        value |= uint64_t{byte & 127u} << shift;
        if (byte < 128) return value;
    }
    throw std::invalid_argument("a block of lists ends within a number");
}

// Calls visit(column, list) for the lists of a block, for as long as it returns true.
template <class Visit>
void each_list(std::span<const uint8_t> block, int32_t first, Visit&& visit) {
    uint64_t next = static_cast<uint32_t>(first);
    while (!block.empty()) {
        const uint64_t column = next + read_varint(block);
        const uint64_t size = read_varint(block);
        if (column > std::numeric_limits<int32_t>::max() || column < next)
            throw std::invalid_argument("a block has a column that is out of range");
        if (size > block.size()) throw std::invalid_argument("a block ends within a list");
        if (!visit(static_cast<int32_t>(column), block.first(size))) return;
        block = block.subspan(size);
        next = column + 1;
    }
}

}  // namespace

PackedPostings pack_blocks(const PackedPostingsView& lists, size_t most) {
    PackedPostings blocks;
    std::vector<uint8_t>& content = blocks.lists.content;
    blocks.lists.offsets.push_back(0);
    size_t start = 0;
    uint64_t next = 0;
    for (size_t i = 0; i < lists.lists.n_rows; ++i) {
        const auto column = static_cast<uint64_t>(lists.columns[i]);
        const auto begin = lists.lists.offsets[i], end = lists.lists.offsets[i + 1];
        const auto size = static_cast<uint64_t>(end - begin);
        const size_t whole = varint_bytes(column - next) + varint_bytes(size) + size;
        if (blocks.columns.empty() || content.size() + whole > start + most) {
            if (!blocks.columns.empty()) blocks.lists.offsets.push_back(static_cast<int64_t>(content.size()));
            start = content.size();
            blocks.columns.push_back(lists.columns[i]);
            next = column;
        }
        append_varint(content, column - next);
        append_varint(content, size);
        content.insert(content.end(), lists.lists.content + begin, lists.lists.content + end);
        next = column + 1;
    }
    if (!blocks.columns.empty()) blocks.lists.offsets.push_back(static_cast<int64_t>(content.size()));
    return blocks;
}

std::optional<std::span<const uint8_t>> list_in_block(std::span<const uint8_t> block, int32_t first, int32_t column) {
    std::optional<std::span<const uint8_t>> found;
    each_list(block, first, [&](int32_t own, std::span<const uint8_t> list) {
        if (own == column) found = list;
        return own < column;
    });
    return found;
}

PackedPostings unpack_block(std::span<const uint8_t> block, int32_t first) {
    PackedPostings lists;
    lists.lists.offsets.push_back(0);
    each_list(block, first, [&](int32_t column, std::span<const uint8_t> list) {
        lists.columns.push_back(column);
        lists.lists.content.insert(lists.lists.content.end(), list.begin(), list.end());
        lists.lists.offsets.push_back(static_cast<int64_t>(lists.lists.content.size()));
        return true;
    });
    return lists;
}

}  // namespace sthash::words
