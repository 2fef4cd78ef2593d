/* SPDX-License-Identifier: BSD-3-Clause */
/* The providers that are built in, and opening those of a list. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "providers/registry.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "providers/wrapper.h"

/* One line per provider; HAVE_PROVIDER_* is 1 or 0, from configure. */
#define PROVIDERS(X)                                                           \
	X(HAVE_PROVIDER_SELF, qo_self_provider)                                \
	X(HAVE_PROVIDER_SHM, qo_shm_provider)

/* Those that stand before another one, as in "fault:shm". */
#define WRAPPERS(X) X(HAVE_PROVIDER_FAULT, qo_fault_provider)

#define ENTRY_0(provider)
#define ENTRY_1(provider) &provider,
#define ENTRY_(have, provider) ENTRY_##have(provider)
#define ENTRY(have, provider) ENTRY_(have, provider)
#define DECLARE(have, provider) extern const struct qo_provider provider;

PROVIDERS(DECLARE)
WRAPPERS(DECLARE)

static const struct qo_provider *const providers[] = { PROVIDERS(ENTRY) NULL };
static const struct qo_provider *const wrappers[] = { WRAPPERS(ENTRY) NULL };

#define PROVIDERS_MAX (sizeof(providers) / sizeof(providers[0]) - 1)
#define WRAPPERS_MAX (sizeof(wrappers) / sizeof(wrappers[0]) - 1)
#define PAIRS_MAX ((PROVIDERS_MAX + 1) * (WRAPPERS_MAX + 1))
#define NAME_BYTES_MAX 32
#define LIST_BYTES_MAX 256

/* An adopted provider, alone or behind a wrapper. */
struct adopted {
	struct qo_wrapper wrapper; /* inner: NULL when it wraps nothing */
	struct qo_provider_ops ops;
	char name[NAME_BYTES_MAX];
};

static struct adopted all_adopted[PAIRS_MAX];
static uint32_t adopted_count;
static pthread_once_t adopted_once = PTHREAD_ONCE_INIT;

static void adopt(const struct qo_provider *provider,
		  const struct qo_provider *inner)
{
	struct adopted *entry = &all_adopted[adopted_count];

	/* It has said what is wrong; the others go on without it. */
	if (qoi_provider_adopt(provider, &entry->wrapper.provider,
			       &entry->ops) != 0)
		return;
	entry->wrapper.inner = inner;
	snprintf(entry->name, sizeof(entry->name), "%s%s%s", provider->name,
		 inner == NULL ? "" : ":", inner == NULL ? "" : inner->name);
	entry->wrapper.provider.name = entry->name;
	adopted_count++;
}

static void adopt_all(void)
{
	uint32_t alone;

	for (size_t i = 0; providers[i] != NULL; i++)
		adopt(providers[i], NULL);
	alone = adopted_count;
	for (size_t w = 0; wrappers[w] != NULL; w++)
		for (uint32_t i = 0; i < alone; i++)
			adopt(wrappers[w], &all_adopted[i].wrapper.provider);
}

static const struct qo_provider *find(const char *name, size_t length)
{
	for (uint32_t i = 0; i < adopted_count; i++)
		if (strlen(all_adopted[i].name) == length &&
		    memcmp(all_adopted[i].name, name, length) == 0)
			return &all_adopted[i].wrapper.provider;
	return NULL;
}

static int unknown(const char *name, size_t length)
{
	char list[LIST_BYTES_MAX] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < adopted_count && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used,
					 " %s", all_adopted[i].name);
	return qoi_fail(-ENODEV, "no provider '%.*s'; there is:%s", (int)length,
			name, list);
}

static int open_one(const struct qoi_config *config, const char *name,
		    size_t length, struct qo_endpoint **endpoints,
		    uint32_t count)
{
	const struct qo_provider *provider;

	while (length > 0 && *name == ' ') {
		name++;
		length--;
	}
	while (length > 0 && name[length - 1] == ' ')
		length--;
	provider = find(name, length);
	if (provider == NULL)
		return unknown(name, length);
	for (uint32_t i = 0; i < count; i++)
		if (endpoints[i]->provider == provider)
			return qoi_fail(-ENODEV,
					"provider %s is listed twice in '%s'",
					provider->name, config->provider);
	if (count == QOI_ENDPOINTS_MAX)
		return qoi_fail(-ENODEV, "over %d providers in '%s'",
				QOI_ENDPOINTS_MAX, config->provider);
	return provider->ops->open(provider, config, &endpoints[count]);
}

int qoi_providers_open(const struct qoi_config *config,
		       struct qo_endpoint **endpoints_out, uint32_t *count_out)
{
	struct qo_endpoint *endpoints[QOI_ENDPOINTS_MAX];
	const char *name = config->provider;
	uint32_t count = 0;
	int rc;

	pthread_once(&adopted_once, adopt_all);
	for (;;) {
		size_t length = strcspn(name, ",");

		rc = open_one(config, name, length, endpoints, count);
		if (rc != 0)
			goto err_close;
		count++;
		if (name[length] == '\0')
			break;
		name += length + 1;
	}
	memcpy(endpoints_out, endpoints, count * sizeof(endpoints[0]));
	*count_out = count;
	return 0;

err_close:
	while (count > 0) {
		count--;
		endpoints[count]->provider->ops->close(endpoints[count]);
	}
	return rc;
}

void qoi_providers_visit(void (*fn)(const struct qo_provider *, void *arg),
			 void *arg)
{
	for (size_t i = 0; providers[i] != NULL; i++)
		fn(providers[i], arg);
	for (size_t i = 0; wrappers[i] != NULL; i++)
		fn(wrappers[i], arg);
}
