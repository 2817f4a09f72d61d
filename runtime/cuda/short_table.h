/* Launches by what tells them apart: the stream, where tensors begin, and scalars. */

#ifndef DSLC_SHORT_TABLE_H
#define DSLC_SHORT_TABLE_H

#include <Python.h>
#include <stdint.h>

enum { SLOTS = 1024, PROBES = 8 };

typedef struct {
    uint64_t *key; /* the stream, then addresses and scalars; NULL for a slot that is free */
    PyObject *frame; /* keeps config and parameters */
    const void *config;
    void **parameters;
} Entry;

typedef struct {
    Py_ssize_t words; /* of a key */
    Entry entries[SLOTS];
} Table;

static uint64_t hash_of(const uint64_t *key, Py_ssize_t words)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (Py_ssize_t i = 0; i < words; i++) {
        hash = (hash ^ key[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

/* The entry of a key, or a free one for it; NULL where its neighbourhood is full. */
static Entry *slot_of(Table *table, const uint64_t *key, uint64_t hash)
{
    size_t size = (size_t)table->words * sizeof *key;
    for (uint64_t i = 0; i < PROBES; i++) {
        Entry *entry = &table->entries[(hash + i) % SLOTS];
        if (entry->key == NULL || memcmp(entry->key, key, size) == 0)
            return entry;
    }
    return NULL;
}

static void forget(Entry *entry)
{
    PyMem_Free(entry->key);
    entry->key = NULL;
    Py_CLEAR(entry->frame);
}

static void forget_all(Table *table)
{
    for (int i = 0; i < SLOTS; i++)
        forget(&table->entries[i]);
}

/* A frame (object, address of its configuration, address of its parameters) for a key not seen before. */
static int remember(Table *table, const uint64_t *key, uint64_t hash, PyObject *made)
{
    PyObject *frame;
    unsigned long long config, parameters;
    if (!PyArg_ParseTuple(made, "OKK", &frame, &config, &parameters))
        return -1;
    Entry *entry = slot_of(table, key, hash);
    if (entry == NULL) { /* its neighbourhood is full: a program whose addresses never come again */
        forget_all(table);
        entry = slot_of(table, key, hash);
    }
    if (entry->key != NULL)
        return 0;
    size_t size = (size_t)table->words * sizeof *key;
    entry->key = PyMem_Malloc(size);
    if (entry->key == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(entry->key, key, size);
    entry->frame = Py_NewRef(frame);
    entry->config = (const void *)(uintptr_t)config;
    entry->parameters = (void **)(uintptr_t)parameters;
    return 0;
}

#endif
