// Textures and surfaces as programs use them, chosen by the first argument: each case checks what it fetches by
// arithmetic of its own and prints "NAME: passed". tests/cli/kernel/host_program_test.cpp compiles it with nvcc and runs
// it on the virtual GPU; tests/programs/textures runs it on a GPU. Coordinates are multiples of 1/16, so that the weights of
// filters are exact.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

#define CHECK(call)                                                                                  \
  do {                                                                                               \
    const cudaError_t error = (call);                                                                \
    if (error != cudaSuccess) {                                                                      \
      std::printf("line %d: %s: %s\n", __LINE__, cudaGetErrorName(error), cudaGetErrorString(error)); \
      std::exit(1);                                                                                  \
    }                                                                                                \
  } while (false)

#define EXPECT(what)                                       \
  do {                                                     \
    if (!(what)) {                                         \
      std::printf("line %d: not so: %s\n", __LINE__, #what); \
      std::exit(1);                                        \
    }                                                      \
  } while (false)

/// Memory of the device that is freed at the end.
template <class T>
struct Device {
  explicit Device(size_t count) { CHECK(cudaMalloc(&data, count * sizeof(T))); }
  explicit Device(const std::vector<T>& from) : Device(from.size()) {
    CHECK(cudaMemcpy(data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Device() { CHECK(cudaFree(data)); }
  std::vector<T> back(size_t count) const {
    std::vector<T> to(count);
    CHECK(cudaMemcpy(to.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
  }
  T* data = nullptr;
};

/// An array with its content.
template <class T>
struct Array {
  Array(cudaExtent size, unsigned flags) : extent(size) {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    CHECK(cudaMalloc3DArray(&handle, &format, extent, flags));
  }
  Array(const std::vector<T>& texels, cudaExtent size, unsigned flags = cudaArrayDefault) : Array(size, flags) {
    cudaMemcpy3DParms copy = whole();
    copy.srcPtr = make_cudaPitchedPtr(const_cast<T*>(texels.data()), extent.width * sizeof(T), extent.width,
                                      copy.extent.height);
    copy.dstArray = handle;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
  }
  ~Array() { CHECK(cudaFreeArray(handle)); }
  std::vector<T> back() const {
    cudaMemcpy3DParms copy = whole();
    std::vector<T> texels(copy.extent.width * copy.extent.height * copy.extent.depth);
    copy.srcArray = handle;
    copy.dstPtr = make_cudaPitchedPtr(texels.data(), extent.width * sizeof(T), extent.width, copy.extent.height);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    return texels;
  }
  cudaMemcpy3DParms whole() const {
    cudaMemcpy3DParms copy{};
    copy.extent = make_cudaExtent(extent.width, extent.height == 0 ? 1 : extent.height,
                                  extent.depth == 0 ? 1 : extent.depth);
    return copy;
  }
  cudaResourceDesc resource() const {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = handle;
    return resource;
  }
  cudaExtent extent;
  cudaArray_t handle = nullptr;
};

struct Texture {
  Texture(const cudaResourceDesc& resource, const cudaTextureDesc& how) {
    CHECK(cudaCreateTextureObject(&handle, &resource, &how, nullptr));
  }
  ~Texture() { CHECK(cudaDestroyTextureObject(handle)); }
  cudaTextureObject_t handle = 0;
};
struct Surface {
  explicit Surface(const cudaResourceDesc& resource) { CHECK(cudaCreateSurfaceObject(&handle, &resource)); }
  ~Surface() { CHECK(cudaDestroySurfaceObject(handle)); }
  cudaSurfaceObject_t handle = 0;
};

cudaTextureDesc texture_desc(cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalized,
                             cudaTextureReadMode read = cudaReadModeElementType) {
  cudaTextureDesc how{};
  for (cudaTextureAddressMode& one : how.addressMode) one = mode;
  how.filterMode = filter;
  how.readMode = read;
  how.normalizedCoords = normalized;
  return how;
}
const cudaTextureDesc kPlain = texture_desc(cudaAddressModeClamp, cudaFilterModePoint, false);

std::vector<float> numbers(size_t count) {
  std::vector<float> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = static_cast<float>((i * 37 + 11) % 64);
  return all;
}
bool near(float a, double b) {
  return std::fabs(a - b) < 1e-4;
}

// ---- What the CUDA C++ Programming Guide says of addressing and filtering

/// Moves an index into 0 to n - 1; -1: it is in the border.
int moved(int i, int n, cudaTextureAddressMode mode) {
  while (i < 0 || i >= n) {
    if (mode == cudaAddressModeBorder) return -1;
    if (mode == cudaAddressModeClamp) i = i < 0 ? 0 : n - 1;
    if (mode == cudaAddressModeWrap) i += i < 0 ? n : -n;
    if (mode == cudaAddressModeMirror) i = i < 0 ? -1 - i : 2 * n - 1 - i;
  }
  return i;
}
struct Image {
  std::vector<float> texels;
  int width, height, depth;
  cudaTextureAddressMode mode;
  double at(int x, int y, int z) const {
    x = moved(x, width, mode), y = moved(y, height, mode), z = moved(z, depth, mode);
    return x < 0 || y < 0 || z < 0 ? 0 : texels[static_cast<size_t>((z * height + y) * width + x)];
  }
  double nearest(double x, double y, double z) const {
    return at(static_cast<int>(std::floor(x)), static_cast<int>(std::floor(y)), static_cast<int>(std::floor(z)));
  }
  /// Without a third dimension where `depth` is 1.
  double linear(double x, double y, double z) const {
    const double bx = x - 0.5, by = y - 0.5, bz = depth > 1 ? z - 0.5 : 0;
    const int i = static_cast<int>(std::floor(bx)), j = static_cast<int>(std::floor(by));
    const int k = static_cast<int>(std::floor(bz));
    double sum = 0;
    for (int c = 0; c < (depth > 1 ? 8 : 4); ++c) {
      const double wx = c & 1 ? bx - i : 1 - (bx - i), wy = c & 2 ? by - j : 1 - (by - j);
      const double wz = c & 4 ? bz - k : 1 - (bz - k);
      sum += wx * wy * wz * at(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2 & 1));
    }
    return sum;
  }
};

// ---- Linear memory

__global__ void fetch_1d(cudaTextureObject_t floats, cudaTextureObject_t bytes, float* out, int n, int first) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const uchar4 four = tex1Dfetch<uchar4>(bytes, first + i);
  out[i] = tex1Dfetch<float>(floats, first + i) + four.x + 2 * four.y + 4 * four.z + 8 * four.w;
}
cudaResourceDesc linear(void* data, cudaChannelFormatDesc format, size_t bytes) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = data;
  resource.res.linear.desc = format;
  resource.res.linear.sizeInBytes = bytes;
  return resource;
}
void linear_memory() {
  const std::vector<float> values = numbers(100);
  std::vector<uchar4> bytes(100);
  for (unsigned char i = 0; i < 100; ++i) bytes[i] = make_uchar4(i, 200, 3, 255);
  const Device<float> floats(values), out(100);
  const Device<uchar4> of_four(bytes);
  const Texture a(linear(floats.data, cudaCreateChannelDesc<float>(), 400), kPlain);
  const Texture b(linear(of_four.data, cudaCreateChannelDesc<uchar4>(), 400), kPlain);
  fetch_1d<<<1, 128>>>(a.handle, b.handle, out.data, 100, 0);
  const std::vector<float> got = out.back(100);
  for (int i = 0; i < 100; ++i) EXPECT(near(got[i], values[i] + i + 400 + 12 + 8 * 255));
  cudaResourceDesc resource;
  CHECK(cudaGetTextureObjectResourceDesc(&resource, a.handle));
  EXPECT(resource.resType == cudaResourceTypeLinear && resource.res.linear.sizeInBytes == 400);
}
void outside_linear_memory() {
  const Device<float> floats(numbers(100)), out(100);
  const Device<uchar4> of_four(std::vector<uchar4>(100, make_uchar4(1, 1, 1, 1)));
  const Texture a(linear(floats.data, cudaCreateChannelDesc<float>(), 400), kPlain);
  const Texture b(linear(of_four.data, cudaCreateChannelDesc<uchar4>(), 400), kPlain);
  fetch_1d<<<1, 32>>>(a.handle, b.handle, out.data, 32, -40);
  for (const float one : out.back(32)) EXPECT(one == 0);
  fetch_1d<<<1, 32>>>(a.handle, b.handle, out.data, 32, 100);
  for (const float one : out.back(32)) EXPECT(one == 0);
}

// ---- Filtering and addressing

__global__ void sample_2d(cudaTextureObject_t texture, const float2* at, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex2D<float>(texture, at[i].x, at[i].y);
}
/// Compares fetches at places in and around an image of 8 by 4 texels.
void compare_2d(const cudaResourceDesc& resource, const Image& image, cudaTextureFilterMode filter, bool normalized) {
  std::vector<float2> places, coordinates;
  for (float y = -6; y <= 11; y += 0.6875f)
    for (float x = -19; x <= 27; x += 1.3125f) {
      places.push_back({x, y});
      coordinates.push_back(normalized ? make_float2(x / 8, y / 4) : make_float2(x, y));
    }
  const int n = static_cast<int>(places.size());
  const Device<float2> at(coordinates);
  const Device<float> out(places.size());
  const Texture texture(resource, texture_desc(image.mode, filter, normalized));
  sample_2d<<<(n + 127) / 128, 128>>>(texture.handle, at.data, out.data, n);
  const std::vector<float> got = out.back(places.size());
  for (int i = 0; i < n; ++i) {
    const double wanted = filter == cudaFilterModeLinear ? image.linear(places[i].x, places[i].y, 0)
                                                         : image.nearest(places[i].x, places[i].y, 0);
    if (!near(got[i], wanted))
      std::printf("mode %d, filter %d, at (%g, %g): %g, not %g\n", image.mode, filter, places[i].x, places[i].y,
                  got[i], wanted);
    EXPECT(near(got[i], wanted));
  }
}
void filtering_2d() {
  const std::vector<float> texels = numbers(32);
  const Array<float> array(texels, make_cudaExtent(8, 4, 0));
  for (const cudaTextureFilterMode filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
    for (const cudaTextureAddressMode mode :
         {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder})
      compare_2d(array.resource(), {texels, 8, 4, 1, mode}, filter, true);
    for (const cudaTextureAddressMode mode : {cudaAddressModeClamp, cudaAddressModeBorder})
      compare_2d(array.resource(), {texels, 8, 4, 1, mode}, filter, false);
  }
}
void pitched_memory() {
  const std::vector<float> texels = numbers(32);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypePitch2D;
  auto& pitched = resource.res.pitch2D;
  pitched.desc = cudaCreateChannelDesc<float>();
  pitched.width = 8, pitched.height = 4;
  CHECK(cudaMallocPitch(&pitched.devPtr, &pitched.pitchInBytes, 32, 4));
  CHECK(cudaMemcpy2D(pitched.devPtr, pitched.pitchInBytes, texels.data(), 32, 32, 4, cudaMemcpyHostToDevice));
  compare_2d(resource, {texels, 8, 4, 1, cudaAddressModeClamp}, cudaFilterModeLinear, false);
  compare_2d(resource, {texels, 8, 4, 1, cudaAddressModeWrap}, cudaFilterModePoint, true);
  CHECK(cudaFree(pitched.devPtr));
}

__global__ void sample_1d(cudaTextureObject_t texture, float* out) {
  out[threadIdx.x] = tex1D<float>(texture, threadIdx.x * 0.25f - 2);
}
void filtering_1d() {
  const std::vector<float> texels = numbers(10);
  const Array<float> array(texels, make_cudaExtent(10, 0, 0));
  const Texture texture(array.resource(), texture_desc(cudaAddressModeClamp, cudaFilterModeLinear, false));
  const Device<float> out(64);
  sample_1d<<<1, 64>>>(texture.handle, out.data);
  const Image image{texels, 10, 1, 1, cudaAddressModeClamp};
  const std::vector<float> got = out.back(64);
  for (int i = 0; i < 64; ++i) EXPECT(near(got[i], image.linear(i * 0.25 - 2, 0.5, 0)));
}

__global__ void sample_3d(cudaTextureObject_t texture, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = tex3D<float>(texture, i % 16 * 0.5f - 1.25f, i / 16 % 16 * 0.375f - 1, i / 256 * 0.25f - 0.5f);
}
void volume() {
  const std::vector<float> texels = numbers(5 * 4 * 3);
  const Array<float> array(texels, make_cudaExtent(5, 4, 3));
  const Device<float> out(4096);
  for (const cudaTextureFilterMode filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
    const Texture texture(array.resource(), texture_desc(cudaAddressModeBorder, filter, false));
    sample_3d<<<32, 128>>>(texture.handle, out.data);
    const Image image{texels, 5, 4, 3, cudaAddressModeBorder};
    const std::vector<float> got = out.back(4096);
    for (int i = 0; i < 4096; ++i) {
      const double x = i % 16 * 0.5 - 1.25, y = i / 16 % 16 * 0.375 - 1, z = i / 256 * 0.25 - 0.5;
      EXPECT(near(got[i], filter == cudaFilterModeLinear ? image.linear(x, y, z) : image.nearest(x, y, z)));
    }
  }
}

// ---- Layers and cubes

__global__ void sample_layers(cudaTextureObject_t lines, cudaTextureObject_t images, float* out) {
  const int i = threadIdx.x, layer = i % 3;
  out[2 * i] = tex1DLayered<float>(lines, i / 3 * 0.5f + 0.25f, layer);
  out[2 * i + 1] = tex2DLayered<float>(images, i / 3 * 0.25f, i / 6 * 0.5f, layer);
}
void layers() {
  const std::vector<float> lines = numbers(8 * 3), images = numbers(8 * 4 * 3);
  const Array<float> of_lines(lines, make_cudaExtent(8, 0, 3), cudaArrayLayered);
  const Array<float> of_images(images, make_cudaExtent(8, 4, 3), cudaArrayLayered);
  const cudaTextureDesc how = texture_desc(cudaAddressModeClamp, cudaFilterModeLinear, false);
  const Texture a(of_lines.resource(), how), b(of_images.resource(), how);
  const Device<float> out(192);
  sample_layers<<<1, 96>>>(a.handle, b.handle, out.data);
  const std::vector<float> got = out.back(192);
  for (int i = 0; i < 96; ++i) {
    const int layer = i % 3;
    const Image line{{lines.begin() + layer * 8, lines.begin() + layer * 8 + 8}, 8, 1, 1, cudaAddressModeClamp};
    const Image image{{images.begin() + layer * 32, images.begin() + layer * 32 + 32}, 8, 4, 1, cudaAddressModeClamp};
    EXPECT(near(got[2 * i], line.linear(i / 3 * 0.5 + 0.25, 0.5, 0)));
    EXPECT(near(got[2 * i + 1], image.linear(i / 3 * 0.25, i / 6 * 0.5, 0)));
  }
}

struct Direction {
  float x, y, z;
  int face;
  double s, t;  ///< In the face, from -1 to 1.
};
const Direction kDirections[] = {{1, .5f, .25f, 0, -.25, -.5},   {-2, 1, .5f, 1, .25, -.5},  {.5f, 1, -.25f, 2, .5, -.25},
                                 {.5f, -1, -.25f, 3, .5, .25},   {.5f, .25f, 1, 4, .5, -.25}, {.5f, .25f, -1, 5, -.5, -.25},
                                 {4, -3, -3, 0, .75, .75},       {.25f, 2, -1.5f, 2, .125, -.75}};
constexpr int kDirectionCount = sizeof kDirections / sizeof *kDirections;
__global__ void sample_cubes(cudaTextureObject_t cube, cudaTextureObject_t cubes, const float3* at, float* out) {
  const float3 d = at[threadIdx.x];
  out[2 * threadIdx.x] = texCubemap<float>(cube, d.x, d.y, d.z);
  out[2 * threadIdx.x + 1] = texCubemapLayered<float>(cubes, d.x, d.y, d.z, 1);
}
void cubes() {
  const std::vector<float> one = numbers(4 * 4 * 6), two = numbers(4 * 4 * 12);
  const Array<float> cube(one, make_cudaExtent(4, 4, 6), cudaArrayCubemap);
  const Array<float> several(two, make_cudaExtent(4, 4, 12), cudaArrayCubemap | cudaArrayLayered);
  std::vector<float3> at;
  for (const Direction& d : kDirections) at.push_back({d.x, d.y, d.z});
  const Device<float3> directions(at);
  const Device<float> out(2 * kDirectionCount);
  for (const cudaTextureFilterMode filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
    const cudaTextureDesc how = texture_desc(cudaAddressModeClamp, filter, true);
    const Texture a(cube.resource(), how), b(several.resource(), how);
    sample_cubes<<<1, kDirectionCount>>>(a.handle, b.handle, directions.data, out.data);
    const std::vector<float> got = out.back(2 * kDirectionCount);
    for (int i = 0; i < kDirectionCount; ++i) {
      const Direction& d = kDirections[i];
      const double x = (d.s + 1) * 2, y = (d.t + 1) * 2;
      const auto value = [&](const std::vector<float>& texels, int layer) {
        const Image face{{texels.begin() + layer * 16, texels.begin() + layer * 16 + 16}, 4, 4, 1, cudaAddressModeClamp};
        return filter == cudaFilterModeLinear ? face.linear(x, y, 0) : face.nearest(x, y, 0);
      };
      EXPECT(near(got[2 * i], value(one, d.face)));
      EXPECT(near(got[2 * i + 1], value(two, 6 + d.face)));
    }
  }
}

// ---- Formats

__global__ void read_fractions(cudaTextureObject_t bytes, cudaTextureObject_t shorts, float* out) {
  const float4 a = tex2D<float4>(bytes, threadIdx.x, 0);
  const float2 b = tex2D<float2>(shorts, threadIdx.x, 0);
  const float values[] = {a.x, a.y, a.z, a.w, b.x, b.y};
  for (int i = 0; i < 6; ++i) out[6 * threadIdx.x + i] = values[i];
}
__global__ void read_elements(cudaTextureObject_t bytes, cudaTextureObject_t shorts, int* out) {
  const uchar4 a = tex2D<uchar4>(bytes, threadIdx.x, 0);
  const short2 b = tex2D<short2>(shorts, threadIdx.x, 0);
  const int values[] = {a.x, a.y, a.z, a.w, b.x, b.y};
  for (int i = 0; i < 6; ++i) out[6 * threadIdx.x + i] = values[i];
}
void read_modes() {
  const std::vector<uchar4> bytes = {{0, 255, 51, 102}, {1, 2, 254, 128}};
  const std::vector<short2> shorts = {{32767, -32767}, {-32768, 1}};
  const Array<uchar4> a(bytes, make_cudaExtent(2, 1, 0));
  const Array<short2> b(shorts, make_cudaExtent(2, 1, 0));
  const cudaTextureDesc fractions =
      texture_desc(cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeNormalizedFloat);
  const Texture fa(a.resource(), fractions), fb(b.resource(), fractions);
  const Texture ea(a.resource(), kPlain), eb(b.resource(), kPlain);
  const Device<float> out(12);
  const Device<int> elements(12);
  read_fractions<<<1, 2>>>(fa.handle, fb.handle, out.data);
  read_elements<<<1, 2>>>(ea.handle, eb.handle, elements.data);
  const std::vector<float> got = out.back(12);
  const std::vector<int> whole = elements.back(12);
  for (int i = 0; i < 2; ++i) {
    const int of_bytes[] = {bytes[i].x, bytes[i].y, bytes[i].z, bytes[i].w}, of_shorts[] = {shorts[i].x, shorts[i].y};
    for (int c = 0; c < 4; ++c) EXPECT(near(got[6 * i + c], of_bytes[c] / 255.0) && whole[6 * i + c] == of_bytes[c]);
    for (int c = 0; c < 2; ++c)
      EXPECT(near(got[6 * i + 4 + c], std::fmax(of_shorts[c] / 32767.0, -1.0)) && whole[6 * i + 4 + c] == of_shorts[c]);
  }
}

__global__ void gather_2d(cudaTextureObject_t texture, float4* out) {
  out[threadIdx.x] = tex2Dgather<float4>(texture, threadIdx.x % 8 + 0.25f, threadIdx.x / 8 + 0.75f, 1);
}
void gather() {
  std::vector<float2> texels(32);
  for (int i = 0; i < 32; ++i) texels[i] = make_float2(-1, numbers(32)[i]);
  const Array<float2> array(texels, make_cudaExtent(8, 4, 0), cudaArrayTextureGather);
  const Texture texture(array.resource(), kPlain);
  const Device<float4> out(32);
  gather_2d<<<1, 32>>>(texture.handle, out.data);
  const Image image{numbers(32), 8, 4, 1, cudaAddressModeClamp};
  const std::vector<float4> got = out.back(32);
  for (int i = 0; i < 32; ++i) {
    const int x = i % 8 - 1, y = i / 8;  // The lower texel of x + 0.25 and y + 0.75.
    EXPECT(got[i].x == image.at(x, y + 1, 0) && got[i].y == image.at(x + 1, y + 1, 0) &&
           got[i].z == image.at(x + 1, y, 0) && got[i].w == image.at(x, y, 0));
  }
}

// ---- Surfaces

__global__ void write_2d(cudaSurfaceObject_t surface) {
  const int x = threadIdx.x, y = threadIdx.y;
  surf2Dwrite(make_float2(10 * y + x, -x), surface, x * 8, y);
}
__global__ void change_2d(cudaSurfaceObject_t surface) {
  const int x = threadIdx.x, y = threadIdx.y;
  float2 value = surf2Dread<float2>(surface, x * 8, y);
  value.x += 1;
  surf2Dwrite(value, surface, x * 8, y);
}
__global__ void access_outside(cudaSurfaceObject_t surface, float2* out) {
  out[0] = surf2Dread<float2>(surface, 8 * 100, 100, cudaBoundaryModeClamp);
  out[1] = surf2Dread<float2>(surface, -8, 0, cudaBoundaryModeZero);
  surf2Dwrite(make_float2(-1, -1), surface, -8, 0, cudaBoundaryModeZero);
}
__global__ void read_2d(cudaTextureObject_t texture, float2* out) {
  out[threadIdx.y * 8 + threadIdx.x] = tex2D<float2>(texture, threadIdx.x + 0.5f, threadIdx.y + 0.5f);
}
void surfaces_2d() {
  const Array<float2> array(make_cudaExtent(8, 4, 0), cudaArraySurfaceLoadStore);
  const Surface surface(array.resource());
  const Texture texture(array.resource(), kPlain);
  const Device<float2> out(32), outside(2);
  write_2d<<<1, dim3(8, 4)>>>(surface.handle);
  change_2d<<<1, dim3(8, 4)>>>(surface.handle);
  access_outside<<<1, 1>>>(surface.handle, outside.data);
  read_2d<<<1, dim3(8, 4)>>>(texture.handle, out.data);
  const std::vector<float2> got = out.back(32), back = array.back(), beyond = outside.back(2);
  for (int i = 0; i < 32; ++i) {
    EXPECT(got[i].x == 10 * (i / 8) + i % 8 + 1 && got[i].y == -(i % 8));
    EXPECT(back[i].x == got[i].x && back[i].y == got[i].y);
  }
  EXPECT(beyond[0].y == -7 && beyond[1].x == 0 && beyond[1].y == 0);
}

__global__ void write_others(cudaSurfaceObject_t line, cudaSurfaceObject_t volume, cudaSurfaceObject_t lines,
                             cudaSurfaceObject_t images, cudaSurfaceObject_t cube) {
  const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  const unsigned short value = 100 * z + 10 * y + x;
  if (y + z == 0) surf1Dwrite(static_cast<unsigned char>(x + 1), line, x);
  surf3Dwrite(value, volume, 2 * x, y, z);
  if (y == 0) surf1DLayeredwrite(make_int4(x, z, 0, 7), lines, 16 * x, z);
  surf2DLayeredwrite(static_cast<float>(value), images, 4 * x, y, z);
  surfCubemapwrite(static_cast<int>(value), cube, 4 * x, y, z);
}
void surfaces_of_all_shapes() {
  const Array<unsigned char> line(make_cudaExtent(4, 0, 0), cudaArraySurfaceLoadStore);
  const Array<unsigned short> volume(make_cudaExtent(4, 4, 6), cudaArraySurfaceLoadStore);
  const Array<int4> lines(make_cudaExtent(4, 0, 6), cudaArraySurfaceLoadStore | cudaArrayLayered);
  const Array<float> images(make_cudaExtent(4, 4, 6), cudaArraySurfaceLoadStore | cudaArrayLayered);
  const Array<int> cube(make_cudaExtent(4, 4, 6), cudaArraySurfaceLoadStore | cudaArrayCubemap);
  const Surface a(line.resource()), b(volume.resource()), c(lines.resource()), d(images.resource()), e(cube.resource());
  write_others<<<dim3(4, 6), 4>>>(a.handle, b.handle, c.handle, d.handle, e.handle);
  CHECK(cudaDeviceSynchronize());
  const std::vector<unsigned char> bytes = line.back();
  const std::vector<int4> fours = lines.back();
  for (int x = 0; x < 4; ++x) EXPECT(bytes[x] == x + 1);
  for (int i = 0; i < 24; ++i) EXPECT(fours[i].x == i % 4 && fours[i].y == i / 4 && fours[i].w == 7);
  for (int i = 0; i < 96; ++i) {
    const int value = 100 * (i / 16) + 10 * (i / 4 % 4) + i % 4;
    EXPECT(volume.back()[i] == value && images.back()[i] == value && cube.back()[i] == value);
  }
}

// ---- Copies

void copies() {
  const std::vector<float> texels = numbers(32);
  const Array<float> a(std::vector<float>(32, 0), make_cudaExtent(8, 4, 0)), b(texels, make_cudaExtent(8, 4, 0));
  // Two rows of three texels to (2, 1).
  CHECK(cudaMemcpy2DToArray(a.handle, 2 * 4, 1, texels.data(), 8 * 4, 3 * 4, 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2DArrayToArray(a.handle, 0, 3, b.handle, 4 * 4, 2, 4 * 4, 1, cudaMemcpyDeviceToDevice));
  const std::vector<float> got = a.back();
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 8; ++x) {
      const bool box = x >= 2 && x < 5 && (y == 1 || y == 2), row = y == 3 && x < 4;
      EXPECT(got[y * 8 + x] == (box ? texels[(y - 1) * 8 + x - 2] : row ? texels[2 * 8 + 4 + x] : 0));
    }
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  float two[4] = {};
  CHECK(cudaMemcpy2DFromArrayAsync(two, 8, b.handle, 4, 2, 8, 2, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(two[0] == texels[17] && two[1] == texels[18] && two[2] == texels[25] && two[3] == texels[26]);
  CHECK(cudaStreamDestroy(stream));
  cudaChannelFormatDesc format;
  cudaExtent extent;
  unsigned flags = 1;
  CHECK(cudaArrayGetInfo(&format, &extent, &flags, a.handle));
  EXPECT(format.x == 32 && format.y == 0 && extent.width == 8 && extent.height == 4 && extent.depth == 0 && flags == 0);
}

// ---- The driver's functions

template <class Function>
void find(Function*& function, const char* name) {
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion(name, reinterpret_cast<void**>(&function), 12000, cudaEnableDefault, &found));
  EXPECT(function != nullptr);
}
void driver() {
  decltype(::cuArrayCreate)* create_array;
  decltype(::cuArray3DGetDescriptor)* describe_array;
  decltype(::cuArrayDestroy)* destroy_array;
  decltype(::cuMemcpy2D)* copy;
  decltype(::cuTexObjectCreate)* create_texture;
  decltype(::cuTexObjectGetTextureDesc)* describe_texture;
  decltype(::cuTexObjectDestroy)* destroy_texture;
  find(create_array, "cuArrayCreate");
  find(describe_array, "cuArray3DGetDescriptor");
  find(destroy_array, "cuArrayDestroy");
  find(copy, "cuMemcpy2D");
  find(create_texture, "cuTexObjectCreate");
  find(describe_texture, "cuTexObjectGetTextureDesc");
  find(destroy_texture, "cuTexObjectDestroy");
  CHECK(cudaFree(nullptr));
  const std::vector<unsigned char> bytes = {0, 51, 102, 255};
  CUDA_ARRAY_DESCRIPTOR described{};
  described.Width = 2, described.Height = 2, described.Format = CU_AD_FORMAT_UNSIGNED_INT8, described.NumChannels = 1;
  CUarray array;
  EXPECT(create_array(&array, &described) == CUDA_SUCCESS);
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_HOST, rows.srcHost = bytes.data(), rows.srcPitch = 2;
  rows.dstMemoryType = CU_MEMORYTYPE_ARRAY, rows.dstArray = array, rows.WidthInBytes = 2, rows.Height = 2;
  EXPECT(copy(&rows) == CUDA_SUCCESS);
  CUDA_ARRAY3D_DESCRIPTOR known{};
  EXPECT(describe_array(&known, array) == CUDA_SUCCESS && known.Width == 2 && known.Depth == 0 &&
         known.Format == CU_AD_FORMAT_UNSIGNED_INT8);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_ARRAY, resource.res.array.hArray = array;
  CUDA_TEXTURE_DESC how{};
  for (CUaddress_mode& mode : how.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  how.filterMode = CU_TR_FILTER_MODE_LINEAR;  // Integers become fractions without CU_TRSF_READ_AS_INTEGER.
  CUtexObject texture;
  EXPECT(create_texture(&texture, &resource, &how, nullptr) == CUDA_SUCCESS);
  CUDA_TEXTURE_DESC again{};
  EXPECT(describe_texture(&again, texture) == CUDA_SUCCESS && again.flags == 0 && again.filterMode == how.filterMode);
  const Device<float2> at(std::vector<float2>{{1, 1}, {0.5f, 1.5f}});
  const Device<float> out(2);
  sample_2d<<<1, 32>>>(texture, at.data, out.data, 2);
  EXPECT(near(out.back(2)[0], (0 + 51 + 102 + 255) / 4.0 / 255) && near(out.back(2)[1], 102 / 255.0));
  how.flags = CU_TRSF_READ_AS_INTEGER;
  CUtexObject none;
  EXPECT(create_texture(&none, &resource, &how, nullptr) != CUDA_SUCCESS);
  EXPECT(destroy_texture(texture) == CUDA_SUCCESS && destroy_array(array) == CUDA_SUCCESS);
}

// ---- Mistakes

void errors() {
  const Array<unsigned char> array(std::vector<unsigned char>(16), make_cudaExtent(4, 4, 0));
  const cudaResourceDesc resource = array.resource();
  cudaTextureObject_t texture = 0;
  cudaSurfaceObject_t surface = 0;
  // Integers are not filtered.
  const cudaTextureDesc filtered = texture_desc(cudaAddressModeClamp, cudaFilterModeLinear, false);
  EXPECT(cudaCreateTextureObject(&texture, &resource, &filtered, nullptr) != cudaSuccess);
  // Texture memory is aligned.
  const Device<float> memory(std::vector<float>(100));
  const cudaResourceDesc odd = linear(memory.data + 1, cudaCreateChannelDesc<float>(), 40);
  EXPECT(cudaCreateTextureObject(&texture, &odd, &kPlain, nullptr) != cudaSuccess);
  // Surfaces are arrays that were made for them.
  EXPECT(cudaCreateSurfaceObject(&surface, &resource) != cudaSuccess);
  // A copy stays in its array.
  const char bytes[16] = {};
  EXPECT(cudaMemcpy2DToArray(array.handle, 2, 0, bytes, 4, 3, 1, cudaMemcpyHostToDevice) != cudaSuccess);
  EXPECT(cudaMemcpy2DToArray(array.handle, 0, 3, bytes, 4, 4, 2, cudaMemcpyHostToDevice) != cudaSuccess);
  // A cube has square faces.
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t cube = nullptr;
  EXPECT(cudaMalloc3DArray(&cube, &format, make_cudaExtent(4, 8, 6), cudaArrayCubemap) != cudaSuccess);
  cudaGetLastError();
}

__global__ void write_outside(cudaSurfaceObject_t surface) {
  surf1Dwrite(1.0f, surface, 4 * threadIdx.x);
}
void surface_outside() {
  const Array<float> array(make_cudaExtent(20, 0, 0), cudaArraySurfaceLoadStore);
  const Surface surface(array.resource());
  write_outside<<<1, 32>>>(surface.handle);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  std::fflush(stdout);
  std::_Exit(0);
}
__global__ void write_and_fetch(cudaSurfaceObject_t surface, cudaTextureObject_t texture, float* out) {
  surf1Dwrite(static_cast<float>(threadIdx.x), surface, 4 * threadIdx.x);
  out[threadIdx.x] = tex1D<float>(texture, threadIdx.x + 0.5f);
}
void stale_texture() {
  const Array<float> array(std::vector<float>(32), make_cudaExtent(32, 0, 0), cudaArraySurfaceLoadStore);
  const Surface surface(array.resource());
  const Texture texture(array.resource(), kPlain);
  const Device<float> out(32);
  write_and_fetch<<<1, 32>>>(surface.handle, texture.handle, out.data);
  CHECK(cudaDeviceSynchronize());
}
void unwritten_texture() {
  const Array<float> array(make_cudaExtent(10, 0, 0), cudaArrayDefault);
  const Texture texture(array.resource(), kPlain);
  const Device<float> out(64);
  sample_1d<<<1, 64>>>(texture.handle, out.data);
  CHECK(cudaDeviceSynchronize());
}
void destroyed_texture() {
  const Array<float> array(numbers(10), make_cudaExtent(10, 0, 0));
  const Device<float> out(64);
  cudaTextureObject_t handle;
  {
    const Texture texture(array.resource(), kPlain);
    handle = texture.handle;
  }
  sample_1d<<<1, 64>>>(handle, out.data);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  std::fflush(stdout);
  std::_Exit(0);
}

struct Case {
  const char* name;
  void (*run)();
  bool harmless = true;
};
constexpr Case kCases[] = {{"linear_memory", linear_memory},
                           {"outside_linear_memory", outside_linear_memory},
                           {"filtering_1d", filtering_1d},
                           {"filtering_2d", filtering_2d},
                           {"pitched_memory", pitched_memory},
                           {"volume", volume},
                           {"layers", layers},
                           {"cubes", cubes},
                           {"read_modes", read_modes},
                           {"gather", gather},
                           {"surfaces_2d", surfaces_2d},
                           {"surfaces_of_all_shapes", surfaces_of_all_shapes},
                           {"copies", copies},
                           {"driver", driver},
                           {"errors", errors},
                           {"surface_outside", surface_outside, false},
                           {"stale_texture", stale_texture, false},
                           {"unwritten_texture", unwritten_texture, false},
                           {"destroyed_texture", destroyed_texture, false}};

}  // namespace

int main(int count, char** arguments) {
  for (const Case& one : kCases) {
    if (count > 1 ? std::strcmp(arguments[1], one.name) != 0 : !one.harmless) continue;
    one.run();
    std::printf("%s: passed\n", one.name);
    std::fflush(stdout);
  }
}
