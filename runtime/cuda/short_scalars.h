/* Arguments as words of a key, and back. */

#ifndef DSLC_SHORT_SCALARS_H
#define DSLC_SHORT_SCALARS_H

#include <Python.h>
#include <stdint.h>

#include "../native/scalars.h"

/* A word as Python's number of its kind. */
static PyObject *number_for(char kind, uint64_t word)
{
    double real;
    switch (kind) {
    case 'i':
        return PyLong_FromLongLong((long long)word);
    case 'b':
        return PyBool_FromLong((long)word);
    case 'f':
        memcpy(&real, &word, sizeof real);
        return PyFloat_FromDouble(real);
    default:
        return PyLong_FromUnsignedLongLong(word);
    }
}

#endif
