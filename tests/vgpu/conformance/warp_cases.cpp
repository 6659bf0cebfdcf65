#include "tests/vgpu/conformance/warp_cases.h"

#include <functional>

#include "tests/vgpu/conformance/operand_values.h"
#include "tests/vgpu/conformance/warp_kernel.h"

namespace evo::conformance {
namespace {

using std::string;
using Words = std::vector<std::uint32_t>;

/// Appends a thread's words; blocks of 32 threads.
using Fill = std::function<void(Words&, Random&, int block, int lane)>;

string number(int value) {
  return std::to_string(value);
}

class Cases {
 public:
  void add(const string& name, const string& body, int in_words, int out_words, const Fill& fill,
           std::uint32_t cluster = 1) {
    constexpr int kBlocks = 12, kThreads = 32;
    Random random{seed_of(name)};
    Case test;
    test.name = name;
    test.ptx = warp_kernel(body, in_words, out_words,
                           cluster > 1 ? ".reqnctapercluster " + std::to_string(cluster) + ", 1, 1" : "");
    test.cluster = cluster;
    test.blocks = kBlocks;
    test.threads = kThreads;
    for (int block = 0; block < kBlocks; ++block)
      for (int lane = 0; lane < kThreads; ++lane) fill(test.in, random, block, lane);
    test.out_words = static_cast<std::size_t>(kBlocks * kThreads * out_words);
    list.push_back(std::move(test));
  }
  std::vector<Case> list;
};

void append(Words& words, std::uint64_t value) {
  words.push_back(static_cast<std::uint32_t>(value));
  words.push_back(static_cast<std::uint32_t>(value >> 32));
}

Fill any_words(int count) {
  return [count](Words& words, Random& random, int, int) {
    for (int i = 0; i < count; ++i) words.push_back(random.bits());
  };
}

// ---- Exchanges of a warp.

void add_shuffles(Cases& cases) {
  for (const string mode : {"up", "down", "bfly", "idx"})
    for (const string width : {"32", "16", "4", "any"}) {
      const Fill fill = [&](Words& words, Random& random, int, int) {
        words.push_back(random.bits());
        words.push_back(static_cast<std::uint32_t>(random_value(random, Kind::small)));
        const std::uint32_t segments = width == "any" ? 0 : 32 - static_cast<std::uint32_t>(std::stoi(width));
        words.push_back(width == "any" ? random.bits() : segments << 8 | (mode == "up" ? 0 : 31));
      };
      cases.add("shfl.sync." + mode + ".b32 width " + width,
                "shfl.sync." + mode + ".b32 o0|p, r0, r1, r2, 0xffffffff; selp.u32 o1, 1, 0, p;", 3, 2, fill);
    }
}

/// r0: the thread's value; r1: whether it takes part; r2: the mask of the threads that do.
constexpr int kMemberWords = 3;
Fill members(const std::function<std::uint32_t(Random&, int block)>& value) {
  return [value](Words& words, Random& random, int block, int lane) {
    constexpr std::uint32_t kMasks[] = {0xffffffff, 1, 0x80000000, 0x0000ffff, 0xaaaaaaaa, 0x00f00f10};
    const std::uint32_t mask = kMasks[block % 6];
    words.push_back(value(random, block));
    words.push_back(mask >> lane & 1);
    words.push_back(mask);
  };
}
/// Threads outside the mask output ~0.
string of_members(const string& instructions) {
  return "mov.b32 o0, -1; mov.b32 o1, -1; setp.ne.u32 q, r0, 0; setp.eq.u32 s, r1, 0; @s bra done;\n" + instructions +
         "\ndone:";
}

void add_votes(Cases& cases) {
  // All, none, nearly all and nearly none of the threads.
  const Fill fill = members([](Random& random, int block) -> std::uint32_t {
    const int choice = block / 3;
    return choice == 0 ? 1 : choice == 1 ? 0 : random.below(12) == 0 ? choice % 2 : 1 - choice % 2;
  });
  for (const string negated : {"", "!"}) {
    for (const string mode : {"all", "any", "uni"})
      cases.add("vote.sync." + mode + ".pred " + negated,
                of_members("vote.sync." + mode + ".pred p, " + negated + "q, r2; selp.u32 o0, 1, 0, p;"), kMemberWords,
                2, fill);
    cases.add("vote.sync.ballot.b32 " + negated, of_members("vote.sync.ballot.b32 o0, " + negated + "q, r2;"),
              kMemberWords, 2, fill);
  }
  cases.add("activemask.b32", of_members("activemask.b32 o0;"), kMemberWords, 2, fill);
  cases.add("elect.sync", of_members("elect.sync o0|p, r2; selp.u32 o1, 1, 0, p;"), kMemberWords, 2, fill);
}

void add_matches(Cases& cases) {
  const Fill fill = members([](Random& random, int block) -> std::uint32_t {
    constexpr std::uint32_t kValues[] = {0, 0xffffffff, 0x80000000, 7};
    return kValues[block < 6 ? 3 : random.below(4)];
  });
  for (const string bits : {"32", "64"}) {
    const string value = bits == "32" ? "r0" : "d0", widen = "mov.b64 d0, {r2, r0}; ";
    cases.add("match.any.sync.b" + bits, of_members(widen + "match.any.sync.b" + bits + " o0, " + value + ", r2;"),
              kMemberWords, 2, fill);
    cases.add("match.all.sync.b" + bits,
              of_members(widen + "match.all.sync.b" + bits + " o0|p, " + value + ", r2; selp.u32 o1, 1, 0, p;"),
              kMemberWords, 2, fill);
  }
}

void add_warp_reductions(Cases& cases) {
  const Fill fill =
      members([](Random& random, int) { return static_cast<std::uint32_t>(random_value(random, Kind::i32)); });
  for (const string operation :
       {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"})
    cases.add("redux.sync." + operation, of_members("redux.sync." + operation + " o0, r0, r2;"), kMemberWords, 2, fill);
}

void add_barrier_reductions(Cases& cases) {
  const Fill fill = [](Words& words, Random& random, int block, int) {
    words.push_back(block == 0 ? 1 : block == 1 ? 0 : random.below(block < 6 ? 20 : 2) == 0);
  };
  for (const string name : {"bar", "barrier"})
    for (const string negated : {"", "!"}) {
      const string question = "setp.ne.u32 q, r0, 0; mov.b32 t0, 1; ", operand = negated + "q;";
      cases.add(name + ".red.popc.u32 " + negated, question + name + ".red.popc.u32 o0, 0, " + operand, 1, 1, fill);
      for (const string mode : {"and", "or"})
        cases.add(name + ".red." + mode + ".pred " + negated,
                  question + name + ".red." + mode + ".pred p, t0, 32, " + operand + " selp.u32 o0, 1, 0, p;", 1, 1,
                  fill);
    }
}

// ---- Matrices of 8 by 8.

void add_matrices(Cases& cases) {
  cases.add("movmatrix.sync.aligned.m8n8.trans.b16", "movmatrix.sync.aligned.m8n8.trans.b16 o0, r0;", 1, 1,
            any_words(1));
  const string keep =
      "mov.u32 t0, smem; mad.lo.u32 t1, lane, 32, t0; st.shared.v4.b32 [t1], {r0, r1, r2, r3};"
      "st.shared.v4.b32 [t1+16], {r4, r5, r6, r7}; bar.warp.sync 0xffffffff;";
  // Rows may lie anywhere, also in the same place; those that are stored may not.
  const string any_row = "and.b32 t2, r8, 63; mad.lo.u32 t2, t2, 16, t0;";
  const string own_row = "xor.b32 t2, lane, 21; mad.lo.u32 t2, t2, 32, t0;";
  for (const int count : {1, 2, 4})
    for (const string trans : {"", ".trans"}) {
      const string form = "matrix.sync.aligned.m8n8.x" + number(count) + trans + ".shared.b16 ";
      const auto list = [&](const string& letter) {
        string text = "{";
        for (int i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + letter + number(i);
        return text + "}";
      };
      cases.add("ld" + form, keep + any_row + "ld" + form + list("o") + ", [t2];", 9, count, any_words(9));
      string back = "bar.warp.sync 0xffffffff;";
      for (int i = 0; i < 8; ++i) back += "ld.shared.b32 o" + number(i) + ", [t1+" + number(4 * i) + "];";
      cases.add("st" + form, keep + own_row + "st" + form + "[t2], " + list("r") + ";" + back, 8, 8, any_words(8));
    }
}

// ---- Atomics. Each thread has its own location, so the order of threads does not matter.

struct AtomicType {
  string name;  ///< "add.u32", "add.noftz.v2.bf16".
  Kind kind = Kind::i32;
  int bits = 32;  ///< Of one operand; of an element where it is a vector.
  int count = 1;  ///< Elements of a vector.
};

/// The operations on one number of 32 or 64 bits that atomics and bulk reductions have in common.
std::vector<AtomicType> whole_types() {
  std::vector<AtomicType> types;
  for (const string name : {"and.b32", "or.b32", "xor.b32", "add.u32", "add.s32", "inc.u32", "dec.u32", "min.u32",
                            "max.u32", "min.s32", "max.s32"})
    types.push_back({name, Kind::i32, 32});
  for (const string name : {"and.b64", "or.b64", "xor.b64", "add.u64", "min.u64", "max.u64", "min.s64", "max.s64"})
    types.push_back({name, Kind::i64, 64});
  types.push_back({"add.f32", Kind::f32, 32});
  types.push_back({"add.f64", Kind::f64, 64});
  return types;
}

std::vector<AtomicType> atomic_types() {
  std::vector<AtomicType> types = whole_types();
  types.push_back({"add.noftz.f16", Kind::f16, 16});
  types.push_back({"add.noftz.bf16", Kind::bf16, 16});
  types.push_back({"add.noftz.f16x2", Kind::f16x2, 32});
  types.push_back({"add.noftz.bf16x2", Kind::bf16x2, 32});
  return types;
}

std::vector<AtomicType> vector_types() {
  std::vector<AtomicType> types{{"add.v2.f32", Kind::f32, 32, 2}, {"add.v4.f32", Kind::f32, 32, 4}};
  for (const string operation : {"add", "min", "max"})
    for (const bool bf16 : {false, true}) {
      const string name = operation + ".noftz.v", type = bf16 ? ".bf16" : ".f16";
      for (const int count : {2, 4, 8})
        types.push_back({name + number(count) + type, bf16 ? Kind::bf16 : Kind::f16, 16, count});
      for (const int count : {2, 4})
        types.push_back({name + number(count) + type + "x2", bf16 ? Kind::bf16x2 : Kind::f16x2, 32, count});
    }
  return types;
}

/// Operands of each thread, in as many words as there are register words: for each element the stored one, then the
/// other.
Fill pairs_of(const AtomicType& type, int operands) {
  return [type, operands](Words& words, Random& random, int, int) {
    for (int i = 0; i < operands * type.count; ++i) {
      const std::uint64_t value = random_value(random, type.kind);
      words.push_back(static_cast<std::uint32_t>(value));
      if (type.bits == 64) words.push_back(static_cast<std::uint32_t>(value >> 32));
    }
  };
}

/// PTX that uses the operands, numbered from 0, as registers of the width that atomics want; 16-bit ones are declared
/// here.
struct Operands {
  explicit Operands(const AtomicType& type) : type(type) {
    if (type.bits == 16) {
      prepare = ".reg .b16 h<32>; ";
      for (int i = 0; i < 3 * type.count && i < 16; ++i)
        prepare += "cvt.u16.u32 h" + number(i) + ", r" + number(i) + "; ";
    } else if (type.bits == 64) {
      for (int i = 0; i < 3; ++i)
        prepare += "mov.b64 d" + number(i) + ", {r" + number(2 * i) + ", r" + number(2 * i + 1) + "}; ";
    }
  }
  string reg(int index) const { return (type.bits == 16 ? "h" : type.bits == 64 ? "d" : "r") + number(index); }
  /// Element registers as atomics name them: one, or a list.
  string list(int first) const {
    if (type.count == 1) return reg(first);
    string text = "{";
    for (int i = 0; i < type.count; ++i) text += (i > 0 ? ", " : "") + reg(first + i);
    return text + "}";
  }
  string store(const string& place, int first) const {
    string text;
    for (int i = 0; i < type.count; ++i)
      text +=
          "st.b" + number(type.bits) + " [" + place + "+" + number(i * type.bits / 8) + "], " + reg(first + i) + "; ";
    return text;
  }
  AtomicType type;
  string prepare;
};

/// The thread's location: 32 bytes of shared memory, or its words of the output.
string place_in(const string& space) {
  if (space != ".shared") return "mov.b64 d20, to; mov.b64 d21, d20; ";
  return "mov.u32 t0, smem; mad.lo.u32 t0, lane, 32, t0; cvt.u64.u32 d20, t0; cvta.shared.u64 d21, d20; ";
}

void add_atomic(Cases& cases, const string& name, const AtomicType& type, const string& space, int operands,
                const string& arguments, bool returns) {
  const Operands o(type);
  const int words = std::max(1, type.bits * type.count / 32);
  const string target = space.empty() ? "d21" : "d20";
  // The output: the final values, then the old ones.
  const int old = type.count * (operands > 2 ? 3 : 2);
  string body = o.prepare + place_in(space) + o.store("d21", 0);
  body += name + (returns ? " " + o.list(old) + ", [" : " [") + target + "]" + arguments + ";\n";
  for (int i = 0; i < words; ++i) body += "ld.b32 o" + number(i) + ", [d21+" + number(4 * i) + "]; ";
  if (returns) body += o.store("d21", old);
  for (int i = 0; i < words; ++i)
    body += returns ? "ld.b32 o" + number(words + i) + ", [d21+" + number(4 * i) + "]; "
                    : "mov.b32 o" + number(words + i) + ", 0; ";
  const int out_words = std::max(2 * words, 4);
  for (int i = 2 * words; i < out_words; ++i) body += "mov.b32 o" + number(i) + ", 0; ";
  // A store of 16 bits keeps the rest of the word.
  if (type.bits * type.count == 16) body += "and.b32 o0, o0, 0xffff; and.b32 o1, o1, 0xffff;";
  const int in_words = operands * type.count * std::max(1, type.bits / 32);
  cases.add(name, body, in_words, out_words, pairs_of(type, operands));
}

void add_atomics(Cases& cases) {
  for (const string space : {"", ".global", ".shared"}) {
    for (const AtomicType& type : atomic_types()) {
      const string argument = ", " + Operands(type).reg(1);
      add_atomic(cases, "atom" + space + "." + type.name, type, space, 2, argument, true);
      add_atomic(cases, "red" + space + "." + type.name, type, space, 2, argument, false);
    }
    for (const int bits : {16, 32, 64}) {
      const AtomicType type{"", bits == 16 ? Kind::i16 : bits == 32 ? Kind::small : Kind::i64, bits};
      const Operands o(type);
      if (bits > 16)
        add_atomic(cases, "atom" + space + ".exch.b" + number(bits), type, space, 2, ", " + o.reg(1), true);
      add_atomic(cases, "atom" + space + ".cas.b" + number(bits), type, space, 3, ", " + o.reg(1) + ", " + o.reg(2),
                 true);
    }
  }
  // 128 bits: every other thread finds what it compares with.
  const Fill fill = [](Words& words, Random& random, int, int lane) {
    for (int i = 0; i < 12; ++i) words.push_back(i >= 4 && i < 8 && lane % 2 == 0 ? *(words.end() - 4) : random.bits());
  };
  const string registers = ".reg .b128 x<4>; ";
  string pack;
  for (int i = 0; i < 3; ++i) {
    const auto pair = [&](int first) {
      return "mov.b64 d" + number(first / 2) + ", {r" + number(first) + ", r" + number(first + 1) + "}; ";
    };
    pack += pair(4 * i) + pair(4 * i + 2) + "mov.b128 x" + number(i) + ", {d" + number(2 * i) + ", d" +
            number(2 * i + 1) + "}; ";
  }
  const auto unpack = [](const string& from, int first) {
    const auto word = [&](int i) { return "o" + number(first + i); };
    return "mov.b128 {d10, d11}, " + from + "; mov.b64 {" + word(0) + ", " + word(1) + "}, d10; mov.b64 {" + word(2) +
           ", " + word(3) + "}, d11; ";
  };
  for (const string space : {"", ".global", ".shared"})
    for (const string operation : {"exch", "cas"}) {
      const string name = "atom" + space + "." + operation + ".b128", target = space.empty() ? "d21" : "d20";
      cases.add(name,
                registers + pack + place_in(space) + "st.v4.b32 [d21], {r0, r1, r2, r3};\n" + name + " x3, [" + target +
                    "], x1" + (operation == "cas" ? ", x2" : "") + ";\nld.b128 x2, [d21]; " + unpack("x2", 0) +
                    unpack("x3", 4),
                12, 8, fill);
    }
  for (const AtomicType& type : vector_types()) {
    const string argument = ", " + Operands(type).list(type.count);
    add_atomic(cases, "atom.global." + type.name, type, ".global", 2, argument, true);
    add_atomic(cases, "red.global." + type.name, type, ".global", 2, argument, false);
  }
}

// ---- Reductions by bulk copies and by asynchronous stores: 32 bytes of each thread.

Fill thirty_two_bytes(Kind kind, int bits) {
  return [=](Words& words, Random& random, int, int) {
    // The stored ones, then the others.
    for (int i = 0; i < 512 / bits; ++i) {
      const std::uint64_t value = random_value(random, kind);
      if (bits == 16 && i % 2 != 0)
        words.back() |= static_cast<std::uint32_t>(value) << 16;
      else if (bits == 64)
        append(words, value);
      else
        words.push_back(static_cast<std::uint32_t>(value));
    }
  };
}

/// The set-up of blocks of a cluster of two that write to each other. `fill` fills the thread's 32 bytes of smem at t1
/// and of sums at t2; t0, t3 and t4 are smem, sums and the barrier of this block, t5 and t6 sums and the barrier of the
/// `other` one (1) or of this one too (0); p says which thread is the first.
string to_a_block(const string& fill, int other) {
  return ".shared .align 128 .b8 sums[1024]; .shared .align 8 .b64 arrived; mov.u32 t0, smem; mov.u32 t3, sums; "
         "mov.u32 t4, arrived;\n"
         "setp.eq.u32 p, lane, 0; mad.lo.u32 t1, lane, 32, t0; mad.lo.u32 t2, lane, 32, t3;\n" +
         fill +
         "\n@p mbarrier.init.shared.b64 [t4], 1; fence.mbarrier_init.release.cluster; fence.proxy.async;\n"
         "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
         "mov.u32 t7, %cluster_ctarank; xor.b32 t7, t7, " +
         number(other) + "; mapa.shared::cluster.u32 t5, t3, t7; mapa.shared::cluster.u32 t6, t4, t7;\n";
}
string to_the_other_block(const string& fill) {
  return to_a_block(fill, 1);
}
string expects(int bytes) {
  return "@p mbarrier.arrive.expect_tx.shared.b64 _, [t4], " + number(bytes) + ";\n";
}
/// Cases whose waits end: a wait that does not end has no result to compare.
string arrival() {
  return "mov.b32 t7, 0;\nwait: mbarrier.test_wait.parity.shared.b64 q, [t4], 0; add.u32 t7, t7, 1; setp.lt.u32 s, t7, "
         "20000; @q bra done; @s bra wait;\n"
         "done: bar.warp.sync 0xffffffff; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
}

void add_bulk_reductions(Cases& cases) {
  std::vector<AtomicType> reductions = whole_types();
  for (const string name : {"add.noftz", "min", "max"}) {
    reductions.push_back({name + ".f16", Kind::f16, 16});
    reductions.push_back({name + ".bf16", Kind::bf16, 16});
  }
  const auto eight = [](const string& what, const string& place, const string& letter, int first) {
    string text;
    for (int i = 0; i < 8; ++i) {
      const string at = "[" + place + "+" + number(4 * i) + "]", reg = letter + number(first + i);
      text += what + (what.starts_with("st") ? " " + at + ", " + reg : " " + reg + ", " + at) + "; ";
    }
    return text;
  };
  const string first_thread = "setp.eq.u32 p, lane, 0; ";
  for (const AtomicType& r : reductions) {
    const string name = "cp.reduce.async.bulk.global.shared::cta.bulk_group." + r.name;
    cases.add(name,
              "mov.u32 t0, smem; mad.lo.u32 t1, lane, 32, t0; " + eight("st.global.b32", "to", "r", 0) +
                  eight("st.shared.b32", "t1", "r", 8) + "fence.proxy.async; bar.sync 0; " + first_thread + "@p " +
                  name +
                  " [to_block], [t0], 1024;\n"
                  "@p cp.async.bulk.commit_group; @p cp.async.bulk.wait_group 0; fence.proxy.async; bar.sync 0; " +
                  eight("ld.global.b32", "to", "o", 0),
              16, 8, thirty_two_bytes(r.kind, r.bits));
    const bool to_shared = (r.bits == 32 && r.kind == Kind::i32) || r.name == "add.u64";
    if (!to_shared) continue;
    // To the other block of a cluster of two: outside clusters a GPU reports illegal instructions.
    const string to_other =
        to_the_other_block(eight("st.shared.b32", "t2", "r", 0) + eight("st.shared.b32", "t1", "r", 8));
    const string shared = "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." + r.name;
    cases.add(shared,
              to_other + expects(1024) + "@p " + shared + " [t5], [t0], 1024, [t6];\n" + arrival() +
                  eight("ld.shared.b32", "t2", "o", 0),
              16, 8, thirty_two_bytes(r.kind, r.bits), 2);
    const string single = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." + r.name;
    cases.add(single,
              to_other + "mov.b64 d0, {r8, r9}; mad.lo.u32 t7, lane, 32, t5; " + expects(4 * r.bits) + single +
                  " [t7], " + (r.bits == 64 ? "d0" : "r8") + ", [t6];\n" + arrival() +
                  eight("ld.shared.b32", "t2", "o", 0),
              16, 8, thirty_two_bytes(r.kind, r.bits), 2);
  }
}

void add_stores_to_other_blocks(Cases& cases) {
  const string fill = "st.shared.v4.b32 [t2], {r0, r1, r2, r3}; st.shared.v4.b32 [t1], {r4, r5, r6, r7};";
  const string back = "ld.shared.v4.b32 {o0, o1, o2, o3}, [t2];";
  const string copy = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes";
  cases.add(copy,
            to_the_other_block(fill) + expects(1024) + "@p " + copy + " [t5], [t0], 1024, [t6];\n" + arrival() + back,
            8, 4, any_words(8), 2);
  struct Store {
    string type, value;
    int bytes;
  };
  for (const Store& store : {Store{"b32", "r4", 4}, Store{"b64", "d0", 8}, Store{"v2.b32", "{r4, r5}", 8},
                             Store{"v2.b64", "{d0, d1}", 16}, Store{"v4.b32", "{r4, r5, r6, r7}", 16}})
    cases.add("st.async." + store.type,
              to_the_other_block(fill) + "mov.b64 d0, {r4, r5}; mov.b64 d1, {r6, r7}; mad.lo.u32 t7, lane, 32, t5; " +
                  expects(32 * store.bytes) + "st.async.shared::cluster.mbarrier::complete_tx::bytes." + store.type +
                  " [t7], " + store.value + ", [t6];\n" + arrival() + back,
              8, 4, any_words(8), 2);
  for (const string single : {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32",
                              "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32"})
    cases.add(single + " to the own block",
              to_a_block(fill, 0) + "mad.lo.u32 t7, lane, 32, t5; " + expects(128) + single + " [t7], r4, [t6];\n" +
                  arrival() + back,
              8, 4, any_words(8), 2);
  cases.add(copy + " to the own block",
            to_a_block(fill, 0) + expects(1024) + "@p " + copy + " [t5], [t0], 1024, [t6];\n" + arrival() + back, 8, 4,
            any_words(8), 2);
  // The first block's words go to both.
  const string multicast = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster";
  cases.add(multicast,
            to_the_other_block(fill) + expects(1024) +
                "mov.u32 t7, %cluster_ctarank; setp.eq.u32 s, t7, 0; and.pred s, s, p; .reg .b16 both; mov.b16 both, "
                "3;\n@s " +
                multicast + " [t3], [from_block], 1024, [t4], both;\n" + arrival() + back,
            8, 4, any_words(8), 2);
}

// ---- Copies and waits for them.

/// A byte count of at most `most`, then the thread's data.
Fill counted(int most) {
  return [most](Words& words, Random& random, int, int lane) {
    for (int i = 0; i < 4; ++i) words.push_back(random.bits());
    words.push_back(static_cast<std::uint32_t>(lane < most ? lane : random.below(most + 1)));
    for (int i = 0; i < 7; ++i) words.push_back(random.bits());
  };
}

void add_copies(Cases& cases) {
  const string mine =
      "mov.u32 t0, smem; mad.lo.u32 t1, lane, 32, t0; st.shared.v4.b32 [t1], {r5, r6, r7, r8}; and.b32 t2, r5, 1; "
      "setp.ne.u32 p, t2, 0;\n";
  const string back = "\ncp.async.wait_all; ld.shared.v4.b32 {o0, o1, o2, o3}, [t1];";
  struct Size {
    string mode;
    int bytes;
  };
  for (const Size& size : {Size{"ca", 4}, Size{"ca", 8}, Size{"ca", 16}, Size{"cg", 16}}) {
    const string copy = "cp.async." + size.mode + ".shared.global [t1], [from], " + number(size.bytes);
    const string name = "cp.async." + size.mode + " " + number(size.bytes);
    cases.add(name, mine + copy + ";" + back, 12, 4, counted(size.bytes));
    cases.add(name + ", a part", mine + copy + ", r4;" + back, 12, 4, counted(size.bytes));
    cases.add(name + ", ignored", mine + copy + ", p;" + back, 12, 4, counted(size.bytes));
  }
}

// ---- mbarriers: pending counts and the results of waits.

void add_mbarriers(Cases& cases) {
  // Each thread has a barrier of its own, for 4 to 11 arrivals.
  const string begin =
      "mov.u32 t0, smem; mad.lo.u32 t0, lane, 32, t0; and.b32 t1, r0, 7; add.u32 t1, t1, 4; mbarrier.init.shared.b64 "
      "[t0], t1;\n";
  const auto pending = [](int output) { return "mbarrier.pending_count.b64 o" + number(output) + ", d0;\n"; };
  const auto answer = [](int output) { return "; selp.u32 o" + number(output) + ", 1, 0, p;\n"; };
  const auto waits = [&](const string& parity, int output) {
    return "mbarrier.test_wait.parity.shared.b64 p, [t0], " + parity + answer(output);
  };
  const string arrive = "mbarrier.arrive.shared.b64 d0, [t0];\n";
  string body = begin + arrive + pending(3) + "mov.b64 d1, d0;\nmbarrier.arrive.noComplete.shared.b64 d0, [t0], 2;\n" +
                pending(2) + waits("0", 1) + waits("1", 0);
  // The last arrivals of the first phase; one of them drops out.
  body += "mbarrier.arrive_drop.shared.b64 d0, [t0];\n" + pending(8) +
          "sub.u32 t2, t1, 4;\nmore: setp.eq.u32 p, t2, 0; @p bra enough; sub.u32 t2, t2, 1;\n" + arrive +
          "bra more;\nenough:\n" + waits("0", 7) + waits("1", 6) + "mbarrier.test_wait.shared.b64 p, [t0], d1" +
          answer(5) + arrive + pending(4);
  cases.add("mbarrier, arrivals", body, 1, 9, any_words(1));

  body = begin +
         "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [t0], 48;\nmbarrier.arrive.release.cta.shared::cta.b64 d0, "
         "[t0], t1;\n" +
         pending(7) + waits("0", 6) + "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [t0], 16;\n" + waits("0", 5) +
         "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [t0], 32;\n" + waits("0", 4) +
         "mbarrier.arrive.expect_tx.shared.b64 d0, [t0], 8;\n" + pending(3) + waits("1", 2) +
         "mbarrier.arrive_drop.expect_tx.shared.b64 d0, [t0], 8;\n" + pending(1) + waits("0", 0);
  cases.add("mbarrier, bytes", body, 1, 8, any_words(1));
}

// ---- Clusters and address spaces.

void add_clusters(Cases& cases) {
  constexpr std::uint32_t kCluster = 4;
  const string meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
  const string target =
      "mov.u32 t0, smem; mad.lo.u32 t1, lane, 4, t0; st.shared.b32 [t1], r0; and.b32 t2, r1, 3; "
      "mapa.shared::cluster.u32 t3, t1, t2;\n" +
      meet;
  cases.add("mapa, getctarank, ld.shared::cluster",
            target +
                "and.b32 o0, t3, 0xffffff; getctarank.shared::cluster.u32 o1, t3; ld.shared::cluster.b32 o2, [t3]; "
                "cvt.u64.u32 d1, t3; cvta.shared::cluster.u64 d0, d1; getctarank.u64 o3, d0;\n" +
                meet,
            2, 4, any_words(2), kCluster);
  // Each thread of rank r writes to the thread of rank r + 1 with the same lane.
  const string next =
      "mov.u32 t2, %cluster_ctarank; add.u32 t2, t2, 1; and.b32 t2, t2, 3; mapa.shared::cluster.u32 t3, t1, t2;\n" +
      meet;
  cases.add("st.shared::cluster, atom.shared::cluster",
            target + next + "atom.shared::cluster.add.u32 o0, [t3], r1; " + meet + "ld.shared.b32 o1, [t1]; " + meet +
                "st.shared::cluster.b32 [t3], r1; " + meet + "ld.shared.b32 o2, [t1]; mov.b32 o3, 0;",
            2, 4, any_words(2), kCluster);
  string registers;
  int outputs = 0;
  for (const string name :
       {"cluster_ctarank", "cluster_nctarank", "clusterid.x", "nclusterid.x", "cluster_ctaid.x", "cluster_nctaid.x",
        "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "laneid"})
    registers += "mov.u32 o" + number(outputs++) + ", %" + name + "; ";
  for (const std::uint32_t cluster : {1u, kCluster})
    cases.add("special registers of clusters of " + std::to_string(cluster),
              registers + "mov.pred p, %is_explicit_cluster; selp.u32 o" + number(outputs) + ", 1, 0, p;", 1,
              outputs + 1, any_words(1), cluster);
  string spaces =
      ".local .align 16 .b8 kept[16]; .reg .b64 ge<4>; mov.u64 d0, smem; cvta.shared.u64 ge0, d0; mov.u64 d1, kept; "
      "cvta.local.u64 ge1, d1; mov.b64 ge2, to; mov.b64 ge3, 0;\n";
  outputs = 0;
  for (int address = 0; address < 4; ++address) {
    const string bits = "o" + number(outputs++);
    spaces += "mov.b32 " + bits + ", 0; ";
    int bit = 1;
    for (const string space : {"global", "shared", "shared::cta", "shared::cluster", "local", "const"}) {
      spaces += "isspacep." + space + " p, ge" + number(address) + "; @p or.b32 " + bits + ", " + bits + ", " +
                number(bit) + ";\n";
      bit *= 2;
    }
  }
  cases.add("isspacep", spaces, 1, outputs, any_words(1));
}

// ---- Moves of parts.

void add_moves(Cases& cases) {
  const string h = ".reg .b16 h<8>; ";
  cases.add("mov.b32 {h, h}, r", h + "mov.b32 {h0, h1}, r0; mov.b32 o0, {h1, h0};", 1, 1, any_words(1));
  cases.add("mov.b64 {r, r}, d", "mov.b64 d0, {r0, r1}; mov.b64 {o1, o0}, d0;", 2, 2, any_words(2));
  cases.add("mov.b64 {r, _}, d", "mov.b64 d0, {r0, r1}; mov.b64 {o0, _}, d0; mov.b64 {_, o1}, d0;", 2, 2, any_words(2));
  cases.add(
      "mov.b64 {h, h, h, h}, d",
      h + "mov.b64 d0, {r0, r1}; mov.b64 {h0, h1, h2, h3}, d0; mov.b64 d1, {h3, h1, h0, h2}; mov.b64 {o0, o1}, d1;", 2,
      2, any_words(2));
  cases.add("mov.b32 {c, c, c, c}, r", ".reg .b8 c<4>; mov.b32 {c0, c1, c2, c3}, r0; mov.b32 o0, {c2, c3, c1, c0};", 1,
            1, any_words(1));
  cases.add("mov.b128 {d, d}, x",
            ".reg .b128 x; mov.b64 d0, {r0, r1}; mov.b64 d1, {r2, r3}; mov.b128 x, {d0, d1}; mov.b128 {d3, d2}, x; "
            "mov.b64 {o0, o1}, d2; mov.b64 {o2, o3}, d3;",
            4, 4, any_words(4));
}

// ---- Loads and stores: how registers that are wider than the type are filled and cut.

void add_transfers(Cases& cases) {
  const string registers = ".reg .b16 h; ";
  for (const string space : {".global", ".shared"}) {
    const string place = "mov.b64 d20, to; mov.u32 t0, smem; mad.lo.u32 t0, lane, 32, t0; ";
    const string at = space == ".global" ? "d20" : "t0";
    const string both = "st" + space + ".b32 [" + at + "], r0; st" + space + ".b32 [" + at + "+4], r1;";
    for (const string type : {"b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64"})
      for (const int width : {16, 32, 64}) {
        if (std::stoi(type.substr(1)) > width) continue;
        const string reg = width == 16 ? "h" : width == 32 ? "t1" : "d0";
        const string from_word = width == 16   ? "cvt.u16.u32 h, r2; "
                                 : width == 32 ? "mov.b32 t1, r2; "
                                               : "mov.b64 d0, {r2, r3}; ";
        const string to_words = width == 16   ? "mov.b32 o0, {h, h}; mov.b32 o1, 0;"
                                : width == 32 ? "mov.b32 o0, t1; mov.b32 o1, 0;"
                                              : "mov.b64 {o0, o1}, d0;";
        const string suffix = space + "." + type + " " + number(width) + "-bit register";
        cases.add("ld" + suffix,
                  registers + place + both + "ld" + space + "." + type + " " + reg + ", [" + at + "]; " + to_words, 4,
                  2, any_words(4));
        cases.add("st" + suffix,
                  registers + place + both + from_word + "st" + space + "." + type + " [" + at + "], " + reg + "; ld" +
                      space + ".b32 o0, [" + at + "]; ld" + space + ".b32 o1, [" + at + "+4];",
                  4, 2, any_words(4));
      }
  }
}

}  // namespace

std::vector<Case> warp_cases() {
  Cases cases;
  add_shuffles(cases);
  add_votes(cases);
  add_matches(cases);
  add_warp_reductions(cases);
  add_barrier_reductions(cases);
  add_matrices(cases);
  add_atomics(cases);
  add_bulk_reductions(cases);
  add_stores_to_other_blocks(cases);
  add_transfers(cases);
  add_copies(cases);
  add_mbarriers(cases);
  add_clusters(cases);
  add_moves(cases);
  return cases.list;
}

}  // namespace evo::conformance
