"""What the task fp8_attention computes, in torch: softmax(softmax_scale q k^T) v of the decoded codes, in f32."""

import torch

NO_KEYS = torch.finfo(torch.float32).min  # The log-sum-exp of a row that sees no key.


def reference(
    q, k, v, q_scale, k_scale, v_scale, cu_seqlens_q=None, cu_seqlens_kv=None, page_table=None, kv_lengths=None,
    *, layout, causal, window, log_sum_exp, cu_seqlens, page, softmax_scale, **_,
):
    def heads_first(tensor):
        return tensor if layout == "bhsd" else tensor.transpose(1, 2)

    def decoded(codes, scale, heads):
        scale = scale.flatten(1).repeat_interleave(heads // scale.flatten(1).shape[1], dim=1)
        return heads_first(codes).float() * scale[..., None, None]

    q_heads, kv_heads = heads_first(q).shape[1], heads_first(k).shape[1]
    q, k, v = decoded(q, q_scale, q_heads), decoded(k, k_scale, kv_heads), decoded(v, v_scale, kv_heads)
    softmax_scale = softmax_scale or q.shape[-1] ** -0.5
    o = torch.zeros_like(q)
    lse = torch.full(q.shape[:-1], NO_KEYS, device=q.device)
    batches = len(cu_seqlens_q) - 1 if cu_seqlens else q.shape[0]
    for batch in range(batches):
        if cu_seqlens:
            rows = 0, slice(int(cu_seqlens_q[batch]), int(cu_seqlens_q[batch + 1]))
        else:
            rows = batch, slice(None)
        queries = q[rows[0]][:, rows[1]]
        if page > 0:
            pages = page_table[batch].long()
            keys, values = (
                tensor[pages].transpose(0, 1).flatten(1, 2)[:, : int(kv_lengths[batch])] for tensor in (k, v)
            )
        elif cu_seqlens:
            places = slice(int(cu_seqlens_kv[batch]), int(cu_seqlens_kv[batch + 1]))
            keys, values = k[0][:, places], v[0][:, places]
        else:
            keys, values = k[batch], v[batch]
        if queries.shape[1] == 0 or keys.shape[1] == 0:
            continue
        group = q_heads // kv_heads
        keys, values = keys.repeat_interleave(group, dim=0), values.repeat_interleave(group, dim=0)
        scores = queries @ keys.transpose(-2, -1) * softmax_scale
        last = torch.arange(scores.shape[1], device=q.device)[:, None] + scores.shape[2] - scores.shape[1]
        key = torch.arange(scores.shape[2], device=q.device)[None, :]
        seen = torch.ones(scores.shape[1:], dtype=torch.bool, device=q.device)
        if causal:
            seen &= key <= last
        if window > 0:
            seen &= key > last - window
        scores = scores.masked_fill(~seen, float("-inf"))
        some = seen.any(-1)
        weights = torch.where(some[:, None], scores, torch.zeros_like(scores)).softmax(-1) * seen
        o[rows[0]][:, rows[1]] = weights @ values
        lse[rows[0]][:, rows[1]] = torch.where(some, scores.logsumexp(-1), torch.full_like(scores[..., 0], NO_KEYS))
    o = o if layout == "bhsd" else o.transpose(1, 2)
    return (o, lse) if log_sum_exp else o
