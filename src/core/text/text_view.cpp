#include "text/text_view.hpp"

#include <algorithm>
#include <iterator>

#include "text/characters.hpp"

namespace sthash::text {

namespace {

template <class Char>
NormalForm needed(const void* data, size_t length) {
    constexpr uint32_t kFirst = unicode::kNormalForms[0].first;
    const Characters& characters = Characters::instance();
    const auto* const text = static_cast<const Char*>(data);
    NormalForm form = NormalForm::same;
    for (size_t at = 0; at < length; ++at)
        if (text[at] >= kFirst) form = std::max(form, characters.normal_form(text[at]));
    return form;
}

}  // namespace

NormalForm needed_form(const TextView& text) {
    if (text.width == 2) return needed<uint16_t>(text.data, text.length);
    if (text.width == 4) return needed<uint32_t>(text.data, text.length);
    return NormalForm::same;
}

}  // namespace sthash::text
