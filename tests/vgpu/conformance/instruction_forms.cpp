#include "tests/vgpu/conformance/instruction_forms.h"

#include <set>

namespace evo::conformance {
namespace {

using std::string;

class Forms {
 public:
  void add(const string& snippet, Kind a, Kind b = Kind::none, Kind c = Kind::none) {
    // The result's width is that of the d register that the snippet writes.
    const int bits = snippet.find("d64") != string::npos ? 64 : snippet.find("d32") != string::npos ? 32 : 16;
    if (known_.insert(snippet).second) list.push_back({snippet + ";", {a, b, c}, bits});
  }
  /// "name d, a[, b[, c]]" with registers of one width.
  void simple(const string& name, int bits, Kind kind, int operands) {
    const string w = std::to_string(bits);
    string text = name + " d" + w + ", a" + w;
    if (operands > 1) text += ", b" + w;
    if (operands > 2) text += ", c" + w;
    add(text, kind, operands > 1 ? kind : Kind::none, operands > 2 ? kind : Kind::none);
  }
  void predicate(const string& name, int bits, Kind kind) {
    const string w = std::to_string(bits);
    add(name + " r, a" + w + ", b" + w + "; selp.u32 d32, 1, 0, r", kind, kind);
  }
  std::vector<InstructionForm> list;

 private:
  std::set<string> known_;
};

void add_f32(Forms& f) {
  for (const string rounding : {".rn", ".rz", ".rm", ".rp"})
    for (const string ftz : {"", ".ftz"}) {
      for (const string sat : {"", ".sat"}) {
        for (const string op : {"add", "sub", "mul"}) f.simple(op + rounding + ftz + sat + ".f32", 32, Kind::f32, 2);
        f.simple("fma" + rounding + ftz + sat + ".f32", 32, Kind::f32, 3);
      }
      f.simple("div" + rounding + ftz + ".f32", 32, Kind::f32, 2);
      f.simple("rcp" + rounding + ftz + ".f32", 32, Kind::f32, 1);
      f.simple("sqrt" + rounding + ftz + ".f32", 32, Kind::f32, 1);
    }
  for (const string ftz : {"", ".ftz"}) {
    for (const string op : {"div.approx", "div.full"}) f.simple(op + ftz + ".f32", 32, Kind::f32, 2);
    for (const string op : {"rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"})
      f.simple(op + ".approx" + ftz + ".f32", 32, Kind::f32, 1);
    for (const string op : {"abs", "neg"}) f.simple(op + ftz + ".f32", 32, Kind::f32, 1);
    for (const string op : {"min", "max"})
      for (const string more : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"})
        f.simple(op + ftz + more + ".f32", 32, Kind::f32, 2);
    for (const string compare :
         {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"})
      f.predicate("setp." + compare + ftz + ".f32", 32, Kind::f32);
    f.add("set.gt" + ftz + ".u32.f32 d32, a32, b32", Kind::f32, Kind::f32);
    f.add("set.le" + ftz + ".f32.f32 d32, a32, b32", Kind::f32, Kind::f32);
    f.add("slct" + ftz + ".u32.f32 d32, a32, b32, c32", Kind::i32, Kind::i32, Kind::f32);
  }
  f.simple("tanh.approx.f32", 32, Kind::f32, 1);
  f.simple("copysign.f32", 32, Kind::f32, 2);
  for (const string test : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
    f.add("testp." + test + ".f32 r, a32; selp.u32 d32, 1, 0, r", Kind::f32);
    f.add("testp." + test + ".f64 r, a64; selp.u32 d32, 1, 0, r", Kind::f64);
  }
}

void add_f64(Forms& f) {
  for (const string rounding : {".rn", ".rz", ".rm", ".rp"}) {
    for (const string op : {"add", "sub", "mul", "div"}) f.simple(op + rounding + ".f64", 64, Kind::f64, 2);
    f.simple("fma" + rounding + ".f64", 64, Kind::f64, 3);
    for (const string op : {"rcp", "sqrt"}) f.simple(op + rounding + ".f64", 64, Kind::f64, 1);
  }
  for (const string op : {"rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64", "rsqrt.approx.f64", "abs.f64", "neg.f64"})
    f.simple(op, 64, Kind::f64, 1);
  for (const string op : {"min.f64", "max.f64", "copysign.f64"}) f.simple(op, 64, Kind::f64, 2);
  for (const string compare : {"eq", "ne", "lt", "ge", "equ", "ltu", "geu", "num", "nan"})
    f.predicate("setp." + compare + ".f64", 64, Kind::f64);
}

void add_halves(Forms& f) {
  struct Type {
    string name;
    int bits;
    Kind kind;
    bool bf16;
  };
  for (const Type& t : {Type{"f16", 16, Kind::f16, false}, Type{"f16x2", 32, Kind::f16x2, false},
                        Type{"bf16", 16, Kind::bf16, true}, Type{"bf16x2", 32, Kind::bf16x2, true}}) {
    const std::vector<string> ftz_forms = t.bf16 ? std::vector<string>{""} : std::vector<string>{"", ".ftz"};
    for (const string& ftz : ftz_forms) {
      for (const string op : {"add", "sub", "mul"}) {
        f.simple(op + ".rn" + ftz + "." + t.name, t.bits, t.kind, 2);
        if (!t.bf16) f.simple(op + ".rn" + ftz + ".sat." + t.name, t.bits, t.kind, 2);
      }
      f.simple("fma.rn" + ftz + "." + t.name, t.bits, t.kind, 3);
      f.simple("fma.rn" + ftz + ".relu." + t.name, t.bits, t.kind, 3);
      if (!t.bf16) f.simple("fma.rn" + ftz + ".sat." + t.name, t.bits, t.kind, 3);
      f.simple("neg" + ftz + "." + t.name, t.bits, t.kind, 1);
      f.simple("abs" + ftz + "." + t.name, t.bits, t.kind, 1);
      for (const string op : {"min", "max"})
        for (const string more : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"})
          f.simple(op + ftz + more + "." + t.name, t.bits, t.kind, 2);
    }
    f.simple("fma.rn.oob." + t.name, t.bits, t.kind, 3);
    f.simple("fma.rn.oob.relu." + t.name, t.bits, t.kind, 3);
    f.simple("tanh.approx." + t.name, t.bits, t.kind, 1);
    f.simple(string("ex2.approx") + (t.bf16 ? ".ftz." : ".") + t.name, t.bits, t.kind, 1);
    for (const string compare : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "ltu", "geu", "num", "nan"}) {
      if (t.bits == 16) {
        f.predicate("setp." + compare + "." + t.name, 16, t.kind);
      } else {
        f.add("setp." + compare + "." + t.name + " r|q, a32, b32; selp.u32 d32, 1, 0, r; @q add.u32 d32, d32, 2",
              t.kind, t.kind);
        f.add("set." + compare + "." + t.name + "." + t.name + " d32, a32, b32", t.kind, t.kind);
      }
    }
  }
}

/// Whether `to` holds every value of the integer type `from`: PTX then refuses .sat.
bool holds(const string& to, const string& from) {
  const int to_bits = std::stoi(to.substr(1)), from_bits = std::stoi(from.substr(1));
  return to[0] == from[0] ? to_bits >= from_bits : to[0] == 's' && to_bits > from_bits;
}

void add_conversions(Forms& f) {
  struct Integer {
    string name;
    int bits;  ///< Of the register.
    Kind kind;
  };
  const std::vector<Integer> integers{{"s8", 32, Kind::i32},  {"u8", 32, Kind::i32},  {"s16", 16, Kind::i16},
                                      {"u16", 16, Kind::i16}, {"s32", 32, Kind::i32}, {"u32", 32, Kind::i32},
                                      {"s64", 64, Kind::i64}, {"u64", 64, Kind::i64}};
  struct Float {
    string name;
    int bits;
    Kind kind;
  };
  const std::vector<Float> floats{
      {"f16", 16, Kind::f16}, {"f32", 32, Kind::f32}, {"f64", 64, Kind::f64}, {"bf16", 16, Kind::bf16}};
  const auto add = [&](const string& name, int to_bits, int from_bits, Kind kind) {
    f.add(name + " d" + std::to_string(to_bits) + ", a" + std::to_string(from_bits), kind);
  };
  for (const auto& to : integers)
    for (const auto& from : integers) {
      if (to.name == from.name) continue;
      add("cvt." + to.name + "." + from.name, to.bits, from.bits, from.kind);
      if (!holds(to.name, from.name)) add("cvt.sat." + to.name + "." + from.name, to.bits, from.bits, from.kind);
    }
  const auto both_exist = [](const string& x, const string& y) { return x != "bf16" || y.substr(1) != "8"; };
  for (const auto& from : floats) {
    for (const auto& to : integers)
      for (const string rounding : {".rni", ".rzi", ".rmi", ".rpi"}) {
        if (both_exist(from.name, to.name))
          add("cvt" + rounding + "." + to.name + "." + from.name, to.bits, from.bits, from.kind);
        if (from.name == "f32") add("cvt" + rounding + ".ftz." + to.name + ".f32", to.bits, 32, Kind::f32);
      }
    for (const auto& other : integers)
      for (const string rounding : {".rn", ".rz", ".rm", ".rp"})
        if (both_exist(from.name, other.name))
          add("cvt" + rounding + "." + from.name + "." + other.name, from.bits, other.bits, other.kind);
    if (from.name != "bf16")
      for (const string rounding : {".rni", ".rzi", ".rmi", ".rpi"}) {
        add("cvt" + rounding + "." + from.name + "." + from.name, from.bits, from.bits, from.kind);
        add("cvt" + rounding + ".sat." + from.name + "." + from.name, from.bits, from.bits, from.kind);
      }
  }
  for (const string ftz : {"", ".ftz"}) {
    for (const string rounding : {".rni", ".rzi"}) add("cvt" + rounding + ftz + ".f32.f32", 32, 32, Kind::f32);
    add("cvt" + ftz + ".f64.f32", 64, 32, Kind::f32);
    add("cvt" + ftz + ".f32.f16", 32, 16, Kind::f16);
    add("cvt" + ftz + ".sat.f32.f32", 32, 32, Kind::f32);
    add("cvt" + ftz + ".sat.f32.f16", 32, 16, Kind::f16);
    for (const string rounding : {".rn", ".rz", ".rm", ".rp"}) {
      add("cvt" + rounding + ftz + ".f16.f32", 16, 32, Kind::f32);
      add("cvt" + rounding + ftz + ".f32.f64", 32, 64, Kind::f64);
      add("cvt" + rounding + ftz + ".sat.f16.f32", 16, 32, Kind::f32);
      add("cvt" + rounding + ftz + ".sat.f32.f64", 32, 64, Kind::f64);
    }
  }
  for (const string rounding : {".rn", ".rz", ".rm", ".rp"}) {
    add("cvt" + rounding + ".f16.f64", 16, 64, Kind::f64);
    add("cvt" + rounding + ".bf16.f64", 16, 64, Kind::f64);
    add("cvt" + rounding + ".bf16.f32", 16, 32, Kind::f32);
    add("cvt" + rounding + ".bf16.f16", 16, 16, Kind::f16);
    add("cvt" + rounding + ".f16.bf16", 16, 16, Kind::bf16);
  }
  add("cvt.f32.bf16", 32, 16, Kind::bf16);
  add("cvt.f64.bf16", 64, 16, Kind::bf16);
  add("cvt.f64.f16", 64, 16, Kind::f16);
  for (const string rounding : {".rn", ".rz"})
    for (const string more : {"", ".relu", ".satfinite", ".relu.satfinite"}) {
      const string order = more == ".relu.satfinite" ? ".satfinite.relu" : more;
      for (const string type : {"f16", "bf16"}) {
        add("cvt" + rounding + order + "." + type + ".f32", 16, 32, Kind::f32);
        f.add("cvt" + rounding + order + "." + type + "x2.f32 d32, a32, b32", Kind::f32, Kind::f32);
      }
      if (more == "" || more == ".relu") add("cvt" + rounding + order + ".tf32.f32", 32, 32, Kind::f32);
    }
  for (const string more : {"", ".satfinite"}) add("cvt.rna" + more + ".tf32.f32", 32, 32, Kind::f32);
  for (const string type : {"e4m3", "e5m2"})
    for (const string relu : {"", ".relu"}) {
      const Kind kind = type == "e4m3" ? Kind::e4m3x2 : Kind::e5m2x2;
      f.add("cvt.rn.satfinite" + relu + "." + type + "x2.f32 d16, a32, b32", Kind::f32, Kind::f32);
      f.add("cvt.rn.satfinite" + relu + "." + type + "x2.f16x2 d16, a32", Kind::f16x2);
      f.add("cvt.rn" + relu + ".f16x2." + type + "x2 d32, a16", kind);
    }
  for (const string type : {"s16", "u16"}) f.add("cvt.pack.sat." + type + ".s32 d32, a32, b32", Kind::i32, Kind::i32);
  for (const string type : {"s8", "u8", "s4", "u4", "s2", "u2"})
    f.add("cvt.pack.sat." + type + ".s32.b32 d32, a32, b32, c32", Kind::i32, Kind::i32, Kind::i32);
}

void add_integers(Forms& f) {
  struct Type {
    string name;
    int bits;
    Kind kind;
  };
  const std::vector<Type> types{{"s16", 16, Kind::i16}, {"u16", 16, Kind::i16}, {"s32", 32, Kind::i32},
                                {"u32", 32, Kind::i32}, {"s64", 64, Kind::i64}, {"u64", 64, Kind::i64}};
  for (const auto& t : types) {
    const bool is_signed = t.name[0] == 's';
    const string w = std::to_string(t.bits), twice = std::to_string(2 * t.bits);
    for (const string op : {"add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"})
      f.simple(op + "." + t.name, t.bits, t.kind, 2);
    for (const string op : {"mad.lo", "mad.hi"}) f.simple(op + "." + t.name, t.bits, t.kind, 3);
    f.simple("sad." + t.name, t.bits, t.kind, 3);
    if (is_signed)
      for (const string op : {"abs", "neg"}) f.simple(op + "." + t.name, t.bits, t.kind, 1);
    if (t.bits < 64) {
      f.add("mul.wide." + t.name + " d" + twice + ", a" + w + ", b" + w, t.kind, t.kind);
      f.add("mad.wide." + t.name + " d" + twice + ", a" + w + ", b" + w + ", c" + twice, t.kind, t.kind,
            t.bits == 16 ? Kind::i32 : Kind::i64);
    }
    for (const string compare : {"eq", "ne", "lt", "le", "gt", "ge"})
      f.predicate("setp." + compare + "." + t.name, t.bits, t.kind);
    f.add("shr." + t.name + " d" + w + ", a" + w + ", b32", t.kind, Kind::small);
    f.add("shl.b" + w + " d" + w + ", a" + w + ", b32", t.kind, Kind::small);
    if (t.bits >= 32) {
      f.add("bfe." + t.name + " d" + w + ", a" + w + ", b32, c32", t.kind, Kind::small, Kind::small);
      for (const string shift : {"", ".shiftamt"}) f.add("bfind" + shift + "." + t.name + " d32, a" + w, t.kind);
    }
  }
  for (const string op : {"add.sat.s32", "sub.sat.s32"}) f.simple(op, 32, Kind::i32, 2);
  f.simple("mad.hi.sat.s32", 32, Kind::i32, 3);
  for (const string op : {"mul24.lo.s32", "mul24.hi.s32", "mul24.lo.u32", "mul24.hi.u32"})
    f.simple(op, 32, Kind::i32, 2);
  for (const string op : {"mad24.lo.s32", "mad24.hi.s32", "mad24.lo.u32", "mad24.hi.u32", "mad24.hi.sat.s32"})
    f.simple(op, 32, Kind::i32, 3);
  for (const string op : {"add.s16x2", "add.u16x2", "min.s16x2", "max.u16x2", "min.relu.s16x2", "max.relu.s16x2"})
    f.simple(op, 32, Kind::i16x2, 2);
  for (const string op : {"min.relu.s32", "max.relu.s32"}) f.simple(op, 32, Kind::i32, 2);
  for (const string a : {"s32", "u32"})
    for (const string b : {"s32", "u32"}) {
      f.simple("dp4a." + a + "." + b, 32, Kind::any32, 3);
      f.simple("dp2a.lo." + a + "." + b, 32, Kind::any32, 3);
      f.simple("dp2a.hi." + a + "." + b, 32, Kind::any32, 3);
    }
  // Carries.
  f.add("add.cc.u32 d32, a32, b32; addc.u32 d32, c32, 0", Kind::i32, Kind::i32, Kind::i32);
  f.add("sub.cc.u32 d32, a32, b32; subc.u32 d32, c32, 0", Kind::i32, Kind::i32, Kind::i32);
  f.add("add.cc.u64 d64, a64, b64; addc.u64 d64, c64, 0", Kind::i64, Kind::i64, Kind::i64);
  f.add("mad.lo.cc.u32 d32, a32, b32, c32; madc.hi.u32 d32, a32, b32, c32", Kind::i32, Kind::i32, Kind::i32);
  f.add("sub.cc.u32 d32, a32, b32; subc.cc.u32 d32, c32, a32; addc.u32 d32, d32, 0", Kind::i32, Kind::i32, Kind::i32);
}

void add_bits(Forms& f) {
  for (const string w : {"32", "64"}) {
    const Kind kind = w == "32" ? Kind::i32 : Kind::i64;
    for (const string op : {"popc", "clz"}) f.add(op + ".b" + w + " d32, a" + w, kind);
    f.add("brev.b" + w + " d" + w + ", a" + w, kind);
    f.add("bfi.b" + w + " d" + w + ", a" + w + ", " + (w == "32" ? "0x5a5a5a5a" : "0x5a5a5a5a5a5a5a5a") + ", b32, c32",
          kind, Kind::small, Kind::small);
  }
  for (const string direction : {"l", "r"})
    for (const string mode : {"clamp", "wrap"})
      f.add("shf." + direction + "." + mode + ".b32 d32, a32, b32, c32", Kind::any32, Kind::any32, Kind::small);
  for (const string mode : {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"})
    f.add("prmt.b32" + mode + " d32, a32, b32, c32", Kind::any32, Kind::any32, Kind::any32);
  for (const string table : {"0x00", "0x1e", "0x80", "0x96", "0xca", "0xe8", "0xfe", "0xff"})
    f.add("lop3.b32 d32, a32, b32, c32, " + table, Kind::any32, Kind::any32, Kind::any32);
  for (const string mode : {"clamp", "wrap"}) {
    f.add("bmsk." + mode + ".b32 d32, a32, b32", Kind::small, Kind::small);
    f.add("szext." + mode + ".s32 d32, a32, b32", Kind::i32, Kind::small);
    f.add("szext." + mode + ".u32 d32, a32, b32", Kind::i32, Kind::small);
  }
  f.add("fns.b32 d32, a32, b32, c32", Kind::any32, Kind::small, Kind::small);
  f.add("cnot.b32 d32, a32", Kind::i32);
}

/// Scalar and packed video instructions, which ptxas emulates with others.
void add_video(Forms& f) {
  for (const string op : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"})
    for (const string type : {".s32.s32.s32", ".u32.u32.s32", ".s32.s32.u32.sat"}) {
      f.simple(op + type, 32, Kind::i32, 2);
      f.add(op + type + ".add d32, a32, b32, c32", Kind::i32, Kind::i32, Kind::i32);
    }
  f.add("vabsdiff.u32.u32.u32 d32, a32.b1, b32.b3", Kind::any32, Kind::any32);
  for (const string op :
       {"vshl.u32.u32.u32.clamp", "vshl.u32.u32.u32.wrap", "vshr.s32.s32.u32.clamp", "vshr.u32.u32.u32.wrap"})
    f.add(op + " d32, a32, b32", Kind::i32, Kind::small);
  for (const string type : {"s32.s32.s32", "u32.u32.u32", "s32.s32.s32.sat"}) {
    f.add("vadd2." + type + " d32, a32, b32, c32", Kind::any32, Kind::any32, Kind::any32);
    f.add("vsub4." + type + " d32, a32, b32, c32", Kind::any32, Kind::any32, Kind::any32);
    f.add("vavrg2." + type + " d32, a32, b32, c32", Kind::any32, Kind::any32, Kind::any32);
    f.add("vabsdiff4." + type + " d32, a32, b32, c32", Kind::any32, Kind::any32, Kind::any32);
    f.add("vmin4." + type + " d32, a32, b32, c32", Kind::any32, Kind::any32, Kind::any32);
    f.add("vmax2." + type + " d32, a32, b32, c32", Kind::any32, Kind::any32, Kind::any32);
  }
  f.add("vabsdiff4.u32.u32.u32.add d32, a32, b32, c32", Kind::any32, Kind::any32, Kind::any32);
  f.add("vset4.u32.u32.lt d32, a32, b32, c32", Kind::any32, Kind::any32, Kind::any32);
}

string kernel_of(const InstructionForm& form) {
  const string widen = form.result_bits == 64   ? ""
                       : form.result_bits == 32 ? "cvt.u64.u32 d64, d32;"
                                                : "cvt.u64.u16 d64, d16;";
  return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         "  .reg .b16 a16, b16, c16, d16;\n  .reg .b32 a32, b32, c32, d32, t32, index, block;\n"
         "  .reg .b64 a64, b64, c64, d64, t64, out_r, in_r, offset;\n  .reg .pred p, q, r, s;\n"
         "  mov.u32 index, %tid.x;\n  mov.u32 block, %ctaid.x;\n  mad.lo.u32 index, block, 128, index;\n"
         "  ld.param.u64 in_r, [in];\n  ld.param.u64 out_r, [out];\n  mul.wide.u32 offset, index, 24;\n"
         "  add.u64 in_r, in_r, offset;\n  ld.global.u64 a64, [in_r];\n  ld.global.u64 b64, [in_r+8];\n"
         "  ld.global.u64 c64, [in_r+16];\n  cvt.u32.u64 a32, a64;\n  cvt.u32.u64 b32, b64;\n  cvt.u32.u64 c32, c64;\n"
         "  cvt.u16.u64 a16, a64;\n  cvt.u16.u64 b16, b64;\n  cvt.u16.u64 c16, c64;\n"
         "  mov.b64 d64, 0;\n  mov.b32 d32, 0;\n  mov.b16 d16, 0;\n  " +
         form.snippet + "\n  " + widen +
         "\n  mul.wide.u32 offset, index, 8;\n  add.u64 out_r, out_r, offset;\n  st.global.u64 [out_r], d64;\n  "
         "ret;\n}\n";
}

}  // namespace

std::vector<InstructionForm> instruction_forms() {
  Forms f;
  add_f32(f);
  add_f64(f);
  add_halves(f);
  add_conversions(f);
  add_integers(f);
  add_bits(f);
  add_video(f);
  return f.list;
}

Case case_of(const InstructionForm& form) {
  Case result;
  result.name = form.snippet;
  result.ptx = kernel_of(form);
  const auto tuples = tuples_of(form.kinds);
  for (const Tuple& t : tuples)
    for (const std::uint64_t value : {t.a, t.b, t.c}) {
      result.in.push_back(static_cast<std::uint32_t>(value));
      result.in.push_back(static_cast<std::uint32_t>(value >> 32));
    }
  result.threads = 128;
  result.blocks = static_cast<std::uint32_t>(tuples.size() / 128);
  result.out_words = 2 * tuples.size();
  return result;
}

}  // namespace evo::conformance
