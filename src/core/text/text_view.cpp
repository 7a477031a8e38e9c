#include "text/text_view.hpp"

#include <algorithm>
#include <iterator>

namespace sthash::text {

namespace {

struct Block {
    uint32_t first, last;
};

// Wide and narrow forms, and joined Latin letters, which people type as plain ones.
constexpr Block kCompatible[] = {{0xFB00, 0xFB06}, {0xFF00, 0xFFEF}};
// Marks that combine with a letter, parts of Hangul, and characters that stand for others.
constexpr Block kDecomposed[] = {
    {0x0300, 0x036F}, {0x0591, 0x05C7}, {0x0610, 0x061A}, {0x064B, 0x065F},  {0x093C, 0x093C}, {0x09BC, 0x09D7},
    {0x0A3C, 0x0A3C}, {0x0B3C, 0x0B57}, {0x0BBE, 0x0BD7}, {0x0C56, 0x0C56},  {0x0CC2, 0x0CD6}, {0x0D3E, 0x0D57},
    {0x0DCA, 0x0DDF}, {0x102E, 0x102E}, {0x1100, 0x11FF}, {0x1F00, 0x1FFF},  {0x2126, 0x212B}, {0x3099, 0x309A},
    {0xA960, 0xA97F}, {0xD7B0, 0xD7FF}, {0xF900, 0xFAFF}, {0x2F800, 0x2FA1F}};

template <class Char>
NormalForm needed(const void* data, size_t length) {
    const auto* const text = static_cast<const Char*>(data);
    const auto in = [](const auto& blocks, uint32_t code) {
        return std::any_of(std::begin(blocks), std::end(blocks),
                           [&](const Block& block) { return block.first <= code && code <= block.last; });
    };
    NormalForm form = NormalForm::same;
    for (size_t at = 0; at < length; ++at) {
        const uint32_t code = text[at];
        if (code < kDecomposed[0].first) continue;
        if (in(kCompatible, code)) return NormalForm::compatible;
        if (form == NormalForm::same && in(kDecomposed, code)) form = NormalForm::composed;
    }
    return form;
}

}  // namespace

NormalForm needed_form(const TextView& text) {
    if (text.width == 2) return needed<uint16_t>(text.data, text.length);
    if (text.width == 4) return needed<uint32_t>(text.data, text.length);
    return NormalForm::same;
}

}  // namespace sthash::text
