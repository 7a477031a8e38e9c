// A text as Python holds it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sthash::text {

// The caller keeps it alive.
struct TextView {
    const void* data;
    size_t length;  // characters
    int width;      // bytes per character: 1, 2 or 4
};

// The normal form of Unicode that a text must be brought to before it is scanned: none, NFC or NFKC.
enum class NormalForm : uint8_t { same, composed, compatible };

NormalForm needed_form(const TextView& text);

}  // namespace sthash::text
