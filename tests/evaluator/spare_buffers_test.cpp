#include "evaluator/base/spare_buffers.h"

#include <catch2/catch_test_macros.hpp>
#include <utility>

using namespace evo;

namespace {

constexpr std::size_t kMiB = 1 << 20;

}  // namespace

TEST_CASE("a large buffer that was kept is used again for as many bytes or some fewer") {
  SpareBuffers spares(256 * kMiB);
  std::vector<std::byte> buffer(40 * kMiB, std::byte{7});
  const std::byte* memory = buffer.data();
  spares.keep(std::move(buffer));
  CHECK(spares.take(41 * kMiB).data() != memory);
  CHECK(spares.take(19 * kMiB).data() != memory);  // It would hold more than twice as much.
  const std::vector<std::byte> again = spares.take(21 * kMiB);
  CHECK(again.data() == memory);
  CHECK(again.size() == 21 * kMiB);
  CHECK(again.back() == std::byte{7});  // nothing was cleared
  CHECK(spares.take(21 * kMiB).data() != memory);
}

TEST_CASE("the latest buffers are kept, up to the limit, and no small ones") {
  SpareBuffers spares(100 * kMiB);
  std::vector<std::byte> small(kMiB), oldest(50 * kMiB), middle(60 * kMiB), latest(30 * kMiB), too_large(101 * kMiB);
  const std::byte* const first = oldest.data();
  const std::byte* const second = middle.data();
  const std::byte* const third = latest.data();
  const std::byte* const whole = too_large.data();
  for (std::vector<std::byte>* each : {&small, &oldest, &middle, &latest, &too_large}) spares.keep(std::move(*each));
  const std::vector<std::byte> fifty = spares.take(50 * kMiB), thirty = spares.take(30 * kMiB);
  const std::vector<std::byte> hundred = spares.take(100 * kMiB);
  CHECK(fifty.data() == second);
  CHECK(thirty.data() == third);
  CHECK(hundred.data() != whole);
  CHECK(hundred.data() != first);
}
