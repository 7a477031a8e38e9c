// Term counts as bytes: what is packed is unpacked again, and bytes of strangers do no harm.
#include "words/counts.hpp"

#include "check.hpp"

using namespace sthash;
using namespace sthash::words;
using namespace sthash::test;

namespace {

constexpr int64_t kColumns = 100000;

void check_round_trip(int threads) {
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> columns, counts;
    for (int row = 0; row < 200; ++row) {
        int64_t column = static_cast<int64_t>(draw(3));
        for (size_t left = draw(60); left > 0 && column < kColumns; --left) {
            columns.push_back(static_cast<int32_t>(column));
            counts.push_back(draw(3) > 0 ? 1 : 1 + static_cast<int32_t>(draw(draw(2) == 0 ? 4 : 2147483647)));
            column += 1 + static_cast<int64_t>(draw(draw(4) == 0 ? 20000 : 90));
        }
        indptr.push_back(static_cast<int64_t>(columns.size()));
    }
    StopFlag stop{false};
    const CountsView view{indptr.data(), columns.data(), counts.data(), indptr.size() - 1, columns.size()};
    view.check(kColumns);
    const PackedPieces packed = pack_counts(view, threads, stop);
    const UnpackedCounts again =
        unpack_counts({packed.content.data(), packed.content.size(), packed.offsets.data(), indptr.size() - 1},
                      kColumns, threads, stop);
    check(again.indptr == indptr && again.columns == columns && again.counts == counts, "packed counts");
}

// Whatever the bytes are, they are read or refused; what is read is packed to the same bytes.
void check_strangers() {
    StopFlag stop{false};
    size_t read = 0;
    for (int round = 0; round < 3000; ++round) {
        std::vector<uint8_t> content(draw(12));
        for (uint8_t& byte : content) byte = static_cast<uint8_t>(draw(draw(2) == 0 ? 256 : 8));
        const std::vector<int64_t> offsets{0, static_cast<int64_t>(content.size())};
        try {
            const UnpackedCounts rows = unpack_counts({content.data(), content.size(), offsets.data(), 1}, 50, 1, stop);
            const CountsView view{rows.indptr.data(), rows.columns.data(), rows.counts.data(), 1, rows.columns.size()};
            view.check(50);
            check(pack_counts(view, 1, stop).content == content, "bytes of strangers");
            ++read;
        } catch (const std::invalid_argument&) {
        }
    }
    check(read > 100 && read < 2900, "share of bytes that can be read");
}

}  // namespace

void test_counts() {
    check_round_trip(1);
    check_round_trip(3);
    check_strangers();
}
