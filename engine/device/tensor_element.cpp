#include "engine/device/tensor_element.h"

#include "engine/record/enumerators.h"

namespace evo {

TensorElement tensor_element_of(DType dtype) {
  const auto bits = dtype == DType::s16 ? TensorElement::u16 : TensorElement::u8;
  return enumerator_named<TensorElement>(enumerator_name(dtype)).value_or(bits);
}

}  // namespace evo
