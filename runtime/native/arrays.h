/* NumPy's arrays, packed weights among them: where one begins, and whether it looks like another. */

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

/* What others have to be like: type and dtype by identity, extents and strides in bytes; of packed weights
   (dslc.runtime.packing.Packed) their storage as well. */
typedef struct {
    PyTypeObject *type;
    PyObject *dtype, *storage;
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

/* 1 where arrays like it can be told; another subclass may mean something else by its memory. */
static int like_of(Array *array, PyObject *object, int is_written)
{
    static PyTypeObject *ndarray, *packed;
    if (ndarray == NULL)
        ndarray = type_of("numpy", "ndarray");
    if (packed == NULL)
        packed = type_of("dslc.runtime.packing", "Packed");
    if (ndarray == NULL || packed == NULL || (Py_TYPE(object) != ndarray && Py_TYPE(object) != packed))
        return 0;
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

static int is_like(const Array *array, PyObject *object, uint64_t *begin)
{
    const Ndarray *found = (const Ndarray *)object;
    if (Py_TYPE(object) != array->type || found->dtype != array->dtype || found->rank != array->rank
        || (found->flags & array->flags) != array->flags)
        return 0;
    size_t size = (size_t)array->rank * sizeof *found->extents;
    if (memcmp(found->extents, array->extents, size) || memcmp(found->strides, array->extents + RANK, size))
        return 0;
    *begin = (uint64_t)(uintptr_t)found->data;
    return array->storage == NULL || has_storage(object, array->storage);
}

#endif
