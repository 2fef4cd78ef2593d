/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include <qoffload/types.h>

#include "libqoffload/base/error.h"
#include "libqoffload/coll/build.h"

static const struct {
	const char *name;
	uint32_t bytes;
} types[] = {
	[QO_INT8] = { "int8", 1 },     [QO_INT16] = { "int16", 2 },
	[QO_INT32] = { "int32", 4 },   [QO_INT64] = { "int64", 8 },
	[QO_UINT8] = { "uint8", 1 },   [QO_UINT16] = { "uint16", 2 },
	[QO_UINT32] = { "uint32", 4 }, [QO_UINT64] = { "uint64", 8 },
	[QO_FLOAT] = { "float", 4 },   [QO_DOUBLE] = { "double", 8 },
};

static const char *const reductions[] = {
	[QO_SUM] = "sum", [QO_MIN] = "min", [QO_MAX] = "max",
	[QO_AND] = "and", [QO_OR] = "or",   [QO_XOR] = "xor",
};

static bool type_is_float(int32_t type)
{
	return type == QO_FLOAT || type == QO_DOUBLE;
}

uint32_t qoi_type_bytes(int32_t type)
{
	return type >= QO_INT8 && type <= QO_DOUBLE ? types[type].bytes : 0;
}

const char *qoi_type_name(int32_t type)
{
	return type >= QO_INT8 && type <= QO_DOUBLE ? types[type].name : NULL;
}

const char *qoi_reduce_name(int32_t reduce)
{
	return reduce >= QO_SUM && reduce <= QO_XOR ? reductions[reduce] : NULL;
}

bool qoi_reduce_fits(int32_t type, int32_t reduce)
{
	return qoi_type_name(type) != NULL && qoi_reduce_name(reduce) != NULL &&
	       !(type_is_float(type) && reduce >= QO_AND);
}

int qoi_reduce_check(int32_t type, int32_t reduce)
{
	if (qoi_reduce_fits(type, reduce))
		return 0;
	if (qoi_type_name(type) == NULL)
		return qoi_fail(-EINVAL, "unknown type %d", type);
	if (qoi_reduce_name(reduce) == NULL)
		return qoi_fail(-EINVAL, "unknown reduction %d", reduce);
	return qoi_fail(-EINVAL, "no reduction %s on %s: it takes sum, min, max",
			qoi_reduce_name(reduce), qoi_type_name(type));
}

bool qoi_reduce_is_exact(int32_t type, int32_t reduce)
{
	return !(type_is_float(type) && reduce == QO_SUM);
}
