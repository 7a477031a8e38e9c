// Term counts of documents as bytes: in a row per document, and in a list per term. Both are pairs of a number (a
// column, or the id of a document) and a count, by ascending number. A pair is
//   varint(2 × gap + more), and varint(count - 2) if more
// where the gap is the number minus the one before minus 1 (minus 0 for the first), and `more` says that the count is
// above 1. A varint has seven bits per byte, the lowest first; all bytes but the last have bit 7; there is one way to
// write each number. The bytes may come from an untrusted file: whatever is wrong with them throws
// std::invalid_argument, and no more memory is taken than they fill.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "parallel.hpp"

namespace sthash::words {

// Rows of counts as Python hands them over; the caller owns the arrays. Row i has columns[indptr[i]:indptr[i + 1]].
struct CountsView {
    const int64_t* indptr;  // n_rows + 1
    const int32_t* columns;
    const int32_t* counts;
    size_t n_rows, size;  // `size` columns and as many counts

    // Throws unless all rows lie within the arrays, columns ascend in each and are below n_columns, and counts are
    // at least 1.
    void check(int64_t n_columns) const;
};

// Pieces of bytes, one after the other: piece i is content[offsets[i]:offsets[i + 1]].
struct PackedPieces {
    std::vector<uint8_t> content;
    std::vector<int64_t> offsets;
};

// Compressed sparse rows of counts.
struct UnpackedCounts {
    std::vector<int64_t> indptr;
    std::vector<int32_t> columns, counts;
};

// One piece per row.
PackedPieces pack_counts(const CountsView& rows, int threads, StopFlag& stop);

// The caller owns the arrays: `size` bytes, and n_rows + 1 offsets into them.
struct PackedPiecesView {
    const uint8_t* content;
    size_t size;
    const int64_t* offsets;
    size_t n_rows;
};

// The opposite. The message of an error names the first row that is malformed.
UnpackedCounts unpack_counts(const PackedPiecesView& packed, int64_t n_columns, int threads, StopFlag& stop);

// Writes pairs, after one with the number `last`. A first round with `at` null measures the bytes.
class PairWriter {
 public:
    static constexpr size_t kMostBytes = 15;  // of a pair

    explicit PairWriter(uint8_t* at, int64_t last = -1) : at_(at), last_(last) {}

    void write(int64_t number, int32_t count) {
        const auto gap = static_cast<uint64_t>(number - last_ - 1);
        last_ = number;
        write_varint(2 * gap + (count > 1));
        if (count > 1) write_varint(static_cast<uint64_t>(count - 2));
    }

    size_t size() const { return size_; }

 private:
    void write_byte(uint64_t byte) {
        if (at_ != nullptr) at_[size_] = static_cast<uint8_t>(byte);
        ++size_;
    }

    void write_varint(uint64_t value) {
        for (; value >= 128; value >>= 7) write_byte(value | 128);
        write_byte(value);
    }

    uint8_t* at_;
    size_t size_ = 0;
    int64_t last_;
};

// Reads pairs from bytes that nobody has checked.
class PairReader {
 public:
    // Numbers must be below `limit`.
    PairReader(const uint8_t* begin, const uint8_t* end, int64_t limit)
        : at_(begin), end_(end), limit_(std::max<int64_t>(limit, 0)) {}

    // Reads the next pair; false at the end.
    bool next() {
        if (at_ == end_) return false;
        const uint64_t first = varint();
        const uint64_t gap = first / 2;
        if (gap >= static_cast<uint64_t>(limit_ - (number + 1))) throw std::invalid_argument("a number is too large");
        number += static_cast<int64_t>(gap) + 1;
        count = 1;
        if (first % 2 != 0) {
            const uint64_t more = varint();
            if (more > std::numeric_limits<int32_t>::max() - 2) throw std::invalid_argument("a count is too large");
            count = static_cast<int32_t>(more) + 2;
        }
        return true;
    }

    int64_t number = -1;
    int32_t count = 0;

 private:
    uint64_t varint() {
        if (at_ != end_ && *at_ < 128) return *at_++;
        uint64_t value = 0;
        for (int shift = 0;; shift += 7) {
            if (at_ == end_) throw std::invalid_argument("it ends within a number");
            const uint64_t byte = *at_++;
            if (shift == 63 && byte > 1) throw std::invalid_argument("a number is too large");
            value |= (byte & 127) << shift;
            if (byte < 128) {
                if (byte == 0 && shift > 0) throw std::invalid_argument("a number is longer than it needs to be");
                return value;
            }
        }
    }

    const uint8_t *at_, *end_;
    int64_t limit_;
};

}  // namespace sthash::words
