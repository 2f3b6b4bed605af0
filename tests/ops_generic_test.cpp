// One test for all ops: walks AllOps. A new op without samples does not compile.
#include "reel/autograd/op_list.h"
#include "reel/tests/samples/all.h"
#include "reel/tests/support/catch.h"
#include "reel/tests/support/op_checks.h"

using namespace reel;
using namespace reel::test;

namespace {

template <class... T>
std::vector<Sample> collect(TypeList<T...>) {
  std::vector<Sample> all;
  const auto add = [&](std::vector<Sample> s) { all.insert(all.end(), s.begin(), s.end()); };
  (add(Samples<T>::list()), ...);
  return all;
}
const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = collect(AllOps{});
  return all;
}

template <class Check>
void all_pass(const Check& check_sample) {
  REQUIRE(samples().size() > 100);
  for (const Sample& s : samples()) {
    INFO(s.op->info().name);
    try {
      for (const std::string& fault : check_sample(s)) FAIL_CHECK(fault);
    } catch (const std::exception& e) {
      FAIL_CHECK(s.op->info().name << " threw: " << e.what());
    }
  }
}

}  // namespace

TEST_CASE("every op describes itself", "[ops]") {
  all_pass(check_description);
}
TEST_CASE("every op equals its reference in f64", "[ops]") {
  all_pass([](const Sample& s) { return check_values(s, DType::f64); });
}
TEST_CASE("every op equals its reference in f32", "[ops]") {
  all_pass([](const Sample& s) { return check_values(s, DType::f32); });
}
TEST_CASE("every op equals its reference in f16", "[ops]") {
  all_pass([](const Sample& s) { return check_values(s, DType::f16); });
}
TEST_CASE("every op equals its reference in bf16", "[ops]") {
  all_pass([](const Sample& s) { return check_values(s, DType::bf16); });
}
TEST_CASE("every op takes any strides in f64", "[ops]") {
  all_pass([](const Sample& s) { return check_layouts(s, DType::f64); });
}
TEST_CASE("every op takes any strides in f32", "[ops]") {
  all_pass([](const Sample& s) { return check_layouts(s, DType::f32); });
}
TEST_CASE("every gradient equals central differences", "[ops][gradients]") {
  all_pass(check_gradients);
}
TEST_CASE("every gradient in f32, f16 and bf16 equals that in f64", "[ops][gradients]") {
  for (const DType d : {DType::f32, DType::f16, DType::bf16})
    all_pass([d](const Sample& s) { return check_gradients_narrow(s, d); });
}
TEST_CASE("second derivatives are right or refused", "[ops][gradients]") {
  all_pass(check_second_gradients);
}
