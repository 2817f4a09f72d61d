/* The CUDA driver, loaded when it is first needed; no toolkit is there to compile or to run. */
typedef struct { int id, pad; union { int words[16]; uint64_t align; }; } dslc_attribute;
typedef struct {
  unsigned grid[3], block[3], shared;
  void *stream;
  dslc_attribute *attributes;
  unsigned count;
} dslc_config;

static struct {
  int (*cuInit)(unsigned);
  int (*cuDeviceGet)(int *, int);
  int (*cuDeviceGetAttribute)(int *, int, int);
  int (*cuDevicePrimaryCtxRetain)(void **, int);
  int (*cuCtxPushCurrent)(void *);
  int (*cuCtxPopCurrent)(void **);
  int (*cuModuleLoadData)(void **, const void *);
  int (*cuModuleGetFunction)(void **, void *, const char *);
  int (*cuFuncSetAttribute)(void *, int, int);
  int (*cuLaunchKernelEx)(const dslc_config *, void *, void **, void **);
  int (*cuMemAllocAsync)(uint64_t *, size_t, void *);
  int (*cuMemFreeAsync)(uint64_t, void *);
  int (*cuMemsetD8Async)(uint64_t, unsigned char, size_t, void *);
  int (*cuTensorMapEncodeTiled)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *,
                                const unsigned *, const unsigned *, int, int, int, int);
  int (*cuGetErrorName)(int, const char **);
} dslc_cuda;

enum { DSLC_DEVICES = 64 };
static pthread_mutex_t dslc_lock = PTHREAD_MUTEX_INITIALIZER;
static struct { void *context; int capability; } dslc_devices[DSLC_DEVICES];

typedef struct {
  const char *name, *entry;
  const unsigned char *image;
  int shared, large_cluster;
  void *handles[DSLC_DEVICES];
} dslc_function;

static int dslc_driver_error(const char *what, int status) {
  const char *name = 0;
  if (dslc_cuda.cuGetErrorName) dslc_cuda.cuGetErrorName(status, &name);
  return dslc_fail(DSLC_DRIVER, "%s: the CUDA driver says %s (%d)", what, name ? name : "nothing", status);
}

static int dslc_load_driver(void) {
  static const char *const names[] = {
    "cuInit", "cuDeviceGet", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2", "cuModuleLoadData", "cuModuleGetFunction", "cuFuncSetAttribute", "cuLaunchKernelEx",
    "cuMemAllocAsync", "cuMemFreeAsync", "cuMemsetD8Async", "cuTensorMapEncodeTiled", "cuGetErrorName",
  };
  if (dslc_cuda.cuInit) return 0;
  const char *path = getenv("DSLC_LIBCUDA");
  void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
  if (!library) return dslc_fail(DSLC_DRIVER, "there is no CUDA driver: %s", dlerror());
  void *found[sizeof names / sizeof *names];
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) found[i] = dlsym(library, names[i]);
  int (*init)(unsigned);
  memcpy(&init, &found[0], sizeof init);
  if (!init) return dslc_fail(DSLC_DRIVER, "the library of the CUDA driver has no cuInit");
  int status = init(0);
  if (status) return dslc_driver_error("cuInit", status);
  memcpy(&dslc_cuda, found, sizeof dslc_cuda);
  return 0;
}

/* The compute capability (90 for 9.0) of a device, its primary context retained; -1 with an error. */
static int dslc_capability(int device) {
  if (device < 0 || device >= DSLC_DEVICES) {
    dslc_fail(DSLC_ARGUMENT, "there is no device %d", device);
    return -1;
  }
  pthread_mutex_lock(&dslc_lock);
  int failed = dslc_load_driver();
  if (!failed && !dslc_devices[device].context) {
    int handle = 0, major = 0, minor = 0, status = dslc_cuda.cuDeviceGet(&handle, device);
    if (!status) status = dslc_cuda.cuDeviceGetAttribute(&major, 75, handle);
    if (!status) status = dslc_cuda.cuDeviceGetAttribute(&minor, 76, handle);
    dslc_devices[device].capability = 10 * major + minor;
    if (!status) status = dslc_cuda.cuDevicePrimaryCtxRetain(&dslc_devices[device].context, handle);
    if (status) failed = dslc_driver_error("finding the device", status);
  }
  pthread_mutex_unlock(&dslc_lock);
  return failed ? -1 : dslc_devices[device].capability;
}

/* The device's context is current here. */
static int dslc_find(dslc_function *f, int device, void **handle) {
  pthread_mutex_lock(&dslc_lock);
  int status = 0;
  if (!f->handles[device]) {
    void *module = 0, *found = 0;
    status = dslc_cuda.cuModuleLoadData(&module, f->image);
    if (!status) status = dslc_cuda.cuModuleGetFunction(&found, module, f->entry);
    if (!status && f->shared) status = dslc_cuda.cuFuncSetAttribute(found, 8, f->shared);
    if (!status && f->large_cluster) status = dslc_cuda.cuFuncSetAttribute(found, 14, 1);
    if (!status) f->handles[device] = found;
  }
  *handle = f->handles[device];
  pthread_mutex_unlock(&dslc_lock);
  return status ? dslc_driver_error(f->name, status) : 0;
}

static int dslc_map(void *out, const char *name, int type, int rank, uint64_t address, int64_t *extents,
                    int64_t *strides, const unsigned *box, int swizzle) {
  static const unsigned ones[5] = {1, 1, 1, 1, 1};
  uint64_t sizes[5], steps[5];
  for (int i = 0; i < rank; ++i) sizes[i] = (uint64_t)dslc_max(1, extents[i]);
  for (int i = 0; i < rank - 1; ++i) steps[i] = (uint64_t)dslc_max(16, strides[i]);
  if (!dslc_cuda.cuTensorMapEncodeTiled)
    return dslc_fail(DSLC_DRIVER, "%s: the CUDA driver is older than 12.0", name);
  int status = dslc_cuda.cuTensorMapEncodeTiled(out, type, (unsigned)rank, (void *)(uintptr_t)address, sizes,
                                                steps, box, ones, 0, swizzle, 3, 0);
  return status ? dslc_driver_error(name, status) : 0;
}

static int dslc_launch(dslc_function *f, int device, void *stream, const int64_t *grid, int threads,
                       dslc_attribute *attributes, int count, void **parameters) {
  static const int64_t most[3] = {INT32_MAX, 65535, 65535};
  for (int i = 0; i < 3; ++i) {
    if (grid[i] == 0) return 0;
    if (grid[i] < 0 || grid[i] > most[i])
      return dslc_fail(DSLC_ARGUMENT, "%s would need %" PRId64 " blocks along axis %d", f->name, grid[i], i);
  }
  void *handle;
  int failed = dslc_find(f, device, &handle);
  if (failed) return failed;
  dslc_config config = {
    {(unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2]}, {(unsigned)threads, 1, 1},
    (unsigned)f->shared, stream, attributes, (unsigned)count,
  };
  int status = dslc_cuda.cuLaunchKernelEx(&config, handle, parameters, 0);
  return status ? dslc_driver_error(f->name, status) : 0;
}

/* Memory of a launch, given and taken back in the order of the stream. */
static int dslc_take(uint64_t *address, int64_t bytes, int zero, void *stream) {
  if (!dslc_cuda.cuMemAllocAsync)
    return dslc_fail(DSLC_DRIVER, "the CUDA driver is older than 11.2");
  size_t size = (size_t)dslc_max(1, bytes);
  int status = dslc_cuda.cuMemAllocAsync(address, size, stream);
  if (!status && zero) status = dslc_cuda.cuMemsetD8Async(*address, 0, size, stream);
  return status ? dslc_driver_error("allocating memory", status) : 0;
}

static void dslc_give_back(const uint64_t *addresses, int count, void *stream) {
  for (int i = 0; i < count; ++i)
    if (addresses[i]) dslc_cuda.cuMemFreeAsync(addresses[i], stream);
}
