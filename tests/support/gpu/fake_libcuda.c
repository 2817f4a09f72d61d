/* A stand-in for the CUDA driver, for tests without a GPU: device memory is the host's, and the kernels
   that it knows by name run on the host when they are launched. What the last launch asked for, and how
   often things were called, can be read back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef struct { int id, pad; int value[16]; } Attribute;
typedef struct {
  unsigned grid[3], block[3], shared;
  void *stream;
  Attribute *attributes;
  unsigned count;
} Config;

static int devices = 1, major = 9, minor = 0, fail_next = 0, capturing = 0;
static uint64_t capture_number = 0;
static __thread uint64_t current[64], depth = 1;
static int64_t allocations = 0, frees = 0, launches = 0, synchronisations = 0, allocated_in_capture = 0;
static int capture_mode = 0, dynamic_shared = 0;
static size_t room = (size_t)-1;
static Config last;
static Attribute last_attributes[8];



/* The tests' own controls. */
void fake_reset(int d, int ma, int mi) {
  devices = d, major = ma, minor = mi, fail_next = 0, capturing = 0, capture_number = 0, depth = 1;
  current[0] = 0;
  allocations = frees = launches = synchronisations = allocated_in_capture = 0;
  capture_mode = dynamic_shared = 0, room = (size_t)-1;
}
void fake_room(size_t bytes) { room = bytes; }
void fake_fail_next(int status) { fail_next = status; }
void fake_capture(int on) { capturing = on; if (on) ++capture_number; }
void fake_set_current(uint64_t context) { current[depth - 1] = context; }
uint64_t fake_current(void) { return current[depth - 1]; }
int64_t fake_count(const char *what) {
  if (!strcmp(what, "allocations")) return allocations;
  if (!strcmp(what, "frees")) return frees;
  if (!strcmp(what, "launches")) return launches;
  if (!strcmp(what, "synchronisations")) return synchronisations;
  if (!strcmp(what, "allocated_in_capture")) return allocated_in_capture;
  if (!strcmp(what, "dynamic_shared")) return dynamic_shared;
  if (!strcmp(what, "capture_mode")) return capture_mode;
  return -1;
}
const Config *fake_last(void) { return &last; }
const Attribute *fake_attributes(void) { return last_attributes; }

CUresult cuInit(unsigned flags) { return 0; }
CUresult cuDriverGetVersion(int *v) { *v = 13000; return 0; }
CUresult cuDeviceGetCount(int *n) { *n = devices; return 0; }
CUresult cuDeviceGet(int *d, int ordinal) { *d = ordinal; return 0; }
CUresult cuDeviceGetName(char *name, int n, int d) { strncpy(name, "Fake GPU", n); return 0; }
CUresult cuDeviceGetAttribute(int *v, int a, int d) {
  *v = a == 75 ? major : a == 76 ? minor : a == 97 ? 232448 : a == 1 ? 1024 : a == 95 ? 1 : a == 16 ? 132
     : a == 81 ? 233472 : a == 111 ? 1024 : 0;
  return 0;
}
CUresult cuDevicePrimaryCtxRetain(uint64_t *c, int d) { *c = 1000 + d; return 0; }
CUresult cuCtxGetCurrent(uint64_t *c) { *c = current[depth - 1]; return 0; }
CUresult cuCtxSetCurrent(uint64_t c) { current[depth - 1] = c; return 0; }
CUresult cuCtxPushCurrent_v2(uint64_t c) { current[depth++] = c; return 0; }
CUresult cuCtxPopCurrent_v2(uint64_t *c) { *c = current[--depth]; return 0; }

/* A module is the image's text: the name of a kernel below. A function is a module and its context. */
typedef struct { char name[64]; uint64_t context; } Function;
CUresult cuModuleLoadData(void **m, const void *image) { *m = strdup(image); return 0; }
/* Real machine code has every name; it is launched, and does nothing. */
static int has(const char *module, const char *name) { return module[0] == 0x7f || strstr(module, name); }
CUresult cuModuleUnload(void *m) { free(m); return 0; }
CUresult cuModuleGetFunction(Function **f, char *module, const char *name) {
  if (!has(module, name)) return 500;
  *f = calloc(1, sizeof(Function));
  strncpy((*f)->name, module[0] == 0x7f ? "" : name, 63);
  (*f)->context = current[depth - 1];
  return 0;
}
CUresult cuFuncGetAttribute(int *v, int a, Function *f) { *v = a == 0 ? 512 : 0; return 0; }
CUresult cuFuncSetAttribute(Function *f, int a, int v) { if (a == 8) dynamic_shared = v; return 0; }

CUresult cuMemAlloc_v2(uint64_t *p, size_t n) {
  if (n > room) return 2;
  ++allocations;
  if (capturing) { ++allocated_in_capture; if (capture_mode != 2) return 900; }
  *p = (uint64_t)aligned_alloc(256, (n + 255) / 256 * 256);
  memset((void *)*p, 0xcd, n);
  return 0;
}
CUresult cuMemFree_v2(uint64_t p) { ++frees; free((void *)p); return 0; }
CUresult cuMemAllocAsync(uint64_t *p, size_t n, void *stream) { return cuMemAlloc_v2(p, n); }
CUresult cuMemFreeAsync(uint64_t p, void *stream) { return cuMemFree_v2(p); }
CUresult cuMemcpyHtoDAsync_v2(uint64_t d, const void *s, size_t n, void *stream) { memcpy((void *)d, s, n); return 0; }
CUresult cuMemcpyDtoHAsync_v2(void *d, uint64_t s, size_t n, void *stream) { memcpy(d, (void *)s, n); return 0; }
CUresult cuMemcpyHtoD_v2(uint64_t d, const void *s, size_t n) { memcpy((void *)d, s, n); return 0; }
CUresult cuMemcpyDtoH_v2(void *d, uint64_t s, size_t n) { memcpy(d, (void *)s, n); return 0; }
CUresult cuMemsetD8Async(uint64_t d, unsigned char c, size_t n, void *stream) { memset((void *)d, c, n); return 0; }
CUresult cuStreamCreate(void **s, unsigned flags) { *s = malloc(1); return 0; }
CUresult cuStreamDestroy_v2(void *s) { free(s); return 0; }
CUresult cuStreamSynchronize(void *s) { ++synchronisations; return 0; }
CUresult cuStreamGetCaptureInfo_v2(void *s, int *status, uint64_t *id, void *g, void *d, void *n) {
  *status = capturing, *id = capture_number;
  return 0;
}
CUresult cuThreadExchangeStreamCaptureMode(int *mode) { int old = capture_mode; capture_mode = *mode; *mode = old; return 0; }
CUresult cuPointerGetAttribute(int *v, int a, uint64_t p) { *v = 0; return 0; }
CUresult cuGetErrorName(int e, const char **s) { *s = e == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_FAKE"; return 0; }
CUresult cuGetErrorString(int e, const char **s) { *s = "as the test asked"; return 0; }

/* The kernels: y = x * s, and y = what a workspace holds. */
static void scale(void **p) {
  const float *x = *(const float **)p[0];
  float *y = *(float **)p[1], s = *(float *)p[2];
  int n = *(int *)p[3];
  for (int i = 0; i < n; ++i) y[i] = x[i] * s;
}
static void count(void **p) {
  float *y = *(float **)p[0];
  int64_t n = *(int64_t *)p[1];
  int *space = *(int **)p[2];
  for (int64_t i = 0; i < n; ++i) y[i] = (float)space[i];
}

/* Tensor maps: what was asked for, word by word; a kernel `mapped` hands them over. */
static int64_t encoded = 0;
int64_t fake_encoded(void) { return encoded; }
CUresult cuTensorMapEncodeTiled(void *map, int type, unsigned rank, uint64_t address, const uint64_t *extents,
                                const uint64_t *strides, const unsigned *box, const unsigned *steps,
                                int interleave, int swizzle, int promotion, int fill) {
  uint64_t *w = map;
  if (!current[depth - 1]) return 201;
  if ((uintptr_t)map % 64 || address % 16 || rank < 1 || rank > 5) return 1;
  for (unsigned d = 0; d < rank; ++d)
    if (!extents[d] || box[d] > 256 || steps[d] != 1 || (d && strides[d - 1] % 16)) return 1;
  memset(map, 0, 128);
  w[0] = address, w[1] = rank, w[2] = (uint64_t)type, w[3] = (uint64_t)swizzle;
  for (unsigned d = 0; d < rank; ++d) w[4 + d] = extents[d], w[9 + d] = box[d];
  w[14] = strides[0];
  ++encoded;
  return 0;
}
static void mapped(void **p) {
  float *y = *(float **)p[1];
  if ((uintptr_t)p[2] % 64) return;
  const uint64_t *w = p[2];
  y[0] = w[0] == *(uint64_t *)p[0];
  for (int i = 1; i < 16; ++i) y[i] = (float)w[i];
}

/* Sixteen numbers of 32 bits behind two tensors. */
static void numbers(void **p) {
  for (int i = 0; i < 16; ++i) (*(float **)p[1])[i] = (float)*(int *)p[2 + i];
}

static void run(Function *f, void **parameters) {
  if (!strcmp(f->name, "numbers")) numbers(parameters);
  if (!strcmp(f->name, "mapped")) mapped(parameters);
  if (!strcmp(f->name, "scale")) scale(parameters);
  if (!strcmp(f->name, "count")) count(parameters);
}

CUresult cuLaunchKernelEx(const Config *config, Function *f, void **parameters, void **extra) {
  if (fail_next) { int status = fail_next; fail_next = 0; return status; }
  if (f->context != current[depth - 1]) return current[depth - 1] ? 400 : 201;
  ++launches;
  last = *config;
  memcpy(last_attributes, config->attributes, config->count * sizeof(Attribute));
  run(f, parameters);
  return 0;
}

/* Graphs: nodes run as soon as those that they depend on have, the last one made first, so that a
   dependency which is missing is seen. An instantiated graph is the graph itself. */
typedef struct { unsigned grid[3], block[3], shared; } Extent;
typedef struct { Function *func; Extent extent; void **parameters, **extra; void *kern, *ctx; } NodeParams;
typedef struct Node { Function *func; Extent extent; uint64_t values[8]; struct Node *after[16]; size_t count; int ran, attribute; } Node;
typedef struct { Node *nodes[16]; int count; int64_t launches; } Graph;
static float elapsed_ms = 0;  /* of the last graph: 2 us for each launch that it captured */
static int64_t graphs = 0, graph_launches = 0, updates = 0, edges = 0, early_edges = 0, destroyed = 0, nodes_run = 0;

static void fill(Node *n, const NodeParams *p) {
  int count = !strcmp(p->func->name, "scale") ? 4 : !strcmp(p->func->name, "count") ? 3 : 0;
  n->func = p->func, n->extent = p->extent;
  for (int i = 0; i < count; ++i) memcpy(&n->values[i], p->parameters[i], 8);
}
void fake_reset_graphs(void) { graphs = graph_launches = updates = edges = early_edges = destroyed = nodes_run = 0; }
int64_t fake_graph_count(const char *what) {
  if (!strcmp(what, "graphs")) return graphs;
  if (!strcmp(what, "graph_launches")) return graph_launches;
  if (!strcmp(what, "updates")) return updates;
  if (!strcmp(what, "edges")) return edges;
  if (!strcmp(what, "early_edges")) return early_edges;
  if (!strcmp(what, "destroyed")) return destroyed;
  if (!strcmp(what, "nodes_run")) return nodes_run;
  return -1;
}
CUresult cuStreamIsCapturing(void *s, int *status) { *status = capturing; return 0; }
CUresult cuGraphCreate(Graph **g, unsigned flags) { ++graphs; *g = calloc(1, sizeof(Graph)); return 0; }
CUresult cuGraphDestroy(Graph *g) { return 0; }
CUresult cuGraphAddKernelNode_v2(Node **n, Graph *g, Node **after, size_t count, const NodeParams *p) {
  Node *made = calloc(1, sizeof(Node));
  fill(made, p);
  for (size_t i = 0; i < count; ++i) made->after[i] = after[i];
  made->count = count, edges += count;
  *n = g->nodes[g->count++] = made;
  return 0;
}
/* Only edges that end early, from and to nodes of kernels, are asked for so. */
CUresult cuGraphAddDependencies_v2(Graph *g, Node **from, Node **to, const unsigned char (*data)[8], size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (data[i][0] != 1 || data[i][1] != 0 || data[i][2] != 1) return 1;
    to[i]->after[to[i]->count++] = from[i], ++edges, ++early_edges;
  }
  return 0;
}
CUresult cuGraphKernelNodeSetAttribute(Node *n, int a, const int *value) { n->attribute = a; return 0; }
CUresult cuGraphInstantiateWithFlags(Graph **e, Graph *g, unsigned long long flags) { *e = g; return 0; }
CUresult cuGraphExecDestroy(Graph *e) { ++destroyed; return 0; }
CUresult cuGraphExecKernelNodeSetParams_v2(Graph *e, Node *n, const NodeParams *p) {
  ++updates;
  fill(n, p);
  return 0;
}
static int is_ready(const Node *n) {
  for (size_t i = 0; i < n->count; ++i) if (!n->after[i]->ran) return 0;
  return !n->ran;
}
CUresult cuGraphLaunch(Graph *e, void *stream) {
  if (fail_next) { int status = fail_next; fail_next = 0; return status; }
  if (capturing) return 900;
  if (!current[depth - 1]) return 201;
  ++graph_launches, elapsed_ms = 2e-3f * (float)e->launches;
  last.stream = stream;
  for (int i = 0; i < e->count; ++i) e->nodes[i]->ran = 0;
  for (int done = 0; done < e->count; ++done)
    for (int i = e->count - 1; i >= 0; --i)
      if (is_ready(e->nodes[i])) {
        void *parameters[8];
        for (int k = 0; k < 8; ++k) parameters[k] = &e->nodes[i]->values[k];
        run(e->nodes[i]->func, parameters);
        e->nodes[i]->ran = 1, ++nodes_run;
        break;
      }
  return 0;
}

/* Captures and events, for measuring: a captured graph counts its launches, and each takes 2 us. */
static int64_t before_capture = 0;
CUresult cuStreamBeginCapture_v2(void *s, int mode) { capturing = 1, ++capture_number, before_capture = launches; return 0; }
CUresult cuStreamEndCapture(void *s, Graph **g) {
  capturing = 0;
  *g = calloc(1, sizeof(Graph));
  (*g)->launches = launches - before_capture;
  return 0;
}
CUresult cuEventCreate(void **e, unsigned flags) { *e = malloc(1); return 0; }
CUresult cuEventRecord(void *e, void *s) { return 0; }
CUresult cuEventSynchronize(void *e) { return 0; }
CUresult cuEventElapsedTime(float *ms, void *a, void *b) { *ms = elapsed_ms; return 0; }
CUresult cuEventDestroy_v2(void *e) { free(e); return 0; }
CUresult cuMemcpyDtoDAsync_v2(uint64_t d, uint64_t s, size_t n, void *stream) { memcpy((void *)d, (void *)s, n); return 0; }
CUresult cuMemGetInfo_v2(size_t *free, size_t *total) { *free = *total = (size_t)1 << 30; return 0; }
