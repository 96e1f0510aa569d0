// What the kernels share: the three types of logits, order, weights, random
// numbers, reductions over warps and blocks.
//
// Everything here is written such that it gives the same bits on a GPU, when
// compiled for the host under host/shim.h, and in the Rust twin
// (src/gpu/twin.rs): sums are of integers, so their order does not matter, and
// floating-point steps are single roundings in a fixed order (`fmaf` is one;
// the compilers are told to contract nothing else).
#pragma once

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// The row of a text without a mask, and the token of a text without a choice.
#define NONE 0xFFFFFFFFu

#define WARP 32u
#define ALL_LANES 0xFFFFFFFFu

// ---- Types of logits ------------------------------------------------------

struct Float32 {
    typedef u32 Bits;
    static __device__ Bits lowest() { return 0xFF800000u; }
    static __device__ float value(Bits bits) { return __uint_as_float(bits); }
};

struct Float16 {
    typedef u16 Bits;
    static __device__ Bits lowest() { return 0xFC00u; }
    static __device__ float value(Bits bits) {
        u32 sign = (u32)(bits & 0x8000u) << 16;
        u32 rest = (u32)(bits & 0x7FFFu);
        if (rest >= 0x7C00u) return __uint_as_float(sign | 0x7F800000u | (rest & 0x3FFu) << 13);
        // The exponent's bias differs by 112; small numbers become normal ones.
        float scaled = __uint_as_float(rest << 13) * __uint_as_float(0x77800000u);
        return __uint_as_float(sign | __float_as_uint(scaled));
    }
};

struct BFloat16 {
    typedef u16 Bits;
    static __device__ Bits lowest() { return 0xFF80u; }
    static __device__ float value(Bits bits) { return __uint_as_float((u32)bits << 16); }
};

// ---- Masks ----------------------------------------------------------------

// The bits of columns 32 * at and following: those of the mask, if there is
// one, below the vocabulary's end.
__device__ inline u32 mask_word(const u32* mask, u32 at, u32 vocabulary) {
    u32 first = at * 32u;
    if (first >= vocabulary) return 0u;
    u32 word = mask ? mask[at] : 0xFFFFFFFFu;
    u32 left = vocabulary - first;
    return left < 32u ? word & ((1u << left) - 1u) : word;
}

// ---- Order ----------------------------------------------------------------

// A number that orders logits as they are, for all that are numbers; never 0.
// The two zeros are one.
__device__ inline u32 key_of(float logit) {
    u32 bits = __float_as_uint(logit);
    if (bits == 0x80000000u) bits = 0u;
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ inline float logit_of(u32 key) {
    return __uint_as_float(key & 0x80000000u ? key & 0x7FFFFFFFu : ~key);
}

// Orders tokens: the larger logit first, of equals the smaller token. No two
// tokens have the same rank. 0 stands for no token: a logit that is not a
// number, or minus infinity.
__device__ inline u64 rank_of(float logit, u32 token) {
    if (!(logit > __uint_as_float(0xFF800000u))) return 0ull;
    return (u64)key_of(logit) << 32 | (u32)~token;
}

__device__ inline u32 token_of(u64 rank) { return ~(u32)rank; }
__device__ inline float logit_of_rank(u64 rank) { return logit_of((u32)(rank >> 32)); }

// ---- Weights --------------------------------------------------------------

// Weights are whole numbers: this times exp((logit - most) / temperature).
// 2^24 tokens of the largest weight sum to 2^62.
#define WEIGHT_BITS 38

__device__ inline u64 weight_of(float logit, float most, float temperature) {
    if (most == __uint_as_float(0x7F800000u)) {
        // An infinite logit leaves no room for finite ones.
        return logit == most ? 1ull << WEIGHT_BITS : 0ull;
    }
    float scaled = (logit - most) / temperature;
    if (!(scaled > -30.0f)) return 0ull;
    float power = scaled * 1.44269504f;
    float whole = floorf(power + 0.5f);
    float part = power - whole;
    // 2^part by a polynomial (that of Moshier's Cephes, exp2f), within 2e-7.
    float p = 1.5353362e-4f;
    p = fmaf(p, part, 1.3398874e-3f);
    p = fmaf(p, part, 9.6184373e-3f);
    p = fmaf(p, part, 5.5503324e-2f);
    p = fmaf(p, part, 2.4022648e-1f);
    p = fmaf(p, part, 6.9314720e-1f);
    p = fmaf(p, part, 1.0f);
    // p is above 1/2 and below 2, so that this is exact.
    u64 mantissa = (u64)(p * 16777216.0f);
    int shift = WEIGHT_BITS - 24 + (int)whole;
    if (shift >= 0) return mantissa << shift;
    if (shift < -26) return 0ull;
    return (mantissa + (1ull << (-shift - 1))) >> -shift;
}

// The smallest key whose weight is at least `least`; `top` has it.
__device__ inline u32 first_key(u64 least, u32 top, float most, float temperature) {
    u32 low = 0u, high = top;
    while (low < high) {
        u32 middle = low + (high - low) / 2u;
        if (weight_of(logit_of(middle), most, temperature) >= least) high = middle;
        else low = middle + 1u;
    }
    return high;
}

// `sum` times `weight`, as a weight.
__device__ inline u64 scaled_sum(u64 sum, u64 weight) {
    return __umul64hi(sum << 13, weight << (64 - 13 - WEIGHT_BITS));
}

// ---- Random numbers -------------------------------------------------------

struct Random {
    u64 first, second;
};

// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", 2011): the numbers of one draw from the seed and how many came before.
__device__ inline Random random_of(u64 seed, u64 draw) {
    u32 a = (u32)draw, b = (u32)(draw >> 32), c = 0u, d = 0u;
    u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        u64 x = (u64)0xD2511F53u * a, y = (u64)0xCD9E8D57u * c;
        a = (u32)(y >> 32) ^ b ^ k0;
        b = (u32)y;
        c = (u32)(x >> 32) ^ d ^ k1;
        d = (u32)x;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    Random random;
    random.first = (u64)b << 32 | a;
    random.second = (u64)d << 32 | c;
    return random;
}

// ---- Reductions -----------------------------------------------------------

__device__ inline u32 lane_of() { return threadIdx.x % WARP; }
__device__ inline u32 warp_of() { return threadIdx.x / WARP; }

__device__ inline u64 warp_max(u64 value) {
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        u64 other = __shfl_xor_sync(ALL_LANES, value, step);
        value = other > value ? other : value;
    }
    return value;
}

__device__ inline u64 warp_sum(u64 value) {
    for (u32 step = WARP / 2; step > 0; step /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, step);
    }
    return value;
}

// The sum over this lane and those before it.
__device__ inline u64 warp_prefix(u64 value) {
    for (u32 step = 1; step < WARP; step *= 2) {
        u64 below = __shfl_up_sync(ALL_LANES, value, step);
        if (lane_of() >= step) value += below;
    }
    return value;
}

// For each of these `shared` has room for one value a warp, 32 at most. All
// threads of the block call them together, and get the same result.

__device__ inline u64 block_max(u64 value, u64* shared) {
    value = warp_max(value);
    __syncthreads();
    if (lane_of() == 0) shared[warp_of()] = value;
    __syncthreads();
    u64 all = 0ull;
    for (u32 warp = 0; warp < blockDim.x / WARP; ++warp) all = shared[warp] > all ? shared[warp] : all;
    return all;
}

__device__ inline u64 block_sum(u64 value, u64* shared) {
    value = warp_sum(value);
    __syncthreads();
    if (lane_of() == 0) shared[warp_of()] = value;
    __syncthreads();
    u64 all = 0ull;
    for (u32 warp = 0; warp < blockDim.x / WARP; ++warp) all += shared[warp];
    return all;
}

// The sum over the threads before this one; `all` is that over all threads.
__device__ inline u64 block_prefix(u64 value, u64* shared, u64* all) {
    u64 within = warp_prefix(value);
    __syncthreads();
    if (lane_of() == WARP - 1) shared[warp_of()] = within;
    __syncthreads();
    u64 before = 0ull, sum = 0ull;
    for (u32 warp = 0; warp < blockDim.x / WARP; ++warp) {
        if (warp < warp_of()) before += shared[warp];
        sum += shared[warp];
    }
    *all = sum;
    return before + within - value;
}
