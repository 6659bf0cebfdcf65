// Instructions on textures and surfaces that programs of tests/data/programs/textures.cu do not reach: forms that nvcc
// does not emit, and what is refused.
#include <fmt/core.h>

#include <bit>
#include <cmath>

#include "evaluator/vgpu/ptx/load_error.h"
#include "evaluator/vgpu/textures/object_table.h"
#include "tests/vgpu/gpu_for_tests.h"

namespace evo::vgpu {
namespace {

constexpr TexelFormat kFloat{ChannelKind::floating, 1, 32};

Texels image_of(std::uint64_t address, TexelFormat format, std::array<std::uint32_t, 3> size, std::uint8_t dimensions) {
  Texels texels;
  texels.address = address;
  texels.format = format;
  texels.size = size;
  texels.dimensions = dimensions;
  texels.pitch = texels.row_bytes();
  texels.slice = texels.pitch * size[1];
  return texels;
}

/// A kernel of one warp: `body` has the thread's number in t and its 16 bytes of results in `out`, and handles a and b.
std::string kernel_of(const std::string& body) {
  return fmt::format(R"(
.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 results, .param .u64 first, .param .u64 second)
{{
  .reg .b32 t, r<16>; .reg .f32 x, f<16>; .reg .b64 a, b, out, offset, d<8>; .reg .b16 h<8>; .reg .pred p, q;
  ld.param.u64 out, [results]; ld.param.u64 a, [first]; ld.param.u64 b, [second];
  mov.u32 t, %tid.x; mul.wide.u32 offset, t, 16; add.u64 out, out, offset;
  cvt.rn.f32.u32 x, t;
  {}
  ret;
}}
)",
                     body);
}

struct Ran {
  std::vector<std::array<std::uint32_t, 4>> words;
  std::string failure;
  float number(std::size_t thread, std::size_t i) const { return std::bit_cast<float>(words[thread][i]); }
};
Ran run(TestGpu& gpu, const std::string& body, std::uint64_t a = 0, std::uint64_t b = 0) {
  gpu.load_ptx(kernel_of(body));
  const std::uint64_t out = gpu.upload("out", std::vector<std::array<std::uint32_t, 4>>(32));
  const auto failure = gpu.launch("k", {}, out, a, b);
  return {gpu.download<std::array<std::uint32_t, 4>>(out, 32), failure ? failure->reason : ""};
}

const std::string kStore = " st.global.v4.b32 [out], {r0, r1, r2, r3};";

/// Four by four floats: 10 * y + x.
Texture square(TestGpu& gpu) {
  std::vector<float> texels;
  for (int i = 0; i < 16; ++i) texels.push_back(static_cast<float>(10 * (i / 4) + i % 4));
  Texture texture;
  texture.texels = image_of(gpu.upload("texels", texels), kFloat, {4, 4, 1}, 2);
  return texture;
}

TEST_CASE("a level of detail and gradients change nothing of a texture with one level, and its texels are resident") {
  TestGpu gpu;
  const std::uint64_t a = gpu.objects().add_texture(square(gpu));
  for (const std::string fetch : {"tex.2d.v4.u32.f32 {r0, r1, r2, r3}|p, [a, {x, 0f40200000}];",
                                  "tex.level.2d.v4.u32.f32 {r0, r1, r2, r3}|p, [a, {x, 0f40200000}], 0f40000000;",
                                  "tex.grad.2d.v4.u32.f32 {r0, r1, r2, r3}|p, [a, {x, 0f40200000}], {x, x}, {x, x};"}) {
    const Ran ran = run(gpu, fetch + " selp.b32 r3, 1, 0, p;" + kStore, a);
    REQUIRE(ran.failure.empty());
    for (std::size_t t = 0; t < 32; ++t) {
      CHECK(ran.number(t, 0) == 20 + static_cast<float>(std::min<std::size_t>(t, 3)));
      CHECK((ran.words[t][1] == 0 && ran.words[t][3] == 1));
    }
  }
}

TEST_CASE("integer coordinates are texels, unfiltered, and offsets move them") {
  TestGpu gpu;
  Texture texture = square(gpu);
  texture.filters = texture.normalized = true;
  texture.addressing.fill(TexelAddressing::border);
  texture.border[0] = -5;
  const std::uint64_t a = gpu.objects().add_texture(texture);
  const Ran plain = run(gpu, "tex.2d.v4.s32.s32 {r0, r1, r2, r3}, [a, {t, 1}];" + kStore, a);
  const Ran moved = run(gpu, "tex.2d.v4.s32.s32 {r0, r1, r2, r3}, [a, {t, 1}], {-2, 2};" + kStore, a);
  for (std::size_t t = 0; t < 32; ++t) {
    CHECK(plain.number(t, 0) == (t < 4 ? 10 + static_cast<float>(t) : -5));
    CHECK(moved.number(t, 0) == (t >= 2 && t < 6 ? 30 + static_cast<float>(t) - 2 : -5));
  }
}

TEST_CASE("weights of filters are multiples of 1/256") {
  TestGpu gpu;
  Texture texture;
  texture.texels = image_of(gpu.upload("texels", std::vector<float>{0, 256}), kFloat, {2, 1, 1}, 1);
  texture.filters = true;
  const std::uint64_t a = gpu.objects().add_texture(texture);
  // From the first texel's centre in steps of 1/1024.
  const Ran ran = run(gpu,
                      "fma.rn.f32 f0, x, 0f3a800000, 0f3f000000; tex.1d.v4.f32.f32 {f1, f2, f3, f4}, [a, {f0}];"
                      " mov.b32 r0, f1; mov.b32 r1, 0; mov.b32 r2, 0; mov.b32 r3, 0;" +
                          kStore,
                      a);
  for (std::size_t t = 0; t < 32; ++t) CHECK(ran.number(t, 0) == std::floor((static_cast<float>(t) + 2) / 4));
}

TEST_CASE("a fetch gives halves and pairs of halves") {
  TestGpu gpu;
  Texture texture;
  texture.texels = image_of(gpu.upload("texels", std::vector<std::uint16_t>{0x3c00, 0xc000, 0x3800, 0x4200}),
                            {ChannelKind::floating, 4, 16}, {1, 1, 1}, 1);  // 1, -2, 0.5, 3
  const std::uint64_t a = gpu.objects().add_texture(texture);
  const Ran halves = run(gpu,
                         "tex.1d.v4.f16.f32 {h0, h1, h2, h3}, [a, {x}]; mov.b32 r0, {h0, h1}; mov.b32 r1, {h2, h3};"
                         " mov.b32 r2, 0; mov.b32 r3, 0;" +
                             kStore,
                         a);
  const Ran pairs = run(gpu, "tex.1d.v2.f16x2.f32 {r0, r1}, [a, {x}]; mov.b32 r2, 0; mov.b32 r3, 0;" + kStore, a);
  for (const Ran& ran : {halves, pairs}) CHECK((ran.words[7][0] == 0xc000'3c00 && ran.words[7][1] == 0x4200'3800));
}

TEST_CASE("lanes may name different textures, and coordinates that are no numbers lead to the first texel") {
  TestGpu gpu;
  const std::uint64_t a = gpu.objects().add_texture(square(gpu));
  Texture other = square(gpu);
  other.texels.size = {2, 2, 1};
  const std::uint64_t b = gpu.objects().add_texture(other);
  const Ran ran = run(gpu,
                      "and.b32 r4, t, 1; setp.eq.u32 p, r4, 1; selp.b64 d0, b, a, p;"
                      " tex.2d.v4.u32.f32 {r0, r1, r2, r3}, [d0, {x, 0f7fffffff}];" +
                          kStore,
                      a, b);
  REQUIRE(ran.failure.empty());
  for (std::size_t t = 0; t < 32; ++t)
    CHECK(ran.number(t, 0) == static_cast<float>(std::min<std::size_t>(t, t % 2 == 1 ? 1 : 3)));
}

TEST_CASE("queries tell what a texture and a surface are") {
  TestGpu gpu;
  Texture texture = square(gpu);
  texture.addressing = {TexelAddressing::wrap, TexelAddressing::mirror, TexelAddressing::border};
  texture.normalized = texture.filters = true;
  const std::uint64_t a = gpu.objects().add_texture(texture);
  Texels surface = image_of(gpu.allocate("surface", 96), {ChannelKind::unsigned_integer, 4, 8}, {4, 2, 1}, 2);
  surface.layered = true;
  surface.layers = 3;
  const std::uint64_t b = gpu.objects().add_surface(surface);
  const auto asked = [&](const std::string& object, const std::array<std::string, 4>& queries) {
    std::string body;
    for (std::size_t i = 0; i < 4; ++i)
      body += fmt::format("{}q.{}.b32 r{}, [{}]; ", object, queries[i], i, object == "tx" ? "a" : "b");
    return run(gpu, body + kStore, a, b).words[5];
  };
  using Words = std::array<std::uint32_t, 4>;
  CHECK(asked("tx", {"width", "height", "depth", "array_size"}) == Words{4, 4, 0, 0});
  CHECK(asked("tx", {"channel_data_type", "channel_order", "normalized_coords", "filter_mode"}) ==
        Words{0x10de, 0x10b0, 1, 1});
  CHECK(asked("tx", {"addr_mode_0", "addr_mode_1", "addr_mode_2", "num_mipmap_levels"}) == Words{0, 1, 4, 0});
  CHECK(asked("su", {"width", "height", "array_size", "memory_layout"}) == Words{4, 2, 3, 0});
  CHECK(asked("su", {"channel_data_type", "channel_order", "depth", "width"}) == Words{0x10da, 0x10b5, 0, 4});
  const Ran types = run(gpu,
                        "istypep.texref p, a; istypep.texref q, b; selp.b32 r0, 1, 0, p; selp.b32 r1, 1, 0, q;"
                        " istypep.surfref p, b; istypep.samplerref q, a; selp.b32 r2, 1, 0, p;"
                        " selp.b32 r3, 1, 0, q;" +
                            kStore,
                        a, b);
  CHECK(types.words[9] == Words{1, 0, 1, 0});
}

/// What a surface of eight texels holds after each thread below `threads` has executed `instruction`.
template <class T>
std::vector<T> after(TexelFormat format, const std::vector<T>& before, const std::string& instruction, int threads) {
  TestGpu gpu;
  const std::uint64_t at = gpu.upload("surface", before);
  const std::uint64_t a = gpu.objects().add_surface(image_of(at, format, {8, 1, 1}, 1));
  const Ran ran = run(gpu, fmt::format("setp.lt.u32 p, t, {}; shl.b32 r4, t, 2; @p {}", threads, instruction), a);
  CHECK(ran.failure.empty());
  return gpu.download<T>(at, before.size());
}

TEST_CASE("a formatted store converts to the format of the surface") {
  using Bytes = std::vector<std::uint8_t>;
  const TexelFormat bytes{ChannelKind::unsigned_integer, 1, 8};
  CHECK(after<std::uint8_t>(bytes, Bytes(8), "sust.p.1d.b32.trap [a, {t}], {r4};", 8) ==
        Bytes{0, 4, 8, 12, 16, 20, 24, 28});
  CHECK(after<std::uint8_t>(bytes, Bytes(8), "sust.p.1d.b32.zero [a, {t}], {300};", 32) == Bytes(8, 255));
  const TexelFormat signed_bytes{ChannelKind::signed_integer, 1, 8};
  CHECK(after<std::uint8_t>(signed_bytes, Bytes(8), "sust.p.1d.b32.clamp [a, {t}], {-300};", 32) == Bytes(8, 0x80));
  // The second channel gets what nobody can predict: not what was there.
  const TexelFormat pairs{ChannelKind::floating, 2, 16};
  using Halves = std::vector<std::uint16_t>;
  const Halves halves = after<std::uint16_t>(pairs, Halves(16), "sust.p.1d.b32.trap [a, {t}], {x};", 8);
  CHECK((halves[4] == 0x4000 && halves[5] == 0xcbcb && halves[6] == 0x4200));
}

TEST_CASE("reductions of surfaces go by bytes or by samples, and by the sign of the format") {
  using Words = std::vector<std::int32_t>;
  const TexelFormat with_sign{ChannelKind::signed_integer, 1, 32}, without{ChannelKind::unsigned_integer, 1, 32};
  const Words before{-8, 1, 2, 3, 4, 5, 6, 7};
  const auto first = [&](TexelFormat format, const std::string& text, int threads) {
    return after<std::int32_t>(format, before, text, threads)[0];
  };
  CHECK(first(with_sign, "sured.b.add.1d.u32.trap [a, {0}], t;", 32) == -8 + 31 * 16);
  CHECK(first(with_sign, "sured.p.max.1d.b32.trap [a, {0}], t;", 5) == 4);
  CHECK(first(without, "sured.p.max.1d.b32.trap [a, {0}], t;", 5) == -8);
  CHECK(first(without, "sured.b.min.1d.s32.trap [a, {0}], -9;", 1) == -9);
  CHECK(first(without, "sured.b.or.1d.b32.trap [a, {0}], 1;", 1) == -7);
  CHECK(first(without, "sured.b.and.1d.b32.trap [a, {0}], 15;", 1) == 8);
  CHECK(after<std::int32_t>(without, before, "sured.b.add.1d.u32.trap [a, {r4}], 10;", 8)[7] == 17);
  CHECK(after<std::int32_t>(without, before, "sured.p.add.1d.b32.zero [a, {t}], 10;", 32)[7] == 17);
  // Clamped: the lanes beyond the end all add to the last word.
  CHECK(after<std::int32_t>(without, before, "sured.p.add.1d.b32.clamp [a, {t}], 10;", 32)[7] == 7 + 25 * 10);
  CHECK(after<std::uint64_t>({ChannelKind::unsigned_integer, 2, 32}, std::vector<std::uint64_t>(8, 5),
                             "sured.p.max.1d.b64.trap [a, {t}], 77;", 3)[2] == 77);
}

TEST_CASE("an access that leaves its surface, or is misaligned there, is refused with its place") {
  TestGpu gpu;
  const Texels surface = image_of(gpu.allocate("surface", 128), kFloat, {8, 4, 1}, 2);
  const std::uint64_t a = gpu.objects().add_surface(surface);
  const auto why = [&](const std::string& text) { return run(gpu, text, a).failure; };
  CHECK(contains(
      why("sust.b.2d.b32.trap [a, {32, 3}], {t};"),
      "thread (0, 0, 0): sust.b.2d.b32.trap: writes 4 bytes at byte 32 of row 3, outside of a surface of 8 x 4"));
  CHECK(contains(why("suld.b.2d.v2.b32.trap {r0, r1}, [a, {28, 0}];"), "reads 8 bytes at byte 28 of row 0"));
  CHECK(contains(why("suld.b.2d.b32.trap {r0}, [a, {-4, 0}];"), "byte -4 of row 0"));
  CHECK(contains(why("suld.b.2d.b32.trap {r0}, [a, {0, 4}];"), "row 4"));
  CHECK(contains(why("sured.b.add.2d.u32.trap [a, {0, -1}], 1;"), "row -1"));
  CHECK(contains(why("suld.b.2d.b32.trap {r0}, [a, {2, 0}];"), "misaligned"));
  CHECK(why("suld.b.2d.b32.zero {r0}, [a, {32, 3}]; sust.b.2d.b32.clamp [a, {-100, 100}], {t};").empty());
}

TEST_CASE("a handle that names nothing, or something else, is refused") {
  TestGpu gpu;
  const std::uint64_t texture = gpu.objects().add_texture(square(gpu));
  const std::uint64_t surface = gpu.objects().add_surface(square(gpu).texels);
  const std::string fetch = "tex.2d.v4.u32.f32 {r0, r1, r2, r3}, [a, {x, x}];",
                    load = "suld.b.2d.b32.trap {r0}, [a, {0, 0}];";
  CHECK(contains(run(gpu, fetch, 0).failure, "0x0 is no texture object"));
  CHECK(contains(run(gpu, fetch, surface).failure, "is a surface object"));
  CHECK(contains(run(gpu, load, texture).failure, "is a texture object"));
  CHECK(contains(run(gpu, "tex.1d.v4.u32.f32 {r0, r1, r2, r3}, [a, {x}];", texture).failure,
                 "a .1d fetch from a texture of an array of 2 dimensions"));
  CHECK(contains(run(gpu, "suld.b.a2d.b32.trap {r0}, [a, {0, 0, 0, 0}];", surface).failure,
                 "a .a2d access to a surface of an array of 2 dimensions"));
  gpu.objects().remove(texture);
  CHECK(contains(run(gpu, fetch, texture).failure, "is no texture object"));
}

std::string refusal_of(const std::string& ptx) {
  TestGpu gpu;
  try {
    gpu.load_ptx(ptx);
    gpu.module().kernel("k");
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("texture references, samplers of their own, depth and multi-sample textures are refused when loaded") {
  const std::string plain = kernel_of("tex.1d.v4.u32.f32 {r0, r1, r2, r3}, [image, {x}];");
  const std::string reference = std::string(plain).replace(plain.find(".visible"), 0, ".global .texref image;\n");
  CHECK(contains(refusal_of(reference), "texture and surface references are not supported"));
  CHECK(contains(refusal_of(reference), "cudaCreateTextureObject"));
  CHECK(contains(refusal_of(kernel_of("tex.1d.v4.u32.f32 {r0, r1, r2, r3}, [a, b, {x}];")), "a sampler of its own"));
  CHECK(contains(refusal_of(kernel_of("tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [a, {x, x}], x;")), "a depth texture"));
  CHECK(contains(refusal_of(kernel_of("tex.2dms.v4.u32.s32 {r0, r1, r2, r3}, [a, {t, t, t, t}];")), "tex.2dms"));
}

}  // namespace
}  // namespace evo::vgpu
