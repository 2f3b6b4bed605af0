#pragma once
// The test framework, version 2 (Debian 12) or 3. Both know the macros used here.
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <catch2/matchers/catch_matchers_vector.hpp>
namespace Catch::Matchers {
inline auto Contains(const std::string& part) {
  return ContainsSubstring(part);
}  // its name in version 2
}  // namespace Catch::Matchers
#else
#include <catch2/catch.hpp>
#endif

#include "reel/tests/support/skip.h"
