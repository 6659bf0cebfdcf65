namespace ${main} {

enum class DType { ${dtypes} };

// What an output may differ from the reference by; 0: not checked.
struct Limits {
  double relative_l2, cosine, max_abs, row_l2, atol, rtol;
  double off_by_one;  // The share of integers that may be off by one; none by more. The others are then not looked at.
  bool exact;  // Every element equals the reference's; the others are not looked at.
};
//% if drawn_by_kind

// How the elements of a tensor are drawn; regime: N(0, 1).
enum class Draw { regime, constant, list, iota, uniform, normal, non_negative, integers, permutation, shuffle, offsets, page_table, bits, file };
//% end

struct Tensor {
  const char* name;
  DType dtype;
  bool output;
  std::vector<long long> dims;          // Outermost first.
  std::vector<long long> strides = {};  // In elements. Empty: densely packed.
  int scale = -1;                       // Index of the tensor that holds the scales of this one; -1: none.
  int zero_point = -1;                  // Index of the tensor that holds its zero points; -1: none.
  bool computed = false;                // Holds scales or zero points of an input.
  bool inout = false;                   // An output that holds drawn values before a call.
  DType wanted = DType::f32;            // An output as the reference writes it.
  Limits limits = {};
//% if drawn_by_kind
  Draw draw = Draw::regime;
  std::vector<double> numbers = {};
  const unsigned char* file = nullptr;
  size_t file_bytes = 0;
//% end
//% if equal
  int any_of_equal = -1;  // Its indices may be those of any equal element of a row of this input.
//% end
};

struct Claim {
  const char* shape;
  long long parameters[${rank}];
  double us;
};
