/* TVM-FFI's calling convention (its c_api.h, 0.1): values of 16 bytes. Its functions are weak, so that the
   library loads without it; which of them are there is asked at each call. */
typedef struct {
  int32_t type;
  uint32_t padding;
  union { int64_t whole; double real; void *pointer; };
} dslc_any;
enum { ANY_INT = 1, ANY_BOOL = 2, ANY_FLOAT = 3, ANY_DLTENSOR = 7, ANY_TENSOR = 70 };
#define DSLC_OBJECT_HEADER 24

__attribute__((weak)) extern void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
__attribute__((weak)) extern void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);

static int dslc_raise(const char *kind) {
  if (TVMFFIErrorSetRaisedFromCStr) TVMFFIErrorSetRaisedFromCStr(kind, dslc_text);
  return -1;
}

static int dslc_any_tensor(const dslc_any *value, const char *name, const dslc_tensor **out) {
  if (value->type == ANY_DLTENSOR) *out = value->pointer;
  else if (value->type == ANY_TENSOR)
    *out = (const dslc_tensor *)((const char *)value->pointer + DSLC_OBJECT_HEADER);
  else return dslc_fail(DSLC_ARGUMENT, "argument %s is no tensor", name);
  return 0;
}

static int dslc_any_number(const dslc_any *value, const char *name, int whole, double *real, int64_t *out) {
  if (value->type == ANY_INT || value->type == ANY_BOOL) {
    *out = value->whole;
    *real = (double)value->whole;
  } else if (value->type == ANY_FLOAT && !whole) {
    *real = value->real;
  } else {
    return dslc_fail(DSLC_ARGUMENT, "argument %s is no %s", name, whole ? "whole number" : "number");
  }
  return 0;
}

/* The stream of a GPU's tensors. One that cannot be found is an error: stream 0 would be another's. */
static int dslc_any_stream(const dslc_tensor *t, void **stream) {
  *stream = 0;
  if (!t || t->device.type == 1) return 0;
  if (!TVMFFIEnvGetStream)
    return dslc_fail(DSLC_ARGUMENT, "the stream cannot be found: TVM-FFI is not loaded");
  *stream = TVMFFIEnvGetStream(t->device.type, t->device.id);
  return 0;
}
