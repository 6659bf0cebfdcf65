#include "tests/vgpu/conformance/listed_forms.h"

#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "tests/vgpu/conformance/ptx_forms.h"

namespace evo::conformance {
namespace {

using std::string;
using Strings = std::vector<string>;

const std::set<string> kOpcodes{
    "add",   "sub",   "mul",   "mad",   "mul24",  "mad24", "sad",   "div",      "rem",       "abs",      "neg",
    "min",   "max",   "popc",  "clz",   "bfind",  "fns",   "brev",  "bfe",      "bfi",       "szext",    "bmsk",
    "dp4a",  "dp2a",  "addc",  "subc",  "madc",   "fma",   "testp", "rcp",      "sqrt",      "rsqrt",    "copysign",
    "sin",   "cos",   "lg2",   "ex2",   "tanh",   "set",   "setp",  "selp",     "slct",      "and",      "or",
    "xor",   "not",   "cnot",  "lop3",  "shf",    "shl",   "shr",   "prmt",     "cvt",       "vadd",     "vsub",
    "vmin",  "vmax",  "vshl",  "vshr",  "vmad",   "vset",  "vadd2", "vabsdiff", "vsub2",     "vavrg2",   "vmin2",
    "vmax2", "vset2", "vadd4", "vsub4", "vavrg4", "vmin4", "vmax4", "vset4",    "vabsdiff2", "vabsdiff4"};

Strings split(const string& text, char separator) {
  Strings parts;
  std::istringstream stream(text);
  for (string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool is_type(const string& part) {
  static const std::regex kType("[bsu](8|16|32|64)|[fe](16|32|64)|b?f16(x2)?|[su]16x2|e[45]m[23]x2|pred");
  return std::regex_match(part, kType);
}

int width_of(char letter) {
  return letter == 'h' ? 16 : letter == 'r' || letter == 'f' ? 32 : 64;
}

/// The part of a register of that width that `type` reads.
Kind kind_of(const string& type, int width) {
  if (type == "f32") return Kind::f32;
  if (type == "f64") return Kind::f64;
  if (type == "f16") return Kind::f16;
  if (type == "f16x2") return Kind::f16x2;
  if (type == "bf16") return Kind::bf16;
  if (type == "bf16x2") return Kind::bf16x2;
  if (type == "e4m3x2") return Kind::e4m3x2;
  if (type == "e5m2x2") return Kind::e5m2x2;
  if (type == "s16x2" || type == "u16x2") return Kind::i16x2;
  return width == 16 ? Kind::i16 : width == 32 ? Kind::i32 : Kind::i64;
}

/// Shift amounts, positions and lengths.
bool is_amount(const string& opcode, std::size_t source) {
  static const std::set<string> kShifts{"shl", "shr", "vshl", "vshr", "szext"};
  if (kShifts.contains(opcode)) return source == 1;
  if (opcode == "bfe" || opcode == "fns") return source > 0;
  if (opcode == "shf") return source == 2;
  return opcode == "bmsk";
}

bool takes_any_bits(const string& opcode) {
  static const std::set<string> kAny{"dp4a", "dp2a", "prmt", "lop3", "shf", "fns"};
  return kAny.contains(opcode) || (opcode[0] == 'v' && (opcode.back() == '2' || opcode.back() == '4'));
}

/// One form being rewritten: r0-r3 become d32, a32, b32, c32 and so on.
class Rewriting {
 public:
  explicit Rewriting(const string& text) {
    const auto space = text.find(' ');
    name_ = text.substr(0, space);
    modifiers_ = split(name_, '.');
    for (const string& part : modifiers_)
      if (is_type(part)) types_.push_back(part);
    operands_ = text.substr(space + 1, text.rfind(';') - space - 1);
  }

  std::optional<InstructionForm> form() {
    if (!kOpcodes.contains(modifiers_[0]) || types_.empty() || operands_.find_first_of("[{%") != string::npos)
      return std::nullopt;
    const auto first = operands_.find(", ");
    const string destinations = rewritten(operands_.substr(0, first), &Rewriting::destination);
    const string sources = rewritten(operands_.substr(first), &Rewriting::source);
    if (sources_ > 3) return std::nullopt;
    const string instruction = name_ + " " + destinations + sources + "; ";
    string text = before() + instruction + after();
    text.erase(text.find_last_not_of(' ') + 1);
    return InstructionForm{text, kinds_, result_bits_};
  }

 private:
  bool has(const string& modifier) const {
    return std::find(modifiers_.begin(), modifiers_.end(), modifier) != modifiers_.end();
  }
  bool is_one_of(const std::set<string>& opcodes) const { return opcodes.contains(modifiers_[0]); }

  string rewritten(const string& operands, string (Rewriting::*rewrite)(const string&)) {
    // Not the selectors of video instructions: r1.h0.
    static const std::regex kRegister("\\.?\\b([hrfdg][0-9]+|[pqs])\\b");
    string result;
    auto last = operands.cbegin();
    for (std::sregex_iterator match(operands.begin(), operands.end(), kRegister), end; match != end; ++match) {
      result.append(last, (*match)[0].first);
      const string found = match->str();
      result += found[0] == '.' ? found : (this->*rewrite)(found);
      last = (*match)[0].second;
    }
    return result.append(last, operands.cend());
  }

  string destination(const string& name) {
    if (name.size() == 1) return predicates_written_++ == 0 ? "r" : "q";
    result_bits_ = width_of(name[0]);
    writes_register_ = true;
    return "d" + std::to_string(result_bits_);
  }

  string source(const string& name) {
    if (name.size() == 1) return predicates_read_++ == 0 ? "p" : "s";
    const int width = width_of(name[0]);
    const std::size_t index = sources_++;
    if (index > 2) return name;
    const bool by_first_type = modifiers_[0] == "slct" && index < 2;
    Kind kind = kind_of(by_first_type ? types_.front() : types_.back(), width);
    if (takes_any_bits(modifiers_[0])) kind = Kind::any32;
    if (is_amount(modifiers_[0], index)) kind = Kind::small;
    kinds_[index] = kind;
    return string(1, "abc"[index]) + std::to_string(width);
  }

  /// Predicates and the carry that the form reads come from c.
  string before() {
    const bool takes_carry = is_one_of({"addc", "subc", "madc"});
    if ((takes_carry || predicates_read_ > 0) && kinds_[2] == Kind::none) kinds_[2] = Kind::any32;
    string text;
    if (predicates_read_ > 0) text += "and.b32 t32, c32, 1; setp.ne.u32 p, t32, 0; ";
    if (predicates_read_ > 1) text += "and.b32 t32, c32, 2; setp.ne.u32 s, t32, 0; ";
    if (takes_carry) text += (modifiers_[0] == "subc" ? "sub" : "add") + string(".cc.u32 t32, c32, 0x80000000; ");
    return text;
  }

  /// Predicates and the carry that it writes go into d.
  string after() {
    string text;
    if (predicates_written_ > 0) text += writes_register_ ? "@r add.u32 d32, d32, 1; " : "selp.u32 d32, 1, 0, r; ";
    if (predicates_written_ > 1) text += "@q add.u32 d32, d32, 2; ";
    if (!has("cc")) return text;
    text += (is_one_of({"sub", "subc"}) ? "subc" : "addc") + string(".u32 t32, 0, 0; shl.b32 t32, t32, 31; ");
    if (result_bits_ == 32) return text + "xor.b32 d32, d32, t32; ";
    return text + "cvt.u64.u32 t64, t32; shl.b64 t64, t64, 32; xor.b64 d64, d64, t64; ";
  }

  string name_, operands_;
  Strings modifiers_, types_;
  std::array<Kind, 3> kinds_{};
  std::size_t sources_ = 0;
  int predicates_read_ = 0, predicates_written_ = 0;
  int result_bits_ = 32;
  bool writes_register_ = false;
};

}  // namespace

std::vector<InstructionForm> listed_forms() {
  std::set<string> known;
  for (const InstructionForm& form : instruction_forms()) known.insert(form.snippet);
  std::vector<InstructionForm> forms;
  for (const PtxForm& listed : ptx_forms()) {
    const auto form = Rewriting(listed.text).form();
    if (form && known.insert(form->snippet).second) forms.push_back(*form);
  }
  return forms;
}

}  // namespace evo::conformance
