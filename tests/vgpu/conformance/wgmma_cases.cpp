#include "tests/vgpu/conformance/wgmma_cases.h"

#include "tests/vgpu/conformance/matrix_probe.h"
#include "tests/vgpu/element_format.h"

namespace evo::conformance {
namespace {

constexpr int kThreads = 128;
constexpr int kRowsOfA = 64;
constexpr std::uint32_t kRowBytes = 32;  ///< Of a K-major operand of one step, dense.

/// The matrices of one step. `k` counts stored elements: half of the summed ones for a sparse A.
struct Operands {
  Format fa, fb, fc;
  int ka = 0, kb = 0, n = 0;
  std::vector<std::uint32_t> a, b, c;

  std::uint32_t& a_at(int row, int k) { return a[static_cast<std::size_t>(row * ka + k)]; }
  std::uint32_t& b_at(int column, int k) { return b[static_cast<std::size_t>(column * kb + k)]; }
  std::uint32_t& c_at(int row, int column) { return c[static_cast<std::size_t>(row * n + column)]; }
};

constexpr Probe kProbes[] = {Probe::near_one, Probe::wide,        Probe::one_big,  Probe::cancelling,
                             Probe::big_c,    Probe::cancelled_c, Probe::smallest, Probe::largest,
                             Probe::specials, Probe::any_bits,    Probe::one_sign, Probe::normal};

std::uint32_t between(Random& r, const Format& f, int low, int high) {
  const std::uint32_t fraction = r.bits();
  const int exponent = r.between(low, high);
  return f.make(r.coin(), exponent, fraction);
}

std::uint32_t positive_between(Random& r, const Format& f, int low, int high) {
  const std::uint32_t fraction = r.bits();
  return f.make(false, r.between(low, high), fraction);
}

void fill(std::vector<std::uint32_t>& to, Random& r, const Format& f, int low, int high) {
  for (auto& element : to) element = low > high ? 0 : between(r, f, low, high);
}

void fill_any(std::vector<std::uint32_t>& to, Random& r, const Format& f) {
  for (auto& element : to) element = r.bits() & f.mask();
}

/// Of the integers of 32 bits.
std::uint32_t near_an_end(Random& r) {
  const std::uint32_t end = r.coin() ? 0x7fffff00u : 0x80000100u;
  return end + r.bits() % 512;
}

void probe(Operands& o, Random& r, Probe how) {
  if (o.fa.exponent_bits == 0) {
    fill_any(o.a, r, o.fa);
    fill_any(o.b, r, o.fb);
    for (auto& c : o.c) c = how == Probe::near_one ? r.bits() % 200 : near_an_end(r);
    return;
  }
  const bool narrow = o.fc.width == 16;  // An f16 accumulator overflows easily.
  const int al = std::max(o.fa.low(), -20), ah = std::min(o.fa.high(), narrow ? 6 : 15);
  const int bl = std::max(o.fb.low(), -20), bh = std::min(o.fb.high(), narrow ? 6 : 15);
  const int middle_a = (al + ah) / 2, middle_b = (bl + bh) / 2;
  const int k1 = r.below(o.ka), k2 = (k1 + 1 + r.below(o.ka - 1)) % o.ka;
  const std::uint32_t sign_a = o.fa.sign() << o.fa.skip;
  const auto fill_all = [&](int a_low, int a_high, int b_low, int b_high, int c_low, int c_high) {
    fill(o.a, r, o.fa, a_low, a_high);
    fill(o.b, r, o.fb, b_low, b_high);
    fill(o.c, r, o.fc, c_low, c_high);
  };
  switch (how) {
    case Probe::near_one:
      return fill_all(-3, 1, -3, 1, -4, 4);
    case Probe::wide:
      return fill_all(al, ah, bl, bh, al + bl, ah + bh);
    case Probe::one_big:
      fill_all(al, al + 3, bl, bl + 3, 1, 0);
      for (int i = 0; i < kRowsOfA; ++i) o.a_at(i, k1) = o.fa.make(r.coin(), al + i % 32, 0);
      for (int j = 0; j < o.n; ++j) o.b_at(j, k1 % o.kb) = o.fb.make(false, bl + 3 * (j % 8), 0);
      return;
    case Probe::cancelling:
      fill_all(al, middle_a - 2, bl, middle_b - 2, al + bl, middle_a + middle_b);
      for (int i = 0; i < kRowsOfA; ++i) {
        o.a_at(i, k1) = positive_between(r, o.fa, middle_a, ah);
        o.a_at(i, k2) = o.a_at(i, k1) | sign_a;
      }
      for (int j = 0; j < o.n; ++j) o.b_at(j, k1) = o.b_at(j, k2) = positive_between(r, o.fb, middle_b, bh);
      return;
    case Probe::big_c:
      fill_all(al, al + 4, bl, bl + 4, 1, 0);
      for (int i = 0; i < kRowsOfA; ++i)
        for (int j = 0; j < o.n; ++j) {
          const std::uint32_t fraction = r.bits();
          o.c_at(i, j) = o.fc.make(r.coin(), al + bl + 2 + i % 36, fraction);
        }
      return;
    case Probe::cancelled_c: {
      fill_all(al, middle_a, bl, middle_b, 1, 0);
      const int ea = r.between(middle_a, ah), eb = r.between(middle_b, bh);
      for (int i = 0; i < kRowsOfA; ++i) o.a_at(i, k1) = o.fa.make(false, ea, 0);
      for (int j = 0; j < o.n; ++j) o.b_at(j, k1) = o.fb.make(false, eb, 0);
      for (auto& c : o.c) c = o.fc.make(true, ea + eb, r.below(4) ? 0 : r.bits());
      return;
    }
    case Probe::smallest:
      return fill_all(o.fa.low(), o.fa.low() + 4, o.fb.low(), o.fb.low() + 4, o.fc.low(), o.fc.low() + 30);
    case Probe::largest:
      return fill_all(o.fa.high() - 3, o.fa.high(), o.fb.high() - 3, o.fb.high(), o.fc.high() - 3, o.fc.high());
    case Probe::specials:
      fill_all(-4, 4, -4, 4, -4, 4);
      for (int n = 0; n < 20; ++n) {
        const std::uint32_t special = o.fa.special(r);
        const int k = r.below(o.ka);
        o.a_at(r.below(kRowsOfA), k) = special;
      }
      for (int n = 0; n < 3; ++n) {
        const std::uint32_t special = o.fb.special(r);
        const int k = r.below(o.kb);
        o.b_at(r.below(o.n), k) = special;
      }
      for (int n = 0; n < 30; ++n) {
        const std::uint32_t special = o.fc.special(r);
        const int column = r.below(o.n);
        o.c_at(r.below(kRowsOfA), column) = special;
      }
      return;
    case Probe::any_bits:
      fill_any(o.a, r, o.fa);
      fill_any(o.b, r, o.fb);
      fill_any(o.c, r, o.fc);
      return;
    case Probe::one_sign:
      fill_all(-2, 2, -2, 2, -2, 6);
      for (auto& a : o.a) a &= ~sign_a;
      for (auto& b : o.b) b &= ~(o.fb.sign() << o.fb.skip);
      for (auto& c : o.c) c &= ~o.fc.sign();
      return;
    case Probe::normal:
      for (auto& a : o.a) a = o.fa.normal(r);
      for (auto& b : o.b) b = o.fb.normal(r);
      for (auto& c : o.c) c = 0;
      return;
  }
}

// ---- Where elements lie.

/// Appends a K-major operand without swizzle: core matrices of 8 rows of 16 bytes, those that follow in k side by side.
void append_core_matrices(std::vector<std::uint32_t>& image, const std::vector<std::uint32_t>& elements, int rows,
                          int per_row, int width) {
  const int per_chunk = 128 / width, per_word = 32 / width;
  for (int block = 0; block < rows / 8; ++block)
    for (int chunk = 0; chunk < per_row / per_chunk; ++chunk)
      for (int row = 0; row < 8; ++row)
        for (int word = 0; word < 4; ++word) {
          std::uint32_t bits = 0;
          for (int e = 0; e < per_word; ++e) {
            const int k = chunk * per_chunk + word * per_word + e;
            bits |= elements[static_cast<std::size_t>((block * 8 + row) * per_row + k)] << (e * width % 32);
          }
          image.push_back(bits);
        }
}

/// Appends A's fragments (9.7.15.5.2): register after register, each for 128 threads.
void append_fragments(std::vector<std::uint32_t>& to, Operands& o) {
  const int per_word = 32 / o.fa.width;
  for (int reg = 0; reg < 4; ++reg)
    for (int thread = 0; thread < kThreads; ++thread) {
      const int row = thread / 32 * 16 + thread % 32 / 4 + 8 * (reg % 2);
      std::uint32_t bits = 0;
      for (int e = 0; e < per_word; ++e)
        bits |= o.a_at(row, (thread % 4 + 4 * (reg / 2)) * per_word + e) << (e * o.fa.width % 32);
      to.push_back(bits);
    }
}

/// Appends C's fragments (9.7.15.5.2).
void append_accumulators(std::vector<std::uint32_t>& to, Operands& o, const Product& p) {
  const bool pairs = p.d == "f16";
  for (int reg = 0; reg < p.accumulators(); ++reg)
    for (int thread = 0; thread < kThreads; ++thread) {
      const int per_block = pairs ? 2 : 4;
      const int half = pairs ? reg % 2 : reg / 2 % 2;
      const int row = thread / 32 * 16 + thread % 32 / 4 + 8 * half;
      const int column = reg / per_block * 8 + thread % 4 * 2;
      to.push_back(pairs ? o.c_at(row, column) | o.c_at(row, column + 1) << 16 : o.c_at(row, column + reg % 2));
    }
}

// ---- The kernel.

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

std::string registers(const std::string& name, int first, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += (i ? "," : "") + name + number(static_cast<std::uint64_t>(first + i));
  return list + "}";
}

/// Where the parts of a record begin, in words.
struct Record {
  std::size_t image_words = 0;
  std::size_t a_words = 0, c_words = 0, meta_words = 0;
  std::size_t words() const { return image_words + a_words + c_words + meta_words; }
};

struct Kernel {
  Product product;
  Record record;
  SharedLayout a, b;
  std::uint32_t tile_step_a = 0, tile_step_b = 0;  ///< Bytes from one tile's operand to the next one's.
};

std::string descriptor(const std::string& name, const SharedLayout& layout, std::uint32_t step) {
  const std::uint64_t fields = std::uint64_t{layout.leading >> 4} << 16 | std::uint64_t{layout.stride >> 4} << 32 |
                               std::uint64_t{layout.base} << 49 | std::uint64_t{layout.swizzle} << 62;
  return "  add.u32 %t, %shared, " + number(layout.start + step) +
         ";\n  and.b32 %t, %t, 0x3ffff;\n  shr.b32 %t, %t, 4;\n  cvt.u64.u32 " + name + ", %t;\n  or.b64 " + name +
         ", " + name + ", " + number(fields) + ";\n";
}

std::string ptx_of(const Kernel& kernel) {
  const Product& p = kernel.product;
  const int count = p.accumulators();
  const auto at = [](std::size_t word) { return number(word * 4); };
  std::string s =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n"
      ".maxntid 128, 1, 1\n{\n"
      "  .shared .align 1024 .b8 image[" +
      at(kernel.record.image_words) +
      "];\n"
      "  .reg .b64 %in, %out, %from, %da, %db;\n  .reg .b32 %thread, %block, %shared, %t, %w, %to;\n  .reg .pred %p, "
      "%more;\n"
      "  .reg .b32 %d<" +
      number(static_cast<std::uint64_t>(count)) + ">, %a<" + number(static_cast<std::uint64_t>(4 * p.tiles)) +
      ">, %e<" + number(static_cast<std::uint64_t>(p.tiles)) +
      ">;\n"
      "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n  cvta.to.global.u64 %in, %in;\n"
      "  cvta.to.global.u64 %out, %out;\n  mov.u32 %thread, %tid.x;\n"
      "  mov.u32 %block, %ctaid.x;\n  mov.u32 %shared, image;\n"
      "  mul.wide.u32 %from, %block, " +
      at(kernel.record.words()) +
      ";\n  add.u64 %in, %in, %from;\n"
      "  mov.u32 %w, %thread;\n"
      "copy:\n  setp.ge.u32 %more, %w, " +
      number(kernel.record.image_words) +
      ";\n  @%more bra copied;\n  mul.wide.u32 %from, %w, 4;\n  add.u64 %from, %in, %from;\n  ld.global.b32 %t, "
      "[%from];\n"
      "  shl.b32 %to, %w, 2;\n  add.u32 %to, %to, %shared;\n  st.shared.b32 [%to], %t;\n  add.u32 %w, %w, 128;\n"
      "  bra copy;\ncopied:\n"
      "  mul.wide.u32 %from, %thread, 4;\n  add.u64 %in, %in, %from;\n";
  std::size_t part = kernel.record.image_words;
  const auto load = [&](const std::string& name, int how_many) {
    for (int i = 0; i < how_many; ++i, part += kThreads)
      s += "  ld.global.b32 %" + name + number(static_cast<std::uint64_t>(i)) + ", [%in+" + at(part) + "];\n";
  };
  if (p.a_in_registers) load("a", 4 * p.tiles);
  load("d", count);
  if (p.sparse) load("e", p.tiles);
  s += "  fence.proxy.async;\n  bar.sync 0;\n  wgmma.fence.sync.aligned;\n";
  const bool integers = p.d == "s32";
  const bool halves = p.a == "f16" || p.a == "bf16";
  for (int step = 0; step < p.steps; ++step) {
    const int tile = step % p.tiles;
    if (!p.a_in_registers) s += descriptor("%da", kernel.a, static_cast<std::uint32_t>(tile) * kernel.tile_step_a);
    s += descriptor("%db", kernel.b, static_cast<std::uint32_t>(tile) * kernel.tile_step_b);
    s += std::string("  setp.ne.b32 %p, ") + (p.accumulate || step > 0 ? "1" : "0") + ", 0;\n";
    s += std::string("  wgmma.mma_async") + (p.sparse ? ".sp" : "") + ".sync.aligned.m64n" +
         number(static_cast<std::uint64_t>(p.n)) + "k" + number(static_cast<std::uint64_t>(p.k())) + "." + p.d + "." +
         p.a + "." + p.b + (p.a == "b1" ? ".and.popc" : "") + (p.satfinite ? ".satfinite" : "") + " " +
         registers("%d", 0, count) + ", " + (p.a_in_registers ? registers("%a", 4 * tile, 4) : "%da") + ", %db";
    if (p.sparse)
      s += ", %e" + number(static_cast<std::uint64_t>(tile)) + ", " + number(static_cast<std::uint64_t>(p.selector));
    s += ", %p";
    if (!integers) s += std::string(p.negate_a ? ", -1" : ", 1") + (p.negate_b ? ", -1" : ", 1");
    if (halves && !p.a_in_registers) s += p.transpose_a ? ", 1" : ", 0";
    if (halves) s += p.transpose_b ? ", 1" : ", 0";
    s += ";\n";
  }
  s += "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n"
       "  mul.wide.u32 %from, %block, " +
       at(static_cast<std::size_t>(count * kThreads)) +
       ";\n"
       "  add.u64 %out, %out, %from;\n  mul.wide.u32 %from, %thread, 4;\n  add.u64 %out, %out, %from;\n";
  for (int i = 0; i < count; ++i)
    s += "  st.global.b32 [%out+" + at(static_cast<std::size_t>(i * kThreads)) + "], %d" +
         number(static_cast<std::uint64_t>(i)) + ";\n";
  return s + "  ret;\n}\n";
}

Case make_case(const std::string& name, const Kernel& kernel, std::vector<std::uint32_t> in) {
  Case result;
  result.name = name;
  result.ptx = ptx_of(kernel);
  result.blocks = static_cast<std::uint32_t>(in.size() / kernel.record.words());
  result.threads = kThreads;
  result.in = std::move(in);
  result.out_words = std::size_t{result.blocks} * static_cast<std::size_t>(kernel.product.accumulators()) * kThreads;
  return result;
}

// ---- Numerics.

/// Records of a product, one for each probe.
Case numerics_case(const Product& p, const std::vector<Probe>& probes) {
  const Format fa = format_of(p.a), fb = format_of(p.b), fc = format_of(p.d);
  const int ka = static_cast<int>(kRowBytes) * 8 / fa.width, kb = ka * (p.sparse ? 2 : 1);
  const std::uint32_t a_bytes = p.a_in_registers ? 0 : kRowsOfA * kRowBytes;
  const std::uint32_t b_bytes = static_cast<std::uint32_t>(p.n) * kRowBytes * (p.sparse ? 2 : 1);
  Kernel kernel{.product = p, .record = {}, .a = {}, .b = {}, .tile_step_a = a_bytes, .tile_step_b = b_bytes};
  const auto tiles = static_cast<std::size_t>(p.tiles);
  kernel.record = {tiles * (a_bytes + b_bytes) / 4, p.a_in_registers ? tiles * 4 * kThreads : 0,
                   static_cast<std::size_t>(p.accumulators()) * kThreads, p.sparse ? tiles * kThreads : 0};
  kernel.a = {.start = 0, .leading = 128, .stride = 256};
  kernel.b = {.start = p.tiles * a_bytes, .leading = 128, .stride = p.sparse ? 512u : 256u};

  const std::string name = p.name();
  Random random{seed_of(name)};
  std::vector<std::uint32_t> in;
  for (const Probe how : probes) {
    std::vector<std::uint32_t> image_a, image_b, fragments, meta;
    Operands o{.fa = fa, .fb = fb, .fc = fc, .ka = ka, .kb = kb, .n = p.n, .a = {}, .b = {}, .c = {}};
    o.c.resize(static_cast<std::size_t>(kRowsOfA * p.n));
    for (int tile = 0; tile < p.tiles; ++tile) {
      o.a.assign(static_cast<std::size_t>(kRowsOfA * ka), 0);
      o.b.assign(static_cast<std::size_t>(p.n * kb), 0);
      probe(o, random, how);
      if (p.a_in_registers)
        append_fragments(fragments, o);
      else
        append_core_matrices(image_a, o.a, kRowsOfA, ka, fa.width);
      append_core_matrices(image_b, o.b, p.n, kb, fb.width);
      for (int thread = 0; p.sparse && thread < kThreads; ++thread) meta.push_back(random_metadata(random, p.a));
    }
    in.insert(in.end(), image_a.begin(), image_a.end());
    in.insert(in.end(), image_b.begin(), image_b.end());
    in.insert(in.end(), fragments.begin(), fragments.end());
    append_accumulators(in, o, p);
    in.insert(in.end(), meta.begin(), meta.end());
  }
  return make_case(name, kernel, std::move(in));
}

const std::vector<Probe> kAllProbes(std::begin(kProbes), std::end(kProbes));
const std::vector<Probe> kFewProbes{Probe::wide, Probe::cancelling, Probe::specials, Probe::any_bits};
const std::vector<Probe> kTwoProbes{Probe::wide, Probe::any_bits};

// ---- Layouts.

constexpr std::size_t kImageWords = 8192;  // 32 KiB of f16, no two alike.

std::uint32_t distinct_f16(std::size_t index) {
  return 0x0400u + static_cast<std::uint32_t>(index);
}

/// The unit matrix that the probed operand is multiplied with: A's fragments, or B's core matrices after the image.
Case layout_case(const std::string& name, Product p, const SharedLayout& probed, bool of_a) {
  p.a = p.b = "f16";
  p.a_in_registers = !of_a;
  p.accumulate = false;
  Operands unit{.fa = format_of("f16"),
                .fb = format_of("f16"),
                .fc = format_of("f32"),
                .ka = 16,
                .kb = 16,
                .n = p.n,
                .a = {},
                .b = {},
                .c = {}};
  constexpr std::uint32_t kOne = 0x3c00;
  unit.a.resize(kRowsOfA * 16);
  unit.b.resize(static_cast<std::size_t>(p.n * 16));
  unit.c.resize(static_cast<std::size_t>(kRowsOfA * p.n));
  for (int i = 0; i < kRowsOfA; ++i) unit.a_at(i, i % 16) = kOne;
  for (int j = 0; j < std::min(p.n, 16); ++j) unit.b_at(j, j) = kOne;
  std::vector<std::uint32_t> in;
  for (std::size_t i = 0; i < kImageWords; ++i) in.push_back(distinct_f16(2 * i) | distinct_f16(2 * i + 1) << 16);
  Kernel kernel{.product = p, .record = {}, .a = {}, .b = {}, .tile_step_a = 0, .tile_step_b = 0};
  if (of_a) {
    append_core_matrices(in, unit.b, p.n, 16, 16);
    kernel.a = probed;
    kernel.b = {.start = kImageWords * 4, .leading = 128, .stride = 256};
  } else {
    kernel.b = probed;
  }
  kernel.record.image_words = in.size();
  if (!of_a) append_fragments(in, unit);
  kernel.record.a_words = in.size() - kernel.record.image_words;
  append_accumulators(in, unit, p);
  kernel.record.c_words = in.size() - kernel.record.image_words - kernel.record.a_words;
  return make_case(name, kernel, std::move(in));
}

}  // namespace

int Product::k() const {
  const int width = a == "b1" ? 1 : format_of(a).width;
  return static_cast<int>(kRowBytes) * 8 / width * (sparse ? 2 : 1);
}

int Product::accumulators() const {
  return n * kRowsOfA / kThreads / (d == "f16" ? 2 : 1);
}

std::string Product::name() const {
  std::string s = "m64n" + std::to_string(n) + "k" + std::to_string(k()) + "." + d + "." + a + "." + b;
  s += a_in_registers ? ".rs" : ".ss";
  if (sparse) s += ".sp" + std::to_string(selector);
  if (satfinite) s += ".sat";
  if (negate_a) s += ".-a";
  if (negate_b) s += ".-b";
  if (transpose_a) s += ".ta";
  if (transpose_b) s += ".tb";
  if (!accumulate) s += ".zero";
  if (steps > 1) s += ".x" + std::to_string(steps);
  return s;
}

std::vector<Case> numerics_cases() {
  std::vector<Case> cases;
  const auto add = [&](const Product& p, const std::vector<Probe>& probes) {
    cases.push_back(numerics_case(p, probes));
  };
  // Every mix of types, small.
  for (const char* a : {"e4m3", "e5m2"})
    for (const char* b : {"e4m3", "e5m2"}) {
      add({.d = "f32", .a = a, .b = b, .n = 8}, kAllProbes);
      add({.d = "f32", .a = a, .b = b, .n = 16, .a_in_registers = true}, kAllProbes);
      add({.d = "f16", .a = a, .b = b, .n = 8, .a_in_registers = true}, kAllProbes);
      add({.d = "f16", .a = a, .b = b, .n = 16}, kFewProbes);
    }
  for (const bool rs : {false, true}) {
    add({.d = "f32", .a = "f16", .b = "f16", .n = 8, .a_in_registers = rs}, kAllProbes);
    add({.d = "f16", .a = "f16", .b = "f16", .n = 16, .a_in_registers = rs}, kAllProbes);
    add({.d = "f32", .a = "bf16", .b = "bf16", .n = 8, .a_in_registers = rs}, kAllProbes);
    add({.d = "f32", .a = "tf32", .b = "tf32", .n = 8, .a_in_registers = rs}, kAllProbes);
  }
  for (const char* a : {"s8", "u8"})
    for (const char* b : {"s8", "u8"})
      for (const bool saturate : {false, true})
        add({.d = "s32", .a = a, .b = b, .n = 8, .a_in_registers = saturate, .satfinite = saturate},
            {Probe::near_one, Probe::wide});
  for (const bool rs : {false, true})
    add({.d = "s32", .a = "b1", .b = "b1", .n = 8, .a_in_registers = rs}, {Probe::near_one, Probe::wide});
  // Other widths: the same sums, other registers.
  for (const int n : {24, 40, 64, 72, 96, 136, 192, 256}) {
    add({.d = "f32", .a = "e4m3", .b = "e4m3", .n = n, .a_in_registers = n % 16 != 0},
        n > 100 ? kTwoProbes : kFewProbes);
    add({.d = "f16", .a = "e5m2", .b = "e4m3", .n = n, .a_in_registers = n % 16 == 0}, {Probe::any_bits});
  }
  add({.d = "f32", .a = "f16", .b = "f16", .n = 256}, kTwoProbes);
  add({.d = "f32", .a = "bf16", .b = "bf16", .n = 128, .a_in_registers = true}, kTwoProbes);
  add({.d = "f32", .a = "tf32", .b = "tf32", .n = 96}, kTwoProbes);
  add({.d = "s32", .a = "s8", .b = "u8", .n = 224}, {Probe::wide});
  add({.d = "s32", .a = "b1", .b = "b1", .n = 48}, {Probe::wide});
  // Signs, and an accumulator that is not read.
  for (const char* type : {"e4m3", "f16", "bf16", "tf32"})
    for (const int signs : {1, 2, 3})
      add({.d = "f32", .a = type, .b = type, .n = 8, .negate_a = (signs & 1) != 0, .negate_b = (signs & 2) != 0},
          {Probe::near_one, Probe::specials, Probe::any_bits});
  for (const char* d : {"f32", "f16"})
    for (const char* type : {"e4m3", "f16"})
      add({.d = d, .a = type, .b = type, .n = 8, .accumulate = false}, kFewProbes);
  add({.d = "s32", .a = "s8", .b = "s8", .n = 8, .accumulate = false}, {Probe::wide});
  // Chains: how errors grow.
  for (const int steps : {2, 4, 32, 256}) {
    add({.d = "f32", .a = "e4m3", .b = "e4m3", .n = 8, .steps = steps, .tiles = std::min(steps, 8)},
        {Probe::normal, Probe::one_sign, Probe::wide});
    add({.d = "f16", .a = "e4m3", .b = "e4m3", .n = 8, .steps = steps, .tiles = std::min(steps, 8)},
        {Probe::normal, Probe::one_sign});
    add({.d = "f32", .a = "f16", .b = "f16", .n = 8, .steps = steps, .tiles = std::min(steps, 8)},
        {Probe::normal, Probe::one_sign});
    add({.d = "f32",
         .a = "e4m3",
         .b = "e5m2",
         .n = 64,
         .a_in_registers = true,
         .accumulate = false,
         .steps = steps,
         .tiles = std::min(steps, 4)},
        {Probe::normal});
  }
  // Sparse A.
  for (const bool rs : {false, true})
    for (const int selector : {0, 1})
      for (const char* type : {"f16", "bf16", "tf32"})
        add({.d = "f32", .a = type, .b = type, .n = 8, .a_in_registers = rs, .sparse = true, .selector = selector},
            kFewProbes);
  for (const bool rs : {false, true}) {
    add({.d = "f32", .a = "e4m3", .b = "e4m3", .n = 8, .a_in_registers = rs, .sparse = true}, kAllProbes);
    add({.d = "f16", .a = "e5m2", .b = "e4m3", .n = 16, .a_in_registers = rs, .sparse = true}, kFewProbes);
    add({.d = "f16", .a = "f16", .b = "f16", .n = 16, .a_in_registers = rs, .sparse = true}, kFewProbes);
    add({.d = "s32", .a = "s8", .b = "u8", .n = 8, .a_in_registers = rs, .sparse = true},
        {Probe::near_one, Probe::wide});
  }
  return cases;
}

std::vector<Case> layout_cases() {
  std::vector<Case> cases;
  const auto add = [&](bool of_a, int n, bool transposed, const SharedLayout& l) {
    Product p;
    p.n = n;
    (of_a ? p.transpose_a : p.transpose_b) = transposed;
    const std::string name = std::string(of_a ? "a" : "b") + std::to_string(n) + (transposed ? ".mn" : ".k") +
                             ".start" + std::to_string(l.start) + ".lead" + std::to_string(l.leading) + ".stride" +
                             std::to_string(l.stride) + ".base" + std::to_string(l.base) + ".swizzle" +
                             std::to_string(l.swizzle);
    cases.push_back(layout_case(name, p, l, of_a));
  };
  for (const bool of_a : {false, true}) {
    const int n = of_a ? 16 : 40;
    // K-major. Swizzled rows are 128, 64 or 32 bytes; the leading offset should not matter there.
    add(of_a, n, false, {.leading = 128, .stride = 256});
    add(of_a, n, false, {.leading = 1024, .stride = 128});
    add(of_a, n, false, {.start = 48, .leading = 2064, .stride = 272});
    for (const std::uint32_t swizzle : {1u, 2u, 3u}) {
      const std::uint32_t atom = 8 * (256u >> swizzle);
      for (const std::uint32_t start : {0u, 32u, 64u, 96u, 16u, 128u, 512u, 1024u, 1056u, 1280u})
        add(of_a, n, false, {.start = start, .leading = 16, .stride = atom, .swizzle = swizzle});
      add(of_a, n, false, {.leading = 512, .stride = atom, .swizzle = swizzle});
      add(of_a, n, false, {.stride = 2 * atom, .swizzle = swizzle});
      add(of_a, n, false, {.stride = atom + 128, .swizzle = swizzle});
      for (const std::uint32_t base : {1u, 2u, 4u, 7u})
        add(of_a, n, false, {.start = 128 * base, .leading = 16, .stride = atom, .base = base, .swizzle = swizzle});
      add(of_a, n, false, {.leading = 16, .stride = atom, .base = 3, .swizzle = swizzle});
    }
    // M- or N-major: wide enough for several repeats of the atom (64, 32, 16 or 8 elements), all inside the image.
    for (const std::uint32_t swizzle : {0u, 1u, 2u, 3u}) {
      const std::uint32_t row = swizzle == 0 ? 16 : 256u >> swizzle;
      const int wide = of_a ? 16 : swizzle == 1 ? 160 : swizzle == 2 ? 136 : 56;
      const std::uint32_t unit = swizzle == 0 ? 512 : 1024;
      add(of_a, wide, true, {.leading = 8 * row, .stride = 4 * unit, .swizzle = swizzle});
      add(of_a, wide, true, {.leading = 4 * unit, .stride = 8 * row, .swizzle = swizzle});
      add(of_a, wide, true, {.leading = 2 * unit, .stride = 3 * unit, .swizzle = swizzle});
      add(of_a, wide, true, {.start = 1024, .leading = 2 * unit, .stride = 3 * unit, .swizzle = swizzle});
      add(of_a, wide, true, {.start = 32, .leading = 3 * unit, .stride = 2 * unit, .swizzle = swizzle});
      add(of_a, wide, true, {.start = 256, .leading = 3 * unit, .stride = 2 * unit, .base = 2, .swizzle = swizzle});
    }
  }
  // The widest products.
  add(false, 256, false, {.leading = 16, .stride = 1024, .swizzle = 1});
  add(false, 256, true, {.leading = 2048, .stride = 1024, .swizzle = 1});
  add(false, 64, true, {.leading = 2048, .stride = 1024, .swizzle = 1});
  add(false, 128, true, {.leading = 2048, .stride = 1024, .swizzle = 1});
  return cases;
}

}  // namespace evo::conformance
