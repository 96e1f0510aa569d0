// All kernels under the shim, by name, and how they are called.
#pragma once
#include "shim.h"
#include "../tokenmold.cu"

// Calls kernels with arguments that `From` reads: `From::get<P>(place)`.
template <unsigned... I> struct Places {};
template <unsigned N, unsigned... I> struct Count : Count<N - 1, N - 1, I...> {};
template <unsigned... I> struct Count<0, I...> {
    typedef Places<I...> Type;
};

template <class From, class... P, unsigned... I> static void call(void (*kernel)(P...), Places<I...>) {
    From::expect(sizeof...(P));
    kernel(From::template get<P>(I)...);
}

template <class From, class... P> static void call(void (*kernel)(P...)) {
    call<From>(kernel, typename Count<sizeof...(P)>::Type());
}

struct Named {
    const char* name;
    void (*run)();
};

#define KERNEL(NAME) {#NAME, [] { call<From>(NAME); }}

// The order is that of `Kernel::NAMES` in src/gpu/kernels.rs.
template <class From> static const Named* kernels(unsigned* count) {
    static const Named KERNELS[] = {
        KERNEL(mask_f32), KERNEL(mask_f16), KERNEL(mask_bf16),
        KERNEL(scan_f32), KERNEL(scan_f16), KERNEL(scan_bf16),
        KERNEL(choose_f32), KERNEL(choose_f16), KERNEL(choose_bf16),
        KERNEL(advance), KERNEL(lay_out),
    };
    *count = sizeof KERNELS / sizeof *KERNELS;
    return KERNELS;
}
