    // Of the work's head: what decodes its codes, and what makes octaves of its scores.
    constexpr float log2_e = 1.4426950408889634f;
    const int index = scale_index(work.head);
    const float scale = q_scales[index] * k_scales[index] * softmax_scale * log2_e * KeyDecoder::unit;
    const BytesDecoder query_decoder(q_zeros[index]);
    const KeyDecoder key_decoder(k_zeros[index], k_table);
    const ValueDecoder value_decoder(v_zeros[index], v_table);
    const ValueScale value_scale(v_scales, v_zeros, work.head);
