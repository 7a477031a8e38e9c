// What libFuzzer calls: bytes from nowhere go to everything in the core that reads bytes which nobody has checked. The
// first byte says to which. Whatever is wrong with them must end in an exception; `make libfuzzer` runs it, with
// coverage, under the address and undefined-behavior sanitizers.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <span>

#include "hamming/checksum.hpp"
#include "hamming/file.hpp"
#include "hamming/index.hpp"
#include "join/shingles.hpp"
#include "join/wording.hpp"
#include "text/forms.hpp"
#include "text/scanner.hpp"
#include "words/counts.hpp"
#include "words/posting_list.hpp"

using namespace sthash;

namespace {

using Bytes = std::span<const uint8_t>;

struct Descriptor {
    int number = memfd_create("index", 0);
    ~Descriptor() { close(number); }
};

// The file of an index: the bytes are the header, then codes and ids. Magic, version and checksums are made right, and
// mostly what the header says of the length, too, or nothing else would be tested.
void read_index(Bytes bytes, bool map) {
    using namespace hamming;
    constexpr size_t kHeader = 4096;
    FileHeader header{};
    std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
    Bytes body = bytes.size() > sizeof header ? bytes.subspan(sizeof header) : Bytes{};
    if (header.magic[0] % 4 != 0) {
        header.n_bits = 1 + header.n_bits % 256;
        header.has_ids %= 2;
        const size_t row = (header.n_bits + 63) / 64 * 8 + 8 * header.has_ids;
        header.count = body.size() / row;
        body = body.first(header.count * row);
    }
    std::memcpy(header.magic, "STHHAMIX", 8);
    header.version = 1;
    const size_t codes = header.count > 4096 ? 0 : header.count * ((header.n_bits % 2048 + 63) / 64) * 8;
    const Bytes own = body.first(std::min(codes, body.size())), rest = body.subspan(own.size());
    header.codes_checksum = Checksum::of(own.data(), own.size());
    header.ids_checksum = Checksum::of(rest.data(), rest.size());
    std::vector<uint8_t> content(kHeader);
    std::memcpy(content.data(), &header, sizeof header);
    const uint64_t sum = Checksum::of(content.data(), kHeader - 8);
    std::memcpy(content.data() + kHeader - 8, &sum, 8);
    content.insert(content.end(), body.begin(), body.end());
    const Descriptor file;
    if (write(file.number, content.data(), content.size()) != static_cast<ssize_t>(content.size())) return;
    const auto opened = std::make_shared<const MappedFile>(file.number, map, "index");
    Index index(open_snapshot(opened), Strategy::automatic);
    const std::vector<uint64_t> query((header.n_bits + 63) / 64);
    StopFlag stop{false};
    const Request request{Task::nearest, 3, static_cast<int>(header.n_bits), query.data(), 1, 1, index.strategy()};
    index.search(request, std::nullopt, stop, [](size_t, Collector&) {});
}

// Term counts, as rows of documents and as the lists of terms.
void read_counts(Bytes bytes) {
    if (bytes.empty()) return;
    const int64_t limit = int64_t{1} << (bytes[0] % 32), cut = bytes.size() > 1 ? bytes[1] : 0;
    const Bytes body = bytes.subspan(std::min<size_t>(2, bytes.size()));
    const int64_t size = static_cast<int64_t>(body.size()), middle = std::min(cut, size);
    const int64_t offsets[] = {0, middle, size};
    StopFlag stop{false};
    const words::UnpackedCounts rows = words::unpack_counts({body.data(), body.size(), offsets, 2}, limit, 1, stop);
    words::PostingList list;
    for (int64_t i = rows.indptr[0]; i < rows.indptr[1]; ++i)
        if (!list.append(rows.columns[i], rows.counts[i])) __builtin_trap();  // columns ascend within a row
    list.close();
    size_t seen = 0;
    list.each([&](int32_t position, int32_t count) {
        const size_t at = static_cast<size_t>(rows.indptr[0]) + seen++;
        if (rows.columns[at] != position || rows.counts[at] != count) __builtin_trap();
    });
    // There is one way to write counts: what was read comes out again as it was.
    const words::CountsView view{rows.indptr.data(), rows.columns.data(), rows.counts.data(), 2, rows.columns.size()};
    if (words::pack_counts(view, 1, stop).content != std::vector<uint8_t>(body.begin(), body.end())) __builtin_trap();
}

// Texts as Python holds them: one, two or four bytes per character.
void read_texts(Bytes bytes, int width) {
    const size_t length = bytes.size() / static_cast<size_t>(width);
    std::vector<uint32_t> wide((bytes.size() + 3) / 4 + 1);
    std::memcpy(wide.data(), bytes.data(), bytes.size());
    if (width == 4)
        for (uint32_t& character : wide) character %= 0x110000;
    const size_t half = length / 2;
    const auto* start = reinterpret_cast<const uint8_t*>(wide.data());
    const std::vector<text::TextView> texts{{start, half, width}, {start + half * width, length - half, width}};
    StopFlag stop{false};
    text::WordTable table;
    const text::ScannedTexts scanned = text::scan_texts(texts, table, 1, stop);
    for (const int32_t word : scanned.words)
        if (word < 0 || static_cast<size_t>(word) >= table.size()) __builtin_trap();
    text::count_forms(texts, {}, {}, 1, stop);
    text::forms_of(texts[0]);
    const join::Wording wording = join::wording_of(texts, 1, stop);
    if (wording.indptr.back() != static_cast<int64_t>(wording.items.size())) __builtin_trap();
    text::needed_form(texts[1]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const Bytes bytes(data + 1, size - 1);
    try {
        switch (data[0] % 6) {
            case 0:
                read_index(bytes, false);
                break;
            case 1:
                read_index(bytes, true);
                break;
            case 2:
                read_counts(bytes);
                break;
            default:
                read_texts(bytes, 1 << (data[0] % 6 - 3));
        }
    } catch (const hamming::FileError&) {
    } catch (const std::invalid_argument&) {
    }
    return 0;
}
