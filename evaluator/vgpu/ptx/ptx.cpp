#include "evaluator/vgpu/ptx/ptx.h"

namespace evo::vgpu::ptx {
namespace {

struct TypeFacts {
  std::string_view name;
  Type type;
  int bits;
};

constexpr TypeFacts kTypes[] = {
    {"pred", Type::pred, 1},      {"b8", Type::b8, 8},          {"b16", Type::b16, 16},
    {"b32", Type::b32, 32},       {"b64", Type::b64, 64},       {"b128", Type::b128, 128},
    {"u8", Type::u8, 8},          {"u16", Type::u16, 16},       {"u32", Type::u32, 32},
    {"u64", Type::u64, 64},       {"s8", Type::s8, 8},          {"s16", Type::s16, 16},
    {"s32", Type::s32, 32},       {"s64", Type::s64, 64},       {"f16", Type::f16, 16},
    {"f16x2", Type::f16x2, 32},   {"bf16", Type::bf16, 16},     {"bf16x2", Type::bf16x2, 32},
    {"tf32", Type::tf32, 32},     {"f32", Type::f32, 32},       {"f64", Type::f64, 64},
    {"e4m3x2", Type::e4m3x2, 16}, {"e5m2x2", Type::e5m2x2, 16}, {"u16x2", Type::u16x2, 32},
    {"s16x2", Type::s16x2, 32},   {"f32x2", Type::f32x2, 64},   {"e2m1x2", Type::e2m1x2, 8},
    {"e2m3x2", Type::e2m3x2, 16}, {"e3m2x2", Type::e3m2x2, 16}, {"ue8m0x2", Type::ue8m0x2, 16},
};

}  // namespace

int bits_of(Type type) {
  for (const TypeFacts& facts : kTypes) {
    if (facts.type == type) return facts.bits;
  }
  return 0;
}

bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}

bool is_float(Type type) {
  return type >= Type::f16;
}

Type parse_type(std::string_view suffix) {
  for (const TypeFacts& facts : kTypes) {
    if (facts.name == suffix) return facts.type;
  }
  return Type::none;
}

std::string_view name_of(Type type) {
  for (const TypeFacts& facts : kTypes) {
    if (facts.type == type) return facts.name;
  }
  return "none";
}

std::string Statement::opcode() const {
  std::string text;
  for (const std::string_view part : parts) {
    if (!text.empty()) text += '.';
    text += part;
  }
  return text;
}

}  // namespace evo::vgpu::ptx
