inline std::vector<long long> shuffled(long long size, Random& random) {
  std::vector<long long> order(static_cast<size_t>(size));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<long long>(i);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.bits() % i]);
  return order;
}

// 0 first, numbers[0] last, what does not fall between them; one in four repeats its neighbour.
inline std::vector<double> offsets(size_t size, double total, Random& random) {
  std::vector<double> cuts(size, 0.0);
  for (double& cut : cuts) cut = std::floor(random.unit() * (total + 1));
  cuts.front() = 0;
  cuts.back() = total;
  std::sort(cuts.begin(), cuts.end());
  for (size_t i = 1; i + 1 < size; ++i) {
    if (random.bits() % 4 == 0) cuts[i] = cuts[i - 1];
  }
  return cuts;
}

inline void draw_by_kind(const Tensor& tensor, uint64_t seed, Bytes& elements) {
  Random random(seed);
  const long long size = count(tensor);
  const std::vector<double>& numbers = tensor.numbers;
  const auto each = [&](auto value) {
    for (long long i = 0; i < size; ++i) store_at(tensor.dtype, elements, static_cast<size_t>(i), value(static_cast<size_t>(i)));
  };
  switch (tensor.draw) {
    case Draw::constant: return each([&](size_t) { return numbers[0]; });
    case Draw::list: return each([&](size_t i) { return i < numbers.size() ? numbers[i] : 0.0; });
    case Draw::iota: return each([&](size_t i) { return numbers[0] + static_cast<double>(i) * numbers[1]; });
    case Draw::uniform:
      return each([&](size_t) {
        const double value = numbers[0] + random.unit() * (numbers[1] - numbers[0]);
        return is_integer(tensor.dtype) ? std::floor(value) : value;
      });
    case Draw::normal: return each([&](size_t) { return numbers[0] + random.normal() * numbers[1]; });
    case Draw::non_negative: return each([&](size_t) { return std::fabs(static_cast<double>(random.normal())); });
    case Draw::integers:
      return each([&](size_t) { return std::min(numbers[1], numbers[0] + std::floor(random.unit() * (numbers[1] - numbers[0] + 1))); });
    case Draw::permutation:
    case Draw::shuffle: {
      const size_t length = static_cast<size_t>(tensor.draw == Draw::shuffle ? size : row_of(tensor));
      std::vector<long long> order;
      return each([&](size_t i) {
        if (i % length == 0) order = shuffled(static_cast<long long>(length), random);
        return static_cast<double>(order[i % length]);
      });
    }
    case Draw::offsets: {
      const std::vector<double> cuts = offsets(static_cast<size_t>(size), numbers[0], random);
      return each([&](size_t i) { return cuts[i]; });
    }
    case Draw::page_table: {
      const std::vector<long long> order = shuffled(static_cast<long long>(numbers[0]), random);
      return each([&](size_t i) { return static_cast<double>(order[i % order.size()]); });
    }
    case Draw::file:
      if (tensor.file_bytes != elements.size()) {
        std::fprintf(stderr, "%s: its file has %zu bytes, this shape wants %zu\n", tensor.name, tensor.file_bytes, elements.size());
        std::exit(2);
      }
      std::memcpy(elements.data(), tensor.file, tensor.file_bytes);
      return;
    default:
      for (unsigned char& byte : elements) byte = static_cast<unsigned char>(random.bits());
  }
}
