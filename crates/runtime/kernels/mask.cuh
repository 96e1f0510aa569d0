// Masks written into logits, in place.
#pragma once
#include "common.cuh"

// Vectors of 16 bytes that each thread masks.
#define MASK_VECTORS 4u

// A vector of 16 bytes of logits.
template <class T> union Vector {
    uint4 whole;
    typename T::Bits parts[16 / sizeof(typename T::Bits)];
};

// Masks one row, of which this block has its part: blocks of the grid's first
// dimension share the row.
template <class T>
__device__ void mask_one(typename T::Bits* row, const u32* mask, u32 vocabulary, u32 width) {
    const u32 parts = 16u / sizeof(typename T::Bits);
    const u32 all = (1u << parts) - 1u;
    // A row of odd width may begin anywhere; then there are no vectors.
    const bool aligned = (u64)row % 16u == 0u;
    const u32 vectors = aligned ? width / parts : 0u;
    const u32 stride = gridDim.x * blockDim.x;
    u32 at = blockIdx.x * blockDim.x * MASK_VECTORS + threadIdx.x;
#pragma unroll
    for (u32 i = 0; i < MASK_VECTORS; ++i, at += blockDim.x) {
        if (at >= vectors) break;
        const u32 column = at * parts;
        const u32 bits = mask_word(mask, column / 32u, vocabulary) >> column % 32u & all;
        // What is all allowed is not touched, and what is all forbidden is not
        // read.
        if (bits == all) continue;
        Vector<T>* place = (Vector<T>*)(row + column);
        Vector<T> vector;
        if (bits) vector.whole = place->whole;
#pragma unroll
        for (u32 part = 0; part < parts; ++part) {
            if (!(bits >> part & 1u)) vector.parts[part] = T::lowest();
        }
        place->whole = vector.whole;
    }
    for (u32 column = vectors * parts + blockIdx.x * blockDim.x + threadIdx.x; column < width; column += stride) {
        if (!(mask_word(mask, column / 32u, vocabulary) >> column % 32u & 1u)) row[column] = T::lowest();
    }
}

// Masks `batch` rows of `width` logits. `rows` has for each the number of its
// mask, or NONE; masks are `words` words each.
template <class T>
__device__ void mask_all(
    typename T::Bits* logits, const u32* masks, const u32* rows,
    u32 batch, u32 width, u32 vocabulary, u32 words
) {
    for (u32 text = blockIdx.y; text < batch; text += gridDim.y) {
        const u32 row = rows[text];
        const u32* mask = row == NONE ? 0 : masks + (u64)row * words;
        mask_one<T>(logits + (u64)text * width, mask, vocabulary, width);
    }
}

#define MASK_KERNEL(NAME, TYPE) \
    extern "C" __global__ void NAME( \
        TYPE::Bits* logits, const u32* masks, const u32* rows, \
        u32 batch, u32 width, u32 vocabulary, u32 words \
    ) { \
        mask_all<TYPE>(logits, masks, rows, batch, width, vocabulary, words); \
    }

MASK_KERNEL(mask_f32, Float32)
MASK_KERNEL(mask_f16, Float16)
MASK_KERNEL(mask_bf16, BFloat16)
