// A stand-in for NVIDIA's driver, libcuda.so.1, that runs this project's kernels on
// the host: so that the code that uploads and launches is run where there is no GPU.
// scripts/check-cuda-launch builds and uses it.
//
// There is one device, its memory is the host's, and everything is done at once, so
// that streams and events have nothing to wait for. New memory holds rubbish, and what
// is written behind the end of some is found when it is freed. Only what candle and
// this project call is here; of kernels, only this project's.
#include "kernels.h"

#include <map>

typedef int Result;
typedef unsigned long long Pointer;
enum { SUCCESS = 0, INVALID = 1, NOT_FOUND = 500 };

#define DRIVER extern "C" __attribute__((visibility("default"))) Result

static const unsigned char RUBBISH = 0xCD, GUARD = 0xA5;
static const size_t GUARD_BYTES = 256;

static std::map<Pointer, size_t>& sizes() {
    static std::map<Pointer, size_t> known;
    return known;
}

static Result make(Pointer* place, size_t bytes) {
    char* memory = (char*)aligned_alloc(256, (bytes / 256 + 1) * 256 + GUARD_BYTES);
    if (!memory) return 2;
    memset(memory, RUBBISH, bytes);
    memset(memory + bytes, GUARD, GUARD_BYTES);
    *place = (Pointer)memory;
    sizes()[*place] = bytes;
    return SUCCESS;
}

static Result drop(Pointer place) {
    std::map<Pointer, size_t>::iterator known = sizes().find(place);
    if (known == sizes().end()) fail("memory is freed that is none");
    const unsigned char* guard = (const unsigned char*)place + known->second;
    for (size_t i = 0; i < GUARD_BYTES; ++i) {
        if (guard[i] != GUARD) fail("something was written behind the end of memory");
    }
    sizes().erase(known);
    free((void*)place);
    return SUCCESS;
}

// The arguments of the launch at hand, and how many there are is not told.
static void** arguments;

struct Launched {
    static void expect(unsigned) {}
    template <class P> static P get(unsigned at) { return *(P*)arguments[at]; }
};

DRIVER cuInit(unsigned) { return SUCCESS; }
DRIVER cuGetErrorString(Result, const char** text) { *text = "the stand-in driver refuses"; return SUCCESS; }
DRIVER cuGetErrorName(Result, const char** text) { *text = "STAND_IN"; return SUCCESS; }
DRIVER cuDeviceGet(int* device, int number) { *device = 0; return number == 0 ? SUCCESS : 101; }
DRIVER cuDeviceGetAttribute(int* value, int, int) { *value = 1; return SUCCESS; }
DRIVER cuDeviceGetName(char* name, int length, int) { snprintf(name, length, "the host, by a stand-in driver"); return SUCCESS; }
DRIVER cuDevicePrimaryCtxRetain(void** context, int) { *context = (void*)16; return SUCCESS; }
DRIVER cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }
DRIVER cuCtxSetCurrent(void*) { return SUCCESS; }
DRIVER cuCtxGetCurrent(void** context) { *context = (void*)16; return SUCCESS; }
DRIVER cuCtxSynchronize() { return SUCCESS; }
DRIVER cuCtxDestroy_v2(void*) { return SUCCESS; }

DRIVER cuStreamCreate(void** stream, unsigned) { *stream = malloc(1); return SUCCESS; }
DRIVER cuStreamDestroy_v2(void* stream) { free(stream); return SUCCESS; }
DRIVER cuStreamSynchronize(void*) { return SUCCESS; }
DRIVER cuStreamWaitEvent(void*, void*, unsigned) { return SUCCESS; }
DRIVER cuStreamIsCapturing(void*, int* status) { *status = 0; return SUCCESS; }
DRIVER cuEventCreate(void** event, unsigned) { *event = malloc(1); return SUCCESS; }
DRIVER cuEventDestroy_v2(void* event) { free(event); return SUCCESS; }
DRIVER cuEventRecord(void*, void*) { return SUCCESS; }
DRIVER cuEventSynchronize(void*) { return SUCCESS; }

DRIVER cuMemAlloc_v2(Pointer* place, size_t bytes) { return make(place, bytes); }
DRIVER cuMemAllocAsync(Pointer* place, size_t bytes, void*) { return make(place, bytes); }
DRIVER cuMemFree_v2(Pointer place) { return drop(place); }
DRIVER cuMemFreeAsync(Pointer place, void*) { return drop(place); }
DRIVER cuMemHostAlloc(void** place, size_t bytes, unsigned) { return make((Pointer*)place, bytes); }
DRIVER cuMemFreeHost(void* place) { return drop((Pointer)place); }
DRIVER cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t bytes, void*) { memcpy((void*)to, from, bytes); return SUCCESS; }
DRIVER cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t bytes, void*) { memcpy(to, (void*)from, bytes); return SUCCESS; }
DRIVER cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, void*) { memmove((void*)to, (void*)from, bytes); return SUCCESS; }
DRIVER cuMemcpyPeerAsync(Pointer, void*, Pointer, void*, size_t, void*) { return INVALID; }
DRIVER cuMemsetD8Async(Pointer to, unsigned char value, size_t bytes, void*) { memset((void*)to, value, bytes); return SUCCESS; }

DRIVER cuModuleLoad(void**, const char*) { return INVALID; }
DRIVER cuModuleLoadData(void** module, const void* image) {
    // The text itself is the module, so that what it lacks is not found in it.
    *module = strdup((const char*)image);
    return SUCCESS;
}
DRIVER cuModuleUnload(void* module) { free(module); return SUCCESS; }
DRIVER cuModuleGetFunction(void** function, void* module, const char* name) {
    char entry[64];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    if (!strstr((const char*)module, entry)) return NOT_FOUND;
    unsigned count;
    const Named* all = kernels<Launched>(&count);
    for (unsigned i = 0; i < count; ++i) {
        if (!strcmp(all[i].name, name)) {
            *function = (void*)&all[i];
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}
DRIVER cuLaunchKernel(
    void* function, unsigned across, unsigned down, unsigned deep, unsigned threads, unsigned y, unsigned z,
    unsigned shared, void*, void** parameters, void**
) {
    if (deep != 1 || y != 1 || z != 1 || shared != 0 || across == 0 || down == 0) return INVALID;
    arguments = parameters;
    run_grid(across, down, threads, ((const Named*)function)->run);
    return SUCCESS;
}
