#include "words/counts.hpp"

namespace sthash::words {

namespace {

constexpr size_t kRowsAtOnce = 1024;

[[noreturn]] void refuse_row(size_t row, const std::string& why) {
    throw std::invalid_argument("Row " + std::to_string(row) + " of the counts is malformed: " + why +
                                ". Restore it from a backup or build it again.");
}

PairReader reader_of(const PackedPiecesView& packed, size_t row, int64_t n_columns) {
    const int64_t begin = packed.offsets[row], end = packed.offsets[row + 1];
    if (begin < 0 || begin > end || end > static_cast<int64_t>(packed.size))
        throw std::invalid_argument("its offsets are out of range");
    return {packed.content + begin, packed.content + end, n_columns};
}

// The smallest row that any thread found malformed.
class FirstBad {
 public:
    void found(size_t row) {
        for (size_t before = row_.load(); row < before && !row_.compare_exchange_weak(before, row);) {
        }
    }
    bool any() const { return row_.load() != kNone; }
    size_t row() const { return row_.load(); }

 private:
    static constexpr size_t kNone = std::numeric_limits<size_t>::max();
    std::atomic<size_t> row_{kNone};
};

}  // namespace

void CountsView::check(int64_t n_columns) const {
    if (indptr[0] < 0) refuse_row(0, "it begins before the first column");
    for (size_t row = 0; row < n_rows; ++row) {
        const int64_t begin = indptr[row], end = indptr[row + 1];
        if (begin > end || end > static_cast<int64_t>(size)) refuse_row(row, "its columns are out of range");
        int64_t last = -1;
        for (int64_t at = begin; at < end; ++at) {
            if (columns[at] <= last) refuse_row(row, "its columns do not ascend from 0 on");
            if (columns[at] >= n_columns) refuse_row(row, "it has a column too many");
            if (counts[at] < 1) refuse_row(row, "it has a count below 1");
            last = columns[at];
        }
    }
}

PackedPieces pack_counts(const CountsView& rows, int threads, StopFlag& stop) {
    rows.check(std::numeric_limits<int64_t>::max());
    PackedPieces packed;
    packed.offsets.resize(rows.n_rows + 1);
    const auto write_row = [&](size_t row, uint8_t* at) {
        PairWriter writer(at);
        for (int64_t i = rows.indptr[row]; i < rows.indptr[row + 1]; ++i) writer.write(rows.columns[i], rows.counts[i]);
        return static_cast<int64_t>(writer.size());
    };
    parallel_for(rows.n_rows, kRowsAtOnce, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row) packed.offsets[row + 1] = write_row(row, nullptr);
    });
    for (size_t row = 0; row < rows.n_rows; ++row) packed.offsets[row + 1] += packed.offsets[row];
    packed.content.resize(static_cast<size_t>(packed.offsets.back()));
    parallel_for(rows.n_rows, kRowsAtOnce, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row) write_row(row, packed.content.data() + packed.offsets[row]);
    });
    return packed;
}

UnpackedCounts unpack_counts(const PackedPiecesView& packed, int64_t n_columns, int threads, StopFlag& stop) {
    n_columns = std::min<int64_t>(n_columns, std::numeric_limits<int32_t>::max());
    UnpackedCounts rows;
    rows.indptr.resize(packed.n_rows + 1);
    FirstBad bad;
    parallel_for(packed.n_rows, kRowsAtOnce, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row) try {
                PairReader reader = reader_of(packed, row, n_columns);
                while (reader.next()) ++rows.indptr[row + 1];
            } catch (const std::invalid_argument&) {
                return bad.found(row);
            }
    });
    if (bad.any()) try {
            PairReader reader = reader_of(packed, bad.row(), n_columns);
            while (reader.next()) {
            }
        } catch (const std::invalid_argument& error) {
            refuse_row(bad.row(), error.what());
        }
    if (stop.load()) return rows;
    for (size_t row = 0; row < packed.n_rows; ++row) rows.indptr[row + 1] += rows.indptr[row];
    rows.columns.resize(static_cast<size_t>(rows.indptr.back()));
    rows.counts.resize(rows.columns.size());
    parallel_for(packed.n_rows, kRowsAtOnce, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row) {
            PairReader reader = reader_of(packed, row, n_columns);
            for (auto at = static_cast<size_t>(rows.indptr[row]); reader.next(); ++at) {
                rows.columns[at] = static_cast<int32_t>(reader.number);
                rows.counts[at] = reader.count;
            }
        }
    });
    return rows;
}

}  // namespace sthash::words
