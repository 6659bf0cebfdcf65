// Calls that a compiler cannot inline, and memory that kernels allocate.

typedef int (*Operator)(int, int);
__device__ __noinline__ int sum(int a, int b) { return a + b; }
__device__ __noinline__ int product(int a, int b) { return a * b; }
__device__ __noinline__ int difference(int a, int b) { return a - b; }
__device__ Operator operators[3] = {sum, product, difference};

extern "C" __global__ void call_table(int* out) { out[threadIdx.x] = operators[threadIdx.x % 3](threadIdx.x, 7); }

extern "C" __global__ void call_null(int* out) {
  Operator nowhere = reinterpret_cast<Operator>(static_cast<unsigned long long>(out[0]));
  out[threadIdx.x] = nowhere(1, 2);
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void fibonacci_numbers(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

__device__ __noinline__ int is_odd(int n);
__device__ __noinline__ int is_even(int n) { return n == 0 ? 1 : is_odd(n - 1); }
__device__ __noinline__ int is_odd(int n) { return n == 0 ? 0 : is_even(n - 1); }
extern "C" __global__ void even_or_odd(int* out) { out[threadIdx.x] = is_even(threadIdx.x); }

__device__ void quicksort(int* a, int left, int right) {
  while (left < right) {
    const int pivot = a[(left + right) / 2];
    int i = left, j = right;
    while (i <= j) {
      while (a[i] < pivot) ++i;
      while (a[j] > pivot) --j;
      if (i <= j) {
        const int swapped = a[i];
        a[i++] = a[j];
        a[j--] = swapped;
      }
    }
    if (j - left < right - i) {
      quicksort(a, left, j);
      left = i;
    } else {
      quicksort(a, i, right);
      right = j;
    }
  }
}
extern "C" __global__ void sort_each(int* values, int count) { quicksort(values + threadIdx.x * count, 0, count - 1); }

// Each activation has its own array and passes it on.
__device__ __noinline__ int path_sum(const int* of_caller, int depth) {
  int own[4];
  for (int i = 0; i < 4; ++i) own[i] = of_caller[3 - i] + depth * i;
  return depth == 0 ? own[0] + own[3] : path_sum(own, depth - 1) + own[1];
}
extern "C" __global__ void own_arrays(int* out) {
  const int first[4] = {1, 2, 3, int(threadIdx.x)};
  out[threadIdx.x] = path_sum(first, threadIdx.x % 5);
}

__device__ __noinline__ int endless(int n) { return endless(n + 1) + n; }
extern "C" __global__ void recurse_for_ever(int* out) { out[threadIdx.x] = endless(threadIdx.x); }

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Rectangle : Shape {
  float width, height;
  __device__ Rectangle(float w, float h) : width(w), height(h) {}
  __device__ float area() const override { return width * height; }
};
extern "C" __global__ void shapes(float* out) {
  const float x = threadIdx.x;
  Shape* shape = threadIdx.x % 2 == 0 ? static_cast<Shape*>(new Square(x)) : new Rectangle(x, 3);
  out[threadIdx.x] = shape->area();
  delete shape;
}

struct Node {
  int value;
  Node* next;
};
extern "C" __global__ void linked_list(int* out) {
  Node* head = nullptr;
  for (int i = 0; i <= int(threadIdx.x); ++i) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    node->value = i;
    node->next = head;
    head = node;
  }
  int digest = 0;
  while (head != nullptr) {
    digest = digest * 3 + head->value;
    Node* const done = head;
    head = head->next;
    free(done);
  }
  out[threadIdx.x] = digest;
}
extern "C" __global__ void free_twice() {
  int* block = static_cast<int*>(malloc(16));
  free(block);
  free(block);
}
extern "C" __global__ void use_after_free(int* out) {
  volatile int* block = static_cast<int*>(malloc(16));
  block[0] = 1;
  free(const_cast<int*>(block));
  out[0] = block[0];
}
extern "C" __global__ void exhaust_heap(int* out) {
  int blocks = 0;
  while (malloc(1 << 20) != nullptr) ++blocks;
  out[0] = blocks;
}

__device__ __noinline__ int sum_of_multiples(int factor, int count) {
  int* room;  // NVRTC does not know alloca().
  asm volatile("{ .reg .b64 at; alloca.u64 at, %1; cvta.local.u64 %0, at; }" : "=l"(room) : "l"(count * sizeof(int)));
  for (int i = 0; i < count; ++i) room[i] = i * factor;
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += room[(i * 5) % count];
  return sum;
}
extern "C" __global__ void sum_in_room_on_stack(int* out) {
  int sum = 0;
  for (int i = 0; i < 200; ++i) sum += sum_of_multiples(threadIdx.x, 128 + (i > 300));
  out[threadIdx.x] = sum;
}
