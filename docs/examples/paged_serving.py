#!/usr/bin/env python3
"""Serves a small model with random weights: continuous batching, prompts in parts, keys and values in FP8 pages.

Needs the package evo_fp8_attention (docs/use.md) and a GPU. Every request is also computed in one piece, without a cache,
with scaled_dot_product_attention of the dequantised queries, keys and values. Prints how far the two are apart; exit code 1
when they are too far.
"""

import collections
import dataclasses
import sys

import torch
import torch.nn.functional as F
from evo_fp8_attention import fp8_attention

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM, WORDS = 2, 512, 8, 2, 128, 1000
PAGE = 64  # tokens, as the kernel was made for
PAGES = 8  # of one request at most
SLOTS = 4  # requests at once
STEP_TOKENS = 96  # of all requests in one step
LARGEST = 448.0  # of E4M3


def codes(x, scale):
    """E4M3 codes of x [tokens, heads, HEAD_DIM]; scale [1, 1, heads]."""
    return (x.float() / scale[0, :, :, None]).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn).contiguous()


@dataclasses.dataclass
class Batch:
    """The tokens of a step, those of each slot behind each other. A slot may have none."""

    tokens: torch.Tensor
    positions: torch.Tensor  # in their requests
    places: torch.Tensor  # in the cache: page * PAGE + place in the page
    cu_seqlens_q: torch.Tensor  # [SLOTS + 1]
    page_table: torch.Tensor  # [SLOTS, PAGES]
    kv_lengths: torch.Tensor  # [SLOTS], with the tokens of this step


class PagedCache:
    """Keys and values of one layer, in pages that all requests share."""

    def __init__(self, device):
        shape = (SLOTS * PAGES, PAGE, KV_HEADS, HEAD_DIM)
        self.k = torch.zeros(shape, dtype=torch.float8_e4m3fn, device=device)
        self.v = torch.zeros(shape, dtype=torch.float8_e4m3fn, device=device)

    def write(self, k, v, places):
        for cache, new in ((self.k, k), (self.v, v)):
            cache.view(torch.uint8).flatten(0, 1)[places] = new.view(torch.uint8)


class PagedAttention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(HIDDEN, (HEADS + 2 * KV_HEADS) * HEAD_DIM, bias=False, dtype=torch.bfloat16)
        self.out = torch.nn.Linear(HEADS * HEAD_DIM, HIDDEN, bias=False, dtype=torch.bfloat16)
        torch.nn.init.normal_(self.qkv.weight, std=HIDDEN**-0.5)  # Queries, keys and values are near 1.
        for name in ("q_scale", "k_scale", "v_scale"):
            self.register_buffer(name, torch.full((1, 1, KV_HEADS), 0.02))

    def quantised(self, x):
        """Codes of queries, keys and values. Query heads that share keys share a scale."""
        q, k, v = self.qkv(x).unflatten(-1, (-1, HEAD_DIM)).split((HEADS, KV_HEADS, KV_HEADS), dim=1)
        q_scale = self.q_scale.repeat_interleave(HEADS // KV_HEADS, dim=-1)
        return codes(q, q_scale), codes(k, self.k_scale), codes(v, self.v_scale)

    def forward(self, x, cache, batch):
        q, k, v = self.quantised(x)
        cache.write(k, v, batch.places)
        o = fp8_attention(
            q[None], cache.k, cache.v, self.q_scale, self.k_scale, self.v_scale,
            batch.cu_seqlens_q, batch.page_table, batch.kv_lengths, PAGES * PAGE,
        )
        return self.out(o[0].flatten(1))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = PagedAttention()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(HIDDEN, dtype=torch.bfloat16) for _ in range(2))
        self.up = torch.nn.Linear(HIDDEN, 4 * HIDDEN, dtype=torch.bfloat16)
        self.down = torch.nn.Linear(4 * HIDDEN, HIDDEN, dtype=torch.bfloat16)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, HIDDEN, dtype=torch.bfloat16)
        self.positions = torch.nn.Embedding(PAGES * PAGE, HIDDEN, dtype=torch.bfloat16)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = torch.nn.Linear(HIDDEN, WORDS, dtype=torch.bfloat16)

    def forward(self, tokens, positions, attend):
        """Logits of every token. attend(layer, attention, x): the attention of a layer."""
        x = self.words(tokens) + self.positions(positions)
        for layer, block in enumerate(self.blocks):
            x = x + attend(layer, block.attention, block.norms[0](x))
            x = x + block.down(F.gelu(block.up(block.norms[1](x))))
        return self.head(x)


@dataclasses.dataclass(eq=False)
class Request:
    tokens: list  # the prompt, and what was generated
    length: int  # of both, at the end
    computed: int = 0  # tokens whose keys and values are in the cache
    pages: list = dataclasses.field(default_factory=list)


class Engine:
    """Takes requests into a batch as they come and as others end."""

    def __init__(self, model, device):
        self.model, self.device = model, device
        self.caches = [PagedCache(device) for _ in range(LAYERS)]
        self.free = list(range(SLOTS * PAGES))
        self.slots = [None] * SLOTS
        self.waiting = collections.deque()

    def submit(self, request):
        if request.length > PAGES * PAGE:
            raise ValueError(f"a request of {request.length} tokens: at most {PAGES * PAGE}")
        self.waiting.append(request)

    def busy(self):
        return bool(self.waiting) or any(self.slots)

    def next_batch(self):
        """A batch, and for each slot how many of its tokens are the request's."""
        tokens, positions, places, offsets, table, lengths, counts = [], [], [], [0], [], [], []
        for slot in range(SLOTS):
            if self.slots[slot] is None and self.waiting:
                self.slots[slot] = self.waiting.popleft()
            request = self.slots[slot]
            if request is None:
                counts, offsets, lengths, table = counts + [0], offsets + [len(tokens)], lengths + [0], table + [[0] * PAGES]
                continue
            count = min(len(request.tokens) - request.computed, STEP_TOKENS - len(tokens))
            end = request.computed + count
            while len(request.pages) * PAGE < end:
                request.pages.append(self.free.pop())
            of_step = range(request.computed, end)
            tokens += request.tokens[request.computed : end]
            positions += of_step
            places += [request.pages[position // PAGE] * PAGE + position % PAGE for position in of_step]
            counts.append(count)
            offsets.append(len(tokens))
            lengths.append(end)
            table.append(request.pages + [0] * (PAGES - len(request.pages)))
        wide = [torch.tensor(numbers, device=self.device) for numbers in (tokens, positions, places)]
        narrow = [torch.tensor(numbers, dtype=torch.int32, device=self.device) for numbers in (offsets, table, lengths)]
        return Batch(*wide, *narrow), counts

    def compute(self, batch):
        def attend(layer, attention, x):
            return attention(x, self.caches[layer], batch)

        return self.model(batch.tokens, batch.positions, attend)

    def step(self):
        batch, counts = self.next_batch()
        logits = self.compute(batch)
        words = logits.argmax(-1).tolist()
        for slot, request in enumerate(self.slots):
            if not counts[slot]:
                continue
            request.computed += counts[slot]
            if request.computed < len(request.tokens):  # a part of its prompt
                continue
            request.tokens.append(words[int(batch.cu_seqlens_q[slot + 1]) - 1])
            if len(request.tokens) == request.length:
                self.free += request.pages
                self.slots[slot] = None


# ---- The comparison


class RecordingEngine(Engine):
    """Keeps what its model has answered: for each request the parts of the attentions' outputs and of the logits."""

    def __init__(self, model, device):
        super().__init__(model, device)
        self.answers = collections.defaultdict(list)

    def compute(self, batch):
        answers = []

        def attend(layer, attention, x):
            answers.append(attention(x, self.caches[layer], batch))
            return answers[-1]

        answers.append(self.model(batch.tokens, batch.positions, attend))
        for slot, request in enumerate(self.slots):
            rows = slice(int(batch.cu_seqlens_q[slot]), int(batch.cu_seqlens_q[slot + 1]))
            if rows.stop > rows.start:
                self.answers[request].append([answer[rows] for answer in answers])
        return answers[-1]

    def of(self, request):
        return [torch.cat(parts) for parts in zip(*self.answers[request])]


def in_one_piece(model, request, device):
    """The same answers of all its tokens but the last, which was not computed with, at once and without a cache."""
    answers = []

    def attend(layer, attention, x):
        scales = attention.q_scale, attention.k_scale, attention.v_scale
        q, k, v = (
            (code.float() * scale.repeat_interleave(code.shape[1] // KV_HEADS, dim=-1)[0, :, :, None]).transpose(0, 1)
            for code, scale in zip(attention.quantised(x), scales)
        )
        k, v = (tensor.repeat_interleave(HEADS // KV_HEADS, dim=0) for tensor in (k, v))
        o = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
        answers.append(attention.out(o.transpose(0, 1).flatten(1).to(x.dtype)))
        return answers[-1]

    tokens = torch.tensor(request.tokens[:-1], device=device)
    answers.append(model(tokens, torch.arange(len(tokens), device=device), attend))
    return answers


def distance(got, want):
    return ((got.double() - want.double()).norm() / want.double().norm()).item()


@torch.no_grad()
def main(device):
    torch.manual_seed(0)
    model = Model().to(device)
    engine = RecordingEngine(model, device)
    sizes = [(3, 20), (150, 170), (257, 260), (40, 130), (1, 70), (300, 310), (64, 66), (127, 129), (20, 21)]
    requests = [Request(torch.randint(WORDS, (prompt,)).tolist(), length) for prompt, length in sizes]
    for request in requests:
        engine.submit(request)
    steps = 0
    while engine.busy():
        engine.step()
        steps += 1
    print(f"{len(requests)} requests, {sum(request.length for request in requests)} tokens, {steps} steps")
    worst = 0.0
    for request in requests:
        found = [distance(got, want) for got, want in zip(engine.of(request), in_one_piece(model, request, device))]
        attentions = ", ".join(f"{error:.4f}" for error in found[:-1])
        print(f"{request.length:4} tokens: relative L2 distance of the attentions {attentions}, of the logits {found[-1]:.4f}")
        worst = max([worst, *found], key=lambda error: error if error == error else float("inf"))
    right = worst < 0.08
    print("right" if right else "WRONG: served and computed in one piece are too far apart")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main("cuda"))
