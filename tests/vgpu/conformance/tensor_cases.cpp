#include "tests/vgpu/conformance/tensor_cases.h"

#include <algorithm>

#include "tests/vgpu/conformance/operand_values.h"

namespace evo::conformance {
namespace {

using std::string;
using Words = std::vector<std::uint32_t>;
using Coordinates = std::vector<int>;

string number(std::uint64_t value) {
  return std::to_string(value);
}

struct Element {
  string name;
  int bytes;
  Kind kind;
  bool is_float = false;
};
const std::vector<Element> kElements{
    {"u8", 1, Kind::any32},          {"u16", 2, Kind::i16},         {"u32", 4, Kind::i32},
    {"s32", 4, Kind::i32},           {"u64", 8, Kind::i64},         {"s64", 8, Kind::i64},
    {"f16", 2, Kind::f16, true},     {"f32", 4, Kind::f32, true},   {"f32_ftz", 4, Kind::f32, true},
    {"f64", 8, Kind::f64, true},     {"bf16", 2, Kind::bf16, true}, {"tf32", 4, Kind::f32, true},
    {"tf32_ftz", 4, Kind::f32, true}};

const Element& element_of(const string& name) {
  return *std::find_if(kElements.begin(), kElements.end(),
                       [&](const Element& element) { return element.name == name; });
}

Words random_elements(Random& random, const Element& element, std::size_t bytes) {
  Words words;
  for (std::size_t at = 0; at < bytes; at += std::max<std::size_t>(4, static_cast<std::size_t>(element.bytes))) {
    std::uint64_t value = element.bytes == 1 ? random.bits() : random_value(random, element.kind);
    if (element.bytes == 2) value |= random_value(random, element.kind) << 16;
    words.push_back(static_cast<std::uint32_t>(value));
    if (element.bytes == 8) words.push_back(static_cast<std::uint32_t>(value >> 32));
  }
  return words;
}

/// Bytes of the whole tensor, gaps between its rows included.
std::uint64_t bytes_of(const TensorSpec& t) {
  if (t.extents.size() == 1) return t.extents[0] * static_cast<std::uint64_t>(element_of(t.element).bytes);
  return t.extents.back() * t.strides_bytes.back();
}

std::uint64_t row_bytes(const TensorSpec& t) {
  return t.box[0] * static_cast<std::uint64_t>(element_of(t.element).bytes);
}

std::uint64_t rows_of_box(const TensorSpec& t) {
  std::uint64_t rows = 1;
  for (std::size_t i = 1; i < t.box.size(); ++i) rows *= (t.box[i] + t.element_strides[i] - 1) / t.element_strides[i];
  return rows;
}

/// Bytes that a copy moves.
std::uint64_t box_bytes(const TensorSpec& t) {
  return row_bytes(t) * rows_of_box(t);
}

/// Bytes of a box in shared memory. Rows narrower than the swizzle may lie as far apart as it is wide.
std::uint64_t room_of(const TensorSpec& t) {
  return std::max(row_bytes(t), static_cast<std::uint64_t>(t.swizzle_bytes)) * rows_of_box(t);
}

string begin_of(std::uint64_t shared_bytes) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128]) {\n"
         ".reg .b32 t<8>, c<5>, lane; .reg .b64 from, to, tensor, d<4>; .reg .pred p, q, first;\n"
         ".shared .align 1024 .b8 box[" +
         number(shared_bytes) +
         "]; .shared .align 8 .b64 arrived;\n"
         "ld.param.u64 from, [in]; ld.param.u64 to, [out]; mov.b64 tensor, map; cvta.param.u64 tensor, tensor;\n"
         "mov.u32 lane, %tid.x; setp.eq.u32 first, lane, 0;\n";
}

/// All threads together run `body` for each word of `bytes`; t0 is the word's offset.
string for_words(const string& label, std::uint64_t bytes, const string& body) {
  const string end = "end_of_" + label;
  return "shl.b32 t0, lane, 2;\n" + label + ": setp.ge.u32 p, t0, " + number(bytes) + "; @p bra " + end + ";\n" + body +
         "add.u32 t0, t0, 128; bra " + label + ";\n" + end + ":\n";
}

/// {c0, c1}
string coordinate_registers(std::size_t rank) {
  string list = "{";
  for (std::size_t i = 0; i < rank; ++i) list += (i > 0 ? ", c" : "c") + number(i);
  return list + "}";
}

/// Loads the boxes at the given coordinates, one in each block, to `offset` bytes into shared memory.
TensorCase load_case(const string& name, const TensorSpec& t, const std::vector<Coordinates>& coordinates,
                     std::uint64_t offset = 0) {
  Random random{seed_of(name)};
  const std::size_t rank = t.extents.size();
  const std::uint64_t bytes = box_bytes(t), whole = (offset + room_of(t) + 127) / 128 * 128;
  TensorCase result{.test = {}, .tensor = t};
  Case& test = result.test;
  test.name = name;
  test.in = random_elements(random, element_of(t.element), bytes_of(t));
  string ptx = begin_of(whole) + "mov.u32 t2, %ctaid.x; mad.wide.u32 d0, t2, 20, from;\n";
  for (std::size_t i = 0; i < rank; ++i)
    ptx += "ld.global.b32 c" + number(i) + ", [d0+" + number(4 * (test.in.size() + i)) + "];\n";
  // The wait is bounded, and the last word records whether it ended.
  ptx +=
      "mov.u32 t3, box; mov.u32 t4, arrived; mad.wide.u32 to, t2, " + number(whole + 128) + ", to;\n" +
      for_words("fill", whole, "add.u32 t5, t0, t3; st.shared.b32 [t5], 0x5a5a5a5a;\n") +
      "@first mbarrier.init.shared.b64 [t4], 1; fence.mbarrier_init.release.cluster; fence.proxy.async; bar.sync 0;\n"
      "add.u32 t5, t3, " +
      number(offset) + "; @first mbarrier.arrive.expect_tx.shared.b64 _, [t4], " + number(bytes) +
      ";\n"
      "@first cp.async.bulk.tensor." +
      number(rank) + "d.shared::cluster.global.mbarrier::complete_tx::bytes [t5], [tensor, " +
      coordinate_registers(rank) +
      "], [t4];\nmov.b32 t6, 0;\n"
      "wait: mbarrier.test_wait.parity.shared.b64 q, [t4], 0; add.u32 t6, t6, 1; setp.lt.u32 p, t6, 20000; @q bra "
      "done; @p bra wait;\ndone: bar.warp.sync 0xffffffff; bar.sync 0;\n" +
      for_words("copy", whole,
                "add.u32 t5, t0, t3; ld.shared.b32 t1, [t5]; cvt.u64.u32 d1, t0; add.u64 d1, to, d1; st.global.b32 "
                "[d1], t1;\n") +
      "selp.u32 t1, 1, 0, q; mad.wide.u32 d1, lane, 4, to; st.global.b32 [d1+" + number(whole) + "], t1;\nret;\n}\n";
  test.ptx = ptx;
  for (const Coordinates& at : coordinates)
    for (std::size_t i = 0; i < 5; ++i) test.in.push_back(i < at.size() ? static_cast<std::uint32_t>(at[i]) : 0);
  test.blocks = static_cast<std::uint32_t>(coordinates.size());
  test.threads = 32;
  test.out_words = coordinates.size() * (whole + 128) / 4;
  return result;
}

/// Stores a box of shared memory to the given coordinates, one after another. `reduction` is ".add" or empty.
TensorCase store_case(const string& name, const TensorSpec& t, const std::vector<Coordinates>& coordinates,
                      const string& reduction = "") {
  Random random{seed_of(name)};
  const std::size_t rank = t.extents.size();
  const std::uint64_t bytes = room_of(t), whole = bytes_of(t);
  TensorCase result{.test = {}, .tensor = t, .written = true};
  Case& test = result.test;
  test.name = name;
  test.in = random_elements(random, element_of(t.element), whole);
  const Words image = random_elements(random, element_of(t.element), bytes);
  string ptx = begin_of(bytes) + "mov.u32 t3, box;\n" +
               for_words("keep", whole,
                         "cvt.u64.u32 d1, t0; add.u64 d2, from, d1; ld.global.b32 t1, [d2]; add.u64 d2, to, d1; "
                         "st.global.b32 [d2], t1;\n") +
               for_words("fill", bytes,
                         "cvt.u64.u32 d1, t0; add.u64 d2, from, d1; ld.global.b32 t1, [d2+" + number(whole) +
                             "]; add.u32 t5, t0, t3; st.shared.b32 [t5], t1;\n") +
               "fence.proxy.async; bar.sync 0;\n";
  for (const Coordinates& at : coordinates) {
    for (std::size_t i = 0; i < rank; ++i) ptx += "mov.b32 c" + number(i) + ", " + std::to_string(at[i]) + "; ";
    ptx += "\n@first cp" + string(reduction.empty() ? "" : ".reduce") + ".async.bulk.tensor." + number(rank) +
           "d.global.shared::cta" + reduction + ".tile.bulk_group [tensor, " + coordinate_registers(rank) +
           "], [t3];\n@first cp.async.bulk.commit_group;\n@first cp.async.bulk.wait_group 0;\n";
  }
  test.ptx = ptx + "ret;\n}\n";
  test.in.insert(test.in.end(), image.begin(), image.end());
  test.threads = 32;
  test.out_words = whole / 4;
  return result;
}

/// Rows of 88 bytes, 112 apart.
TensorSpec rows_of(const Element& element) {
  const auto size = static_cast<std::uint64_t>(element.bytes);
  return {.element = element.name,
          .extents = {88 / size, 9},
          .strides_bytes = {112},
          .box = {static_cast<std::uint32_t>(64 / size), 6},
          .element_strides = {1, 1}};
}

/// A box must begin at a multiple of 16 bytes; a GPU reports any other coordinate as an illegal instruction.
std::vector<Coordinates> from_sixteen_bytes(std::vector<Coordinates> all, const string& element) {
  for (Coordinates& at : all) at[0] *= 16 / element_of(element).bytes;
  return all;
}

std::vector<Coordinates> of_rows(const string& element) {
  return from_sixteen_bytes({{0, 0}, {2, 5}, {-3, -2}, {200, 200}, {1, 7}, {-100, 3}}, element);
}

/// A tensor of u16 of up to five dimensions.
TensorSpec ranked(std::size_t rank) {
  constexpr std::array<std::uint64_t, 5> kExtents{20, 5, 4, 3, 3};
  constexpr std::array<std::uint32_t, 5> kBox{16, 3, 2, 2, 2};
  TensorSpec t{.element = "u16", .extents = {}, .strides_bytes = {}, .box = {}, .element_strides = {}};
  std::uint64_t stride = 48;
  for (std::size_t i = 0; i < rank; ++i) {
    t.extents.push_back(kExtents[i]);
    t.box.push_back(kBox[i]);
    t.element_strides.push_back(1);
    if (i == 0) continue;
    t.strides_bytes.push_back(stride);
    stride *= kExtents[i];
    if (i == 1) stride += 16;
  }
  return t;
}

std::vector<Coordinates> coordinates_of(std::size_t rank) {
  std::vector<Coordinates> all;
  for (const Coordinates& at : {Coordinates{0, 0, 0, 0, 0}, Coordinates{8, 3, 2, 1, 1}, Coordinates{-8, -1, -1, -1, -1},
                                Coordinates{16, 4, 3, 2, 2}, Coordinates{0, -2, 1, 0, 2}})
    all.push_back(Coordinates(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(rank)));
  return all;
}

/// The coordinates without negative ones: stores to those are separate cases.
std::vector<Coordinates> not_negative(std::vector<Coordinates> all) {
  std::erase_if(all,
                [](const Coordinates& at) { return std::ranges::any_of(at, [](std::int32_t c) { return c < 0; }); });
  return all;
}

/// f16 in three dimensions, with rows of the box as wide as the swizzle or half of that.
TensorSpec swizzled(int swizzle_bytes, bool half) {
  return {.element = "f16",
          .extents = {80, 7, 5},
          .strides_bytes = {176, 1248},
          .box = {static_cast<std::uint32_t>(swizzle_bytes / (half ? 4 : 2)), 5, 3},
          .element_strides = {1, 1, 1},
          .swizzle_bytes = swizzle_bytes};
}

const std::vector<Coordinates> kOfSwizzled{{0, 0, 0}, {16, 3, 3}, {-8, -2, -1}};

const std::vector<std::vector<std::uint32_t>> kSteps{{1, 2}, {1, 3}, {2, 1}, {2, 2}, {1, 8}};

string text_of(const std::vector<std::uint32_t>& numbers) {
  string text;
  for (const std::uint32_t n : numbers) text += (text.empty() ? "" : ",") + number(n);
  return text;
}

void add_loads(std::vector<TensorCase>& cases) {
  for (const Element& element : kElements)
    for (const bool nan : {false, true}) {
      if (nan && !element.is_float) continue;
      TensorSpec t = rows_of(element);
      t.fills_with_nan = nan;
      cases.push_back(load_case("load " + element.name + (nan ? ", NaN outside" : ""), t, of_rows(element.name)));
    }
  for (std::size_t rank = 1; rank <= 5; ++rank)
    cases.push_back(load_case("load of rank " + number(rank), ranked(rank), coordinates_of(rank)));
  for (const int swizzle : {32, 64, 128})
    for (const bool half : {false, true})
      for (const int offset : {0, 128, 384})
        cases.push_back(load_case(
            "load, swizzle " + std::to_string(swizzle) + (half ? ", half rows" : "") + ", at " + std::to_string(offset),
            swizzled(swizzle, half), kOfSwizzled, static_cast<std::uint64_t>(offset)));
  for (const auto& steps : kSteps)
    for (const string name : {"f16", "f32"}) {
      TensorSpec t = rows_of(element_of(name));
      t.element_strides = steps;
      cases.push_back(load_case("load " + name + ", steps " + text_of(steps), t, of_rows(name)));
    }
}

void add_stores(std::vector<TensorCase>& cases) {
  for (std::size_t rank = 1; rank <= 5; ++rank)
    cases.push_back(store_case("store of rank " + number(rank), ranked(rank), not_negative(coordinates_of(rank))));
  for (const int swizzle : {32, 64, 128})
    for (const bool half : {false, true})
      cases.push_back(store_case("store, swizzle " + std::to_string(swizzle) + (half ? ", half rows" : ""),
                                 swizzled(swizzle, half), {{0, 0, 0}, {16, 3, 3}}));
  for (const auto& steps : kSteps) {
    TensorSpec t = rows_of(element_of("f16"));
    t.element_strides = steps;
    cases.push_back(store_case("store f16, steps " + text_of(steps), t, from_sixteen_bytes({{0, 0}, {3, 5}}, "f16")));
  }
  const std::vector<std::pair<string, Coordinates>> outside{
      {"before the first row", {0, -2}},    {"before the first row, far", {0, -80}},
      {"before the first column", {-8, 0}}, {"before the first column, far", {-800, 0}},
      {"beyond the last row", {0, 8}},      {"beyond the last row, far", {0, 80}},
      {"beyond the last column", {40, 0}},  {"beyond the last column, far", {800, 0}}};
  for (const auto& [where, at] : outside)
    cases.push_back(store_case("store " + where, rows_of(element_of("f16")), {at}));
  for (const string name : {"f32_ftz", "tf32", "tf32_ftz", "u8", "f64"})
    cases.push_back(store_case("store " + name, rows_of(element_of(name)), from_sixteen_bytes({{0, 0}, {3, 5}}, name)));
}

void add_reductions(std::vector<TensorCase>& cases) {
  const auto add = [&](const string& operation, const string& element) {
    cases.push_back(store_case("reduce " + operation + " " + element, rows_of(element_of(element)),
                               not_negative(of_rows(element)), "." + operation));
  };
  for (const string element : {"u32", "s32", "u64", "f32", "f32_ftz", "f16", "bf16"}) add("add", element);
  for (const string operation : {"min", "max"})
    for (const string element : {"u32", "s32", "u64", "s64", "f16", "bf16"}) add(operation, element);
  for (const string operation : {"inc", "dec"}) add(operation, "u32");
  for (const string operation : {"and", "or", "xor"})
    for (const string element : {"u32", "u64"}) add(operation, element);
}

}  // namespace

std::vector<TensorCase> tensor_cases() {
  std::vector<TensorCase> cases;
  add_loads(cases);
  add_stores(cases);
  add_reductions(cases);
  return cases;
}

}  // namespace evo::conformance
