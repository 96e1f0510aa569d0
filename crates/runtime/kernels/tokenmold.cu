// All kernels, as one module.
#include "mask.cuh"
#include "resident.cuh"
#include "sample.cuh"
