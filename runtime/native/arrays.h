/* NumPy's arrays, packed weights among them, and tensors of libraries with DLPack's exchange in C (torch):
   where one begins, and whether it looks like another. */

#ifndef DSLC_ARRAYS_H
#define DSLC_ARRAYS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { RANK = 8, ALIGNED = 0x100, WRITEABLE = 0x400 };

/* An array as NumPy's C API lays it out: PyArrayObject, whose members no version has moved ("NumPy C-API, Python
   Types and C-Structures"). So no headers of NumPy are needed, and one build serves all its versions. */
typedef struct {
    PyObject_HEAD
    char *data;
    int rank;
    Py_ssize_t *extents, *strides;
    PyObject *base, *dtype;
    int flags;
} Ndarray;

/* DLPack's tensor, and what a type's `__dlpack_c_exchange_api__` points to for as long as the process lives
   ("DLPack C API", version 1). */
typedef struct {
    char *data;
    int32_t device, number, rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *extents, *strides; /* in elements */
    uint64_t offset;
} Tensor;

typedef struct {
    uint32_t major, minor;
    void *older, *allocate, *from_object, *to_object;
    int (*view)(void *object, Tensor *);
    void *stream;
} Exchange;

enum { CPU = 1 };

/* What others have to be like: type and dtype by identity, extents and strides in bytes, of tensors in elements;
   of packed weights (dslc.runtime.packing.Packed) their storage as well. */
typedef struct {
    PyTypeObject *type;
    PyObject *dtype, *storage;
    const Exchange *exchange; /* of a tensor's type */
    uint8_t code, bits;
    int rank, flags;
    uint64_t extent; /* bytes from the first element to behind the last */
    Py_ssize_t extents[2 * RANK];
} Array;

static PyTypeObject *type_of(const char *module, const char *name)
{
    PyObject *home = PyImport_ImportModule(module);
    PyObject *type = home == NULL ? NULL : PyObject_GetAttrString(home, name);
    Py_XDECREF(home);
    return (PyTypeObject *)type;
}

static const Exchange *exchange_of(PyTypeObject *type)
{
    PyObject *capsule = PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__");
    const Exchange *exchange = NULL;
    if (capsule != NULL && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        exchange = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_XDECREF(capsule);
    PyErr_Clear();
    return exchange != NULL && exchange->major == 1 && exchange->view != NULL ? exchange : NULL;
}

/* 1 for a tensor in the host's memory. */
static int view_of(const Array *array, PyObject *object, Tensor *tensor)
{
    if (array->exchange->view(object, tensor)) {
        PyErr_Clear(); /* it has no memory of its own */
        return 0;
    }
    return tensor->device == CPU && tensor->lanes == 1 && tensor->strides != NULL;
}

/* `like_of` for a tensor. */
static int like_of_tensor(Array *array, PyObject *object)
{
    Tensor tensor;
    if ((array->exchange = exchange_of(Py_TYPE(object))) == NULL)
        return 0;
    if (!view_of(array, object, &tensor) || tensor.rank > RANK || tensor.bits % 8)
        return 0;
    array->type = (PyTypeObject *)Py_NewRef(Py_TYPE(object));
    array->rank = tensor.rank;
    array->code = tensor.code;
    array->bits = tensor.bits;
    array->extent = tensor.bits / 8;
    for (int i = 0; i < tensor.rank; i++) {
        if (tensor.extents[i] == 0 || tensor.strides[i] < 0)
            return 0;
        array->extents[i] = tensor.extents[i];
        array->extents[RANK + i] = tensor.strides[i];
        array->extent += (uint64_t)((tensor.extents[i] - 1) * tensor.strides[i]) * (tensor.bits / 8);
    }
    return 1;
}

/* 1 where arrays like it can be told; another subclass may mean something else by its memory. */
static int like_of(Array *array, PyObject *object, int is_written)
{
    static PyTypeObject *ndarray, *packed;
    if (ndarray == NULL)
        ndarray = type_of("numpy", "ndarray");
    if (packed == NULL)
        packed = type_of("dslc.runtime.packing", "Packed");
    if (ndarray == NULL || packed == NULL)
        return 0;
    if (Py_TYPE(object) != ndarray && Py_TYPE(object) != packed)
        return PyObject_TypeCheck(object, ndarray) ? 0 : like_of_tensor(array, object);
    const Ndarray *found = (const Ndarray *)object;
    if (found->rank > RANK)
        return 0;
    if (Py_TYPE(object) == packed && (array->storage = PyObject_GetAttrString(object, "storage")) == NULL)
        return 0;
    array->type = (PyTypeObject *)Py_NewRef(Py_TYPE(object));
    array->dtype = Py_NewRef(found->dtype);
    array->rank = found->rank;
    array->flags = ALIGNED | (is_written ? WRITEABLE : 0);
    PyObject *size = PyObject_GetAttrString(object, "itemsize");
    if (size == NULL)
        return 0;
    array->extent = PyLong_AsUnsignedLongLong(size);
    Py_DECREF(size);
    for (int i = 0; i < found->rank; i++) {
        if (found->extents[i] == 0 || found->strides[i] < 0)
            return 0; /* what is empty or runs backwards is for the long way */
        array->extents[i] = found->extents[i];
        array->extents[RANK + i] = found->strides[i];
        array->extent += (uint64_t)((found->extents[i] - 1) * found->strides[i]);
    }
    return (found->flags & array->flags) == array->flags;
}

/* Bytes that were packed in other tiles have the same shape: what they are is asked for. */
static int has_storage(PyObject *object, PyObject *wanted)
{
    PyObject *storage = PyObject_GetAttrString(object, "storage");
    int same = storage == NULL ? -1 : PyObject_RichCompareBool(storage, wanted, Py_EQ);
    Py_XDECREF(storage);
    if (same < 0)
        PyErr_Clear();
    return same > 0;
}

static int is_like_tensor(const Array *array, PyObject *object, uint64_t *begin)
{
    Tensor tensor;
    if (!view_of(array, object, &tensor) || tensor.rank != array->rank || tensor.code != array->code
        || tensor.bits != array->bits)
        return 0;
    size_t size = (size_t)array->rank * sizeof *tensor.extents;
    if (memcmp(tensor.extents, array->extents, size) || memcmp(tensor.strides, array->extents + RANK, size))
        return 0;
    *begin = (uint64_t)(uintptr_t)tensor.data + tensor.offset;
    return 1;
}

static int is_like(const Array *array, PyObject *object, uint64_t *begin)
{
    if (Py_TYPE(object) != array->type)
        return 0;
    if (array->exchange != NULL)
        return is_like_tensor(array, object, begin);
    const Ndarray *found = (const Ndarray *)object;
    if (found->dtype != array->dtype || found->rank != array->rank
        || (found->flags & array->flags) != array->flags)
        return 0;
    size_t size = (size_t)array->rank * sizeof *found->extents;
    if (memcmp(found->extents, array->extents, size) || memcmp(found->strides, array->extents + RANK, size))
        return 0;
    *begin = (uint64_t)(uintptr_t)found->data;
    return array->storage == NULL || has_storage(object, array->storage);
}

#endif
