// Runs the tests that are named as arguments, or all of them, on every SIMD path of this machine.
#include <algorithm>
#include <string_view>

#include "check.hpp"

namespace {

struct Test {
    std::string_view name;
    void (*run)();
};

constexpr Test kTests[] = {{"rows", test_rows},
                           {"text", test_text},
                           {"graph", test_graph},
                           {"svm", test_svm},
                           {"projection", test_projection},
                           {"counts", test_counts},
                           {"postings", test_postings},
                           {"ranking", test_ranking},
                           {"hamming", test_hamming},
                           {"approximate", test_approximate},
                           {"embeddings", test_embeddings},
                           {"join", test_join},
                           {"corpus", test_corpus}};

}  // namespace

int main(int count, char** arguments) {
    bool known = count == 1;
    for (const Test& test : kTests) {
        const bool named = std::any_of(arguments + 1, arguments + count, [&](char* name) { return test.name == name; });
        known = known || named;
        if (count > 1 && !named) continue;
        std::string paths;
        for (const sthash::SimdPath path : sthash::available_paths()) {
            sthash::active_path() = path;
            sthash::test::generator.seed(2010);
            test.run();
            paths += std::string(" ") + sthash::name_of(path);
        }
        std::printf("%s:%s\n", test.name.data(), paths.c_str());
    }
    return known ? 0 : 2;
}
