/* HIP's library for tests without a GPU: the CUDA driver's stand-in under HIP's names, with devices that
   are current by their number and code objects that say for which chip they are. */
#define cuInit hipInit
#define cuDriverGetVersion hipDriverGetVersion
#define cuDeviceGetCount hipGetDeviceCount
#define cuDeviceGet hipDeviceGet
#define cuDeviceGetName hipDeviceGetName
#define cuDeviceGetAttribute fake_cuda_attribute
#define cuModuleLoadData fake_cuda_load
#define cuModuleUnload fake_cuda_unload
#define cuModuleGetFunction hipModuleGetFunction
#define cuFuncGetAttribute hipFuncGetAttribute
#define cuMemAlloc_v2 hipMalloc
#define cuMemFree_v2 hipFree
#define cuMemcpyHtoDAsync_v2 hipMemcpyHtoDAsync
#define cuMemcpyDtoHAsync_v2 hipMemcpyDtoHAsync
#define cuMemsetD8Async hipMemsetD8Async
#define cuStreamCreate hipStreamCreateWithFlags
#define cuStreamDestroy_v2 hipStreamDestroy
#define cuStreamSynchronize hipStreamSynchronize
#define cuStreamGetCaptureInfo_v2 hipStreamGetCaptureInfo_v2
#define cuStreamIsCapturing hipStreamIsCapturing
#define cuThreadExchangeStreamCaptureMode hipThreadExchangeStreamCaptureMode
#define cuPointerGetAttribute hipPointerGetAttribute
#define cuGetErrorName hipDrvGetErrorName
#define cuGetErrorString hipDrvGetErrorString
#include "fake_libcuda.c"

static int device = 0;
int hipSetDevice(int d) { device = d, current[depth - 1] = 1 + (uint64_t)d; return 0; }
int hipGetDevice(int *d) { hipSetDevice(device); *d = device; return 0; }
int hipDeviceGetAttribute(int *v, int a, int d) { *v = a == 74 ? 65536 : -1; return 0; }

/* Device 0 is a gfx950. */
int hipModuleLoadData(void **module, const char *image) {
  if (image[0] != 0x7f && !strstr(image, "gfx950")) return 209;
  return fake_cuda_load(module, image);
}
int hipModuleUnload(void *module) { return 0; }

int hipModuleLaunchKernel(Function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, void *stream, void **parameters, void **extra) {
  const Config config = {{gx, gy, gz}, {bx, by, bz}, shared, stream, last_attributes, 0};
  hipSetDevice(device);
  return cuLaunchKernelEx(&config, f, parameters, extra);
}
