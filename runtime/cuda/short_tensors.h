/* Tensors by DLPack's C exchange interface (DLPack 1.3): what one is, and whether another is like it. */

#ifndef DSLC_SHORT_TENSORS_H
#define DSLC_SHORT_TENSORS_H

#include <Python.h>
#include <stdint.h>

enum { RANK = 8, CUDA_DEVICE = 2, FLOAT = 2 };

/* The parts of dlpack.h that are read. */

typedef struct {
    uint32_t major, minor;
} Version;

typedef struct {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t rank;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* of elements; no strides where the tensor is compact */
    uint64_t byte_offset;
} View;

typedef struct {
    Version version;
    void *previous, *allocate, *take, *give;
    int (*view)(void *object, View *into);
    int (*stream)(int32_t device_type, int32_t device, void **into);
} Exchange;

/* A tensor of the first call, which others have to look like. Where its type has tensors that negate their
   memory, and it may be one of these by its strides, others are asked as well (see may_negate). */
typedef struct {
    PyTypeObject *type;
    int asked;
    View view;
    int64_t extents[2 * RANK];
} Like;

/* What a tensor is; 0 where it cannot be read so: the way without C says what is wrong. */
static int view_of(const Exchange *exchange, PyObject *object, View *into)
{
    if (exchange->view(object, into) == 0 && into->rank >= 0 && into->rank <= RANK)
        return 1;
    PyErr_Clear();
    return 0;
}

static int is_like(const Like *like, const View *view)
{
    size_t size = (size_t)view->rank * sizeof *view->shape;
    return view->rank == like->view.rank && memcmp(&view->device, &like->view.device, sizeof view->device) == 0
           && memcmp(&view->dtype, &like->view.dtype, sizeof view->dtype) == 0
           && memcmp(view->shape, like->extents, size) == 0
           && (view->strides == NULL) == (like->view.strides == NULL)
           && (view->strides == NULL || memcmp(view->strides, like->extents + RANK, size) == 0);
}

/* The interface says nothing of tensors that negate what lies in memory. torch gives them for the imaginary
   part of conjugates and for views of it, whose elements lie at every other place: where an axis has neighbours
   at an odd distance, a tensor is none. */
static int may_negate(PyObject *tensor, const View *view)
{
    if (view->dtype.code != FLOAT || !PyObject_HasAttrString(tensor, "is_neg"))
        return 0;
    int64_t dense = 1;
    for (int32_t i = view->rank - 1; i >= 0; i--) {
        int64_t stride = view->strides != NULL ? view->strides[i] : dense;
        if (view->shape[i] > 1 && stride % 2 != 0)
            return 0;
        dense *= view->shape[i];
    }
    return 1;
}

/* Whether a tensor's elements are what lies in memory. */
static int is_plain(PyObject *tensor, PyObject *is_neg)
{
    PyObject *found = PyObject_CallMethodNoArgs(tensor, is_neg);
    if (found == NULL)
        PyErr_Clear();
    Py_XDECREF(found);
    return found == Py_False;
}

/* What others have to be like; 0 where the interface does not read it. */
static int like_of(const Exchange *exchange, PyObject *tensor, Like *like)
{
    if (!view_of(exchange, tensor, &like->view))
        return 0;
    size_t size = (size_t)like->view.rank * sizeof(int64_t);
    memcpy(like->extents, like->view.shape, size);
    if (like->view.strides != NULL)
        memcpy(like->extents + RANK, like->view.strides, size);
    like->asked = may_negate(tensor, &like->view);
    like->type = (PyTypeObject *)Py_NewRef(Py_TYPE(tensor));
    return 1;
}

#endif
