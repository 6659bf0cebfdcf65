// A float that computes as honest kernels in single precision do. Defined before: EVO_OPERAND(x), x as a tensor core
// takes it; EVO_TANH_ERROR; EVO_AT_RANDOM, whether sums and products are rounded up or down by a hash of their
// operands.
template <class T>
struct evo_number {};
#define EVO_NUMBER(name)    \
  template <>               \
  struct evo_number<name> { \
    using type = name;      \
  };
EVO_NUMBER(float)
EVO_NUMBER(double)
EVO_NUMBER(bool)
EVO_NUMBER(char)
EVO_NUMBER(signed char)
EVO_NUMBER(unsigned char)
EVO_NUMBER(short)
EVO_NUMBER(unsigned short)
EVO_NUMBER(int)
EVO_NUMBER(unsigned)
EVO_NUMBER(long)
EVO_NUMBER(unsigned long)
EVO_NUMBER(long long)
EVO_NUMBER(unsigned long long)
struct evo_single {
  float value;
  evo_single() = default;
  template <class T, class = typename evo_number<T>::type>
  __device__ evo_single(T number) : value((float)number) {}
  __device__ operator float() const { return value; }
};
/// A sum of products may be a tensor core's, whose operands have the type of the tensors.
struct evo_product : evo_single {
  float left, right;
};
__device__ inline unsigned evo_hash(float a, float b) {
  unsigned bits = __float_as_uint(a) * 0x9e3779b1u ^ __float_as_uint(b) * 0x85ebca77u;
  bits = (bits ^ bits >> 15) * 0x2c1b3c6du;
  return bits ^ bits >> 13;
}
#if EVO_AT_RANDOM
#define EVO_ROUNDED(name) (evo_hash(a, b) & 0x10000 ? name##_ru(a, b) : name##_rd(a, b))
#else
#define EVO_ROUNDED(name) name##_rn(a, b)
#endif
__device__ inline evo_single evo_sum(float a, float b) {
  return EVO_ROUNDED(__fadd);
}
__device__ inline evo_single evo_quotient(float a, float b) {
  return EVO_ROUNDED(__fdiv);
}
__device__ inline evo_product evo_times(float a, float b) {
  evo_product product;
  product.value = EVO_ROUNDED(__fmul);
  product.left = a;
  product.right = b;
  return product;
}
/// A number that errs by at most so much.
__device__ inline evo_single evo_about(float number, float x, float error) {
  return number + error * ((int)(evo_hash(number, x) >> 8) * 0x1p-23f - 1);
}
#define EVO_OPERATOR(op, result, call)                               \
  __device__ inline result operator op(evo_single a, evo_single b) { \
    return call;                                                     \
  }                                                                  \
  template <class T, class = typename evo_number<T>::type>           \
  __device__ inline result operator op(evo_single a, T right) {      \
    const float b = (float)right;                                    \
    return call;                                                     \
  }                                                                  \
  template <class T, class = typename evo_number<T>::type>           \
  __device__ inline result operator op(T left, evo_single b) {       \
    const float a = (float)left;                                     \
    return call;                                                     \
  }
EVO_OPERATOR(+, evo_single, evo_sum(a, b))
EVO_OPERATOR(-, evo_single, evo_sum(a, -b))
EVO_OPERATOR(*, evo_product, evo_times(a, b))
EVO_OPERATOR(/, evo_single, evo_quotient(a, b))
__device__ inline evo_single operator-(evo_single a) {
  return -a.value;
}
#define EVO_ASSIGNMENT(op)                                           \
  template <class T>                                                 \
  __device__ inline evo_single& operator op##=(evo_single& a, T b) { \
    return a = a op b;                                               \
  }
EVO_ASSIGNMENT(-)
EVO_ASSIGNMENT(*)
EVO_ASSIGNMENT(/)
template <class T>
__device__ inline evo_single& operator+=(evo_single& a, T b) {
  return a = a + b;
}
__device__ inline evo_single& operator+=(evo_single& a, evo_product b) {
  return a = a + (evo_single)evo_times(EVO_OPERAND(b.left), EVO_OPERAND(b.right));
}
// Errors as the CUDA C++ Programming Guide has them for the intrinsics; of sine and cosine within +-pi.
#define EVO_FUNCTION(name, exact, error)             \
  __device__ inline evo_single name(evo_single of) { \
    const float x = of.value, y = exact(x);          \
    return evo_about(y, x, error);                   \
  }
#define EVO_FUNCTIONS(name, error)     \
  EVO_FUNCTION(name, ::name##f, error) \
  EVO_FUNCTION(name##f, ::name##f, error)
#define EVO_EXPONENTIAL (y * 0x1p-23f * (2 + 1.2f * ::fabsf(x)))
#define EVO_LOGARITHM (0x1p-21f + 0x1p-22f * ::fabsf(y))
#define EVO_WAVE (::fabsf(x) <= 3.2f ? 0x1p-21f : 0)
EVO_FUNCTIONS(exp, EVO_EXPONENTIAL)
EVO_FUNCTION(__expf, ::expf, EVO_EXPONENTIAL)
EVO_FUNCTIONS(exp2, y * 0x1p-22f)
EVO_FUNCTIONS(expm1, y * 0x1p-22f)
EVO_FUNCTIONS(log, EVO_LOGARITHM)
EVO_FUNCTION(__logf, ::logf, EVO_LOGARITHM)
EVO_FUNCTIONS(log2, EVO_LOGARITHM)
EVO_FUNCTIONS(log10, EVO_LOGARITHM)
EVO_FUNCTIONS(log1p, y * 0x1p-22f)
EVO_FUNCTIONS(tanh, y* EVO_TANH_ERROR)
EVO_FUNCTIONS(sqrt, y * 0x1p-23f)
EVO_FUNCTIONS(rsqrt, y * 0x1p-22f)
EVO_FUNCTIONS(cbrt, y * 0x1p-23f)
EVO_FUNCTIONS(erf, y * 0x1p-22f)
EVO_FUNCTIONS(sin, EVO_WAVE)
EVO_FUNCTIONS(cos, EVO_WAVE)
#define EVO_EXACT(name, call)                       \
  __device__ inline evo_single name(evo_single x) { \
    return call(x.value);                           \
  }
EVO_EXACT(fabs, ::fabsf)
EVO_EXACT(abs, ::fabsf)
EVO_EXACT(floor, ::floorf)
EVO_EXACT(ceil, ::ceilf)
EVO_EXACT(trunc, ::truncf)
EVO_EXACT(rint, ::rintf)
EVO_EXACT(nearbyint, ::rintf)
EVO_EXACT(round, ::roundf)
template <class A, class B>
struct evo_either {};
template <class T>
struct evo_either<evo_single, T> {
  using type = evo_single;
};
template <class T>
struct evo_either<evo_product, T> {
  using type = evo_single;
};
#define EVO_SECOND(name)                 \
  template <>                            \
  struct evo_either<name, evo_single> {  \
    using type = evo_single;             \
  };                                     \
  template <>                            \
  struct evo_either<name, evo_product> { \
    using type = evo_single;             \
  };
EVO_SECOND(float)
EVO_SECOND(double)
EVO_SECOND(int)
EVO_SECOND(unsigned)
EVO_SECOND(long)
EVO_SECOND(long long)
#define EVO_PAIR(name, call)                                                  \
  template <class A, class B>                                                 \
  __device__ inline typename evo_either<A, B>::type name(A first, B second) { \
    const float a = (float)first, b = (float)second;                          \
    return call;                                                              \
  }
EVO_PAIR(fmax, ::fmaxf(a, b))
EVO_PAIR(fmaxf, ::fmaxf(a, b))
EVO_PAIR(max, ::fmaxf(a, b))
EVO_PAIR(fmin, ::fminf(a, b))
EVO_PAIR(fminf, ::fminf(a, b))
EVO_PAIR(min, ::fminf(a, b))
EVO_PAIR(pow, ::powf(a, b))
EVO_PAIR(powf, ::powf(a, b))
EVO_PAIR(copysign, ::copysignf(a, b))
EVO_PAIR(fmod, ::fmodf(a, b))
__device__ inline evo_single fma(evo_single a, evo_single b, evo_single c) {
  return c + a * b;
}
__device__ inline evo_single fmaf(evo_single a, evo_single b, evo_single c) {
  return c + a * b;
}
