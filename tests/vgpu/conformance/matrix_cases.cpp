#include "tests/vgpu/conformance/matrix_cases.h"

#include <array>
#include <regex>

#include "tests/vgpu/conformance/matrix_probe.h"
#include "tests/vgpu/conformance/ptx_forms.h"
#include "tests/vgpu/conformance/warp_kernel.h"
#include "tests/vgpu/element_format.h"

namespace evo::conformance {
namespace {

using std::string;
using Words = std::vector<std::uint32_t>;

constexpr int kLanes = 32;

string number(int value) {
  return std::to_string(value);
}

/// {x0,x1,...}, or every `step`-th of them.
string registers(const string& name, int first, int count, int step = 1) {
  string list = "{";
  for (int i = 0; i < count; ++i) list += (i ? "," : "") + name + number(first + i * step);
  return list + "}";
}

// ---- Elements of operands, wherever they lie.

/// A block for each.
constexpr std::array kProbes{Probe::near_one, Probe::wide,    Probe::cancelling, Probe::big_c,    Probe::cancelled_c,
                             Probe::smallest, Probe::largest, Probe::specials,   Probe::any_bits, Probe::one_sign};

enum class Matrix : std::uint8_t { a, b, c };

/// Draws the elements of one block's matrices, of up to 32 bits.
class Elements {
 public:
  Elements(Random& random, Probe probe, const string& a, const string& b, const string& c)
      : random_(random), probe_(probe), formats_{format_of(a), format_of(b), format_of(c)} {
    const bool narrow = formats_[2].width == 16;  // Overflows easily.
    for (std::size_t i = 0; i < 2; ++i) {
      low_[i] = std::max(formats_[i].low(), -20);
      high_[i] = std::min(formats_[i].high(), narrow ? 6 : 15);
      big_[i] = random_.between((low_[i] + high_[i]) / 2, high_[i]);
    }
  }

  std::uint32_t draw(Matrix matrix) {
    const Format& f = formats_[static_cast<std::size_t>(matrix)];
    if (f.exponent_bits == 0) return integer(f, matrix);
    return matrix == Matrix::c ? sum(f) : factor(f, static_cast<std::size_t>(matrix));
  }

 private:
  std::uint32_t integer(const Format& f, Matrix matrix) {
    const std::uint32_t bits = random_.bits() & f.mask();
    if (matrix != Matrix::c) return bits;
    if (probe_ == Probe::near_one) return bits % 200;
    return (random_.coin() ? 0x7fffff00u : 0x80000100u) + bits % 512;
  }

  std::uint32_t between(const Format& f, int low, int high) {
    const bool negative = probe_ != Probe::one_sign && random_.coin();
    const int exponent = random_.between(low, high);
    return f.make(negative, exponent, random_.bits());
  }

  std::uint32_t factor(const Format& f, std::size_t i) {
    switch (probe_) {
      case Probe::near_one:
        return between(f, -3, 1);
      case Probe::wide:
        return between(f, low_[i], high_[i]);
      case Probe::cancelling:
        return random_.below(4) == 0 ? power(f, big_[i]) : between(f, low_[i], low_[i] + 6);
      case Probe::big_c:
        return between(f, low_[i], low_[i] + 4);
      case Probe::cancelled_c:
        return random_.below(6) == 0 ? power(f, big_[i]) : between(f, low_[i], big_[i] - 3);
      case Probe::smallest:
        return between(f, f.low(), f.low() + 4);
      case Probe::largest:
        return between(f, f.high() - 3, f.high());
      case Probe::specials:
        return random_.below(16) == 0 ? f.special(random_) : between(f, -4, 4);
      case Probe::any_bits:
        return random_.bits() & f.mask();
      case Probe::one_sign:
        return between(f, -2, 2);
      case Probe::one_big:
      case Probe::normal:
        break;  // In no block here.
    }
    return 0;
  }

  std::uint32_t sum(const Format& f) {
    const int low = low_[0] + low_[1], high = high_[0] + high_[1];
    switch (probe_) {
      case Probe::near_one:
        return between(f, -4, 4);
      case Probe::wide:
        return between(f, low, high);
      case Probe::cancelling:
        return random_.coin() ? 0 : between(f, low, (low + high) / 2);
      case Probe::big_c:
        return between(f, low + 2, low + 36);
      case Probe::cancelled_c:
        return random_.below(4) == 0 ? between(f, big_[0] + big_[1], big_[0] + big_[1]) : power(f, big_[0] + big_[1]);
      case Probe::smallest:
        return between(f, f.low(), f.low() + 30);
      case Probe::largest:
        return between(f, f.high() - 3, f.high());
      case Probe::specials:
        return random_.below(10) == 0 ? f.special(random_) : between(f, -4, 4);
      case Probe::any_bits:
        return random_.bits() & f.mask();
      case Probe::one_sign:
        return between(f, -2, 6);
      case Probe::one_big:
      case Probe::normal:
        break;  // In no block here.
    }
    return 0;
  }

  std::uint32_t power(const Format& f, int exponent) { return f.make(random_.coin(), exponent, 0); }

  Random& random_;
  Probe probe_;
  std::array<Format, 3> formats_;
  std::array<int, 2> low_{}, high_{}, big_{};
};

std::uint64_t double_of(Random& random, Probe probe) {
  constexpr std::array<std::uint64_t, 8> kSpecials{0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
                                                   0xfff4000000001234, 0x8000000000000000, 0,
                                                   0x0000000000000001, 0x7fefffffffffffff};
  const std::uint64_t any = random.next();
  if (probe == Probe::any_bits) return any;
  if (probe == Probe::specials && random.below(12) == 0) return kSpecials[static_cast<std::size_t>(random.below(8))];
  const int spread = probe == Probe::near_one ? 2 : probe == Probe::wide ? 60 : 8;
  const int middle = probe == Probe::smallest ? -520 : probe == Probe::largest ? 510 : 0;
  std::uint64_t fraction = any & 0xfffffffffffff;
  if (probe == Probe::cancelling || probe == Probe::cancelled_c)
    fraction &= ~std::uint64_t{0} << random.between(40, 52);
  const auto exponent = static_cast<std::uint64_t>(1023 + middle + random.between(-spread, spread));
  const std::uint64_t sign = probe == Probe::one_sign ? 0 : any & 1ull << 63;
  return sign | exponent << 52 | fraction;
}

int width_of(const string& type) {
  if (type == "f64") return 64;
  if (type == "s4" || type == "u4") return 4;
  return type == "b1" ? 1 : format_of(type).width;
}

/// Elements of one matrix, packed into words.
void append_elements(Words& to, int words, Matrix matrix, const string& type, Probe probe, Elements& elements,
                     Random& random) {
  const int width = width_of(type);
  for (int i = 0; i < words; ++i) {
    if (width == 64) {
      if (i % 2 == 0) {
        const std::uint64_t value = double_of(random, probe);
        to.push_back(static_cast<std::uint32_t>(value));
        to.push_back(static_cast<std::uint32_t>(value >> 32));
      }
    } else if (width < 8) {
      to.push_back(random.bits());
    } else {
      std::uint32_t word = 0;
      for (int at = 0; at < 32; at += width) word |= elements.draw(matrix) << at;
      to.push_back(word);
    }
  }
}

// ---- The fields of a listed form.

struct Types {
  string d, a, b, c;
};

/// Of "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"; wmma of halves names D and C only.
Types types_of(const string& name) {
  static const std::regex kType("\\.(f16|bf16|tf32|f32|f64|e4m3|e5m2|[su](?:4|8|32)|b1)(?=\\.|$)");
  std::vector<string> found;
  for (std::sregex_iterator match(name.begin(), name.end(), kType), end; match != end; ++match)
    found.push_back((*match)[1]);
  if (found.size() == 2) return {found[0], "f16", "f16", found[1]};
  return {found.at(0), found.at(1), found.at(2), found.at(3)};
}

struct Shape {
  int m = 0, n = 0, k = 0;
  string text() const { return "m" + number(m) + "n" + number(n) + "k" + number(k); }
};
Shape shape_of(const string& name) {
  static const std::regex kShape("m(\\d+)n(\\d+)k(\\d+)");
  std::smatch match;
  std::regex_search(name, match, kShape);
  return {std::stoi(match[1]), std::stoi(match[2]), std::stoi(match[3])};
}

/// How many registers stand in each {...}: D, A, B, C.
std::array<int, 4> registers_of(const string& text) {
  std::array<int, 4> counts{};
  std::size_t at = 0;
  for (int& count : counts) {
    const auto begin = text.find('{', at), end = text.find('}', begin);
    count = 1 + static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                            text.begin() + static_cast<std::ptrdiff_t>(end), ','));
    at = end;
  }
  return counts;
}

Case make_case(const string& name, const string& body, int in_words, int out_words, Words in) {
  Case result;
  result.name = name;
  result.ptx = warp_kernel(body, in_words, out_words);
  result.threads = kLanes;
  result.blocks = static_cast<std::uint32_t>(in.size()) / static_cast<std::uint32_t>(kLanes * in_words);
  result.out_words = std::size_t{result.blocks} * kLanes * static_cast<std::size_t>(out_words);
  result.in = std::move(in);
  return result;
}

// ---- mma.sync and mma.sp: registers hold any elements, so fragments need no layout.

/// The two indices of each group in either order, where metadata need not be ordered.
std::uint32_t unordered(std::uint32_t metadata, Random& random) {
  for (int shift = 0; shift < 32; shift += 4) {
    const std::uint32_t low = metadata >> shift & 3, high = metadata >> (shift + 2) & 3;
    if (random.coin()) metadata = (metadata & ~(15u << shift)) | (high | low << 2) << shift;
  }
  return metadata;
}

Case mma_case(const string& text) {
  const string name = text.substr(0, text.find(' '));
  const Types types = types_of(name);
  const auto [of_d, of_a, of_b, of_c] = registers_of(text);
  const bool doubles = types.d == "f64", sparse = name.starts_with("mma.sp");
  const string selector = sparse ? text.substr(text.rfind(',') + 2, 1) : "";
  const int in_registers = of_a + of_b + of_c, per_register = doubles ? 2 : 1;
  const int in_words = in_registers * per_register + (sparse ? 1 : 0), out_words = of_d * per_register;

  string body;
  const string in = doubles ? "d" : "r", out = doubles ? "d" : "o";
  for (int i = 0; doubles && i < in_registers; ++i)
    body += "mov.b64 d" + number(i) + ", {r" + number(2 * i) + ", r" + number(2 * i + 1) + "};\n";
  body += name + " " + registers(out, doubles ? in_registers : 0, of_d) + ", " + registers(in, 0, of_a) + ", " +
          registers(in, of_a, of_b) + ", " + registers(in, of_a + of_b, of_c);
  if (sparse) body += ", r" + number(in_registers) + ", " + selector;
  body += ";\n";
  for (int i = 0; doubles && i < of_d; ++i)
    body += "mov.b64 {o" + number(2 * i) + ", o" + number(2 * i + 1) + "}, d" + number(in_registers + i) + ";\n";

  const string title = name + (sparse ? " selector " + selector : "");
  Random random{seed_of(title)};
  Words words;
  const bool any_order = sparse && name.find("ordered_metadata") == string::npos && types.a != "tf32";
  for (const Probe probe : kProbes)
    for (const bool reorder : {false, any_order}) {
      Elements elements(random, probe, types.a, types.b, types.c);
      for (int lane = 0; lane < kLanes; ++lane) {
        append_elements(words, of_a * per_register, Matrix::a, types.a, probe, elements, random);
        append_elements(words, of_b * per_register, Matrix::b, types.b, probe, elements, random);
        append_elements(words, of_c * per_register, Matrix::c, types.c, probe, elements, random);
        if (!sparse) continue;
        const std::uint32_t metadata = random_metadata(random, types.a);
        words.push_back(reorder ? unordered(metadata, random) : metadata);
      }
    }
  return make_case(title, body, in_words, out_words, std::move(words));
}

// ---- wmma: the hardware decides which thread holds which element, therefore matrices go through memory.

Case wmma_case(const string& text) {
  const string name = text.substr(0, text.find(' '));
  const Types types = types_of(name);
  const Shape shape = shape_of(name);
  const auto [of_d, of_a, of_b, of_c] = registers_of(text);
  static const std::regex kLayouts("\\.(row|col)\\.(row|col)\\.");
  std::smatch layouts;
  std::regex_search(name, layouts, kLayouts);
  Random random{seed_of(name)};
  // C and D may have either layout, independently of A and B.
  const string c_layout = random.coin() ? "row" : "col", d_layout = random.coin() ? "row" : "col";

  const auto words_of = [](int rows, int columns, const string& type) { return rows * columns * width_of(type) / 32; };
  const int a_words = words_of(shape.m, shape.k, types.a), b_words = words_of(shape.k, shape.n, types.b);
  const int c_words = words_of(shape.m, shape.n, types.c), d_words = words_of(shape.m, shape.n, types.d);
  const bool doubles = types.d == "f64";
  const string file = doubles ? "d" : "r";
  const auto load = [&](const string& matrix, const string& layout, const string& type, int first, int count,
                        int at_word) {
    return "add.u64 d31, from_block, " + number(4 * at_word) + ";\nwmma.load." + matrix + ".sync.aligned." + layout +
           "." + shape.text() + ".global." + type + " " + registers(file, first, count) + ", [d31];\n";
  };
  string body = load("a", layouts[1], types.a, 0, of_a, 0) + load("b", layouts[2], types.b, of_a, of_b, a_words) +
                load("c", c_layout, types.c, of_a + of_b, of_c, a_words + b_words);
  const int first_d = of_a + of_b + of_c;
  body += name + " " + registers(file, first_d, of_d) + ", " + registers(file, 0, of_a) + ", " +
          registers(file, of_a, of_b) + ", " + registers(file, of_a + of_b, of_c) + ";\n";
  body += "mov.u32 t0, smem;\nwmma.store.d.sync.aligned." + d_layout + "." + shape.text() + ".shared." + types.d +
          " [t0], " + registers(file, first_d, of_d) + ";\nbar.warp.sync 0xffffffff;\n";
  const int in_words = (a_words + b_words + c_words) / kLanes, out_words = d_words / kLanes;
  body += "mad.lo.u32 t0, lane, " + number(4 * out_words) + ", t0;\n";
  for (int i = 0; i < out_words; ++i) body += "ld.shared.b32 o" + number(i) + ", [t0+" + number(4 * i) + "];\n";

  Words words;
  for (const Probe probe : kProbes) {
    Elements elements(random, probe, types.a, types.b, types.c);
    append_elements(words, a_words, Matrix::a, types.a, probe, elements, random);
    append_elements(words, b_words, Matrix::b, types.b, probe, elements, random);
    append_elements(words, c_words, Matrix::c, types.c, probe, elements, random);
  }
  return make_case(name, body, in_words, out_words, std::move(words));
}

}  // namespace

std::vector<Case> matrix_cases() {
  std::vector<Case> cases;
  for (const PtxForm& form : ptx_forms()) {
    if (form.text.starts_with("mma.")) cases.push_back(mma_case(form.text));
    if (form.text.starts_with("wmma.mma.")) cases.push_back(wmma_case(form.text));
  }
  return cases;
}

}  // namespace evo::conformance
