#pragma once
#include <string>

namespace reel::test {

/// Counts the test case as skipped and prints why: `if (!there) return skip("needs the file x");`
void skip(const std::string& reason);

}  // namespace reel::test
