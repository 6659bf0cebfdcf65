#include "engine/device/tensor_element.h"

namespace evo {

TensorElement tensor_element_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
    case DType::s8:
    case DType::e2m1:
    case DType::e8m0:
    case DType::e4m3:
    case DType::e5m2:
      return TensorElement::u8;
    case DType::u16:
    case DType::s16:
      return TensorElement::u16;
    case DType::u32:
      return TensorElement::u32;
    case DType::s32:
      return TensorElement::s32;
    case DType::u64:
      return TensorElement::u64;
    case DType::s64:
      return TensorElement::s64;
    case DType::f16:
      return TensorElement::f16;
    case DType::bf16:
      return TensorElement::bf16;
    case DType::f32:
      return TensorElement::f32;
    case DType::f64:
      return TensorElement::f64;
  }
  return TensorElement::u8;
}

}  // namespace evo
