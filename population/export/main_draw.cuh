// N(0, 1) where nothing else is said, quantised where there are scales.
inline void draw(const std::vector<Tensor>& tensors, size_t index, std::vector<Bytes>& elements) {
  const Tensor& tensor = tensors[index];
//% if drawn_by_kind
  if (tensor.draw != Draw::regime) return draw_by_kind(tensor, index + 1, elements[index]);
//% end
  Random random(index + 1);
  std::vector<float> values(static_cast<size_t>(count(tensor)));
  for (float& value : values) value = random.normal();
//% if scaled
  if (tensor.scale >= 0) return quantise(tensors, index, values, elements);
//% end
  for (size_t i = 0; i < values.size(); ++i) store_at(tensor.dtype, elements[index], i, values[i]);
}
