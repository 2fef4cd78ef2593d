/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/base/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libqoffload/base/error.h"

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_CHARS 36 /* a UUID: 32 hex digits, 4 dashes */
#define HOST_NAME_BYTES 256

/* FNV-1a, from the published constants; it only has to tell names apart. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

static int read_boot_id(char text_out[BOOT_ID_CHARS + 1])
{
	int fd = open(BOOT_ID_PATH, O_RDONLY | O_CLOEXEC);
	ssize_t bytes;

	if (fd < 0)
		return qoi_fail(-EIO, "open %s: %m; is /proc mounted?",
				BOOT_ID_PATH);
	bytes = read(fd, text_out, BOOT_ID_CHARS);
	close(fd);
	if (bytes != BOOT_ID_CHARS)
		return qoi_fail(-EIO, "%s holds no boot id", BOOT_ID_PATH);
	text_out[BOOT_ID_CHARS] = '\0';
	return 0;
}

static int parse_uuid(const char *text, uint8_t id_out[QOI_NODE_ID_BYTES])
{
	for (size_t i = 0; i < QOI_NODE_ID_BYTES; i++) {
		unsigned int byte;

		if (*text == '-')
			text++;
		if (sscanf(text, "%2x", &byte) != 1)
			return qoi_fail(-EIO, "%s holds no boot id",
					BOOT_ID_PATH);
		id_out[i] = (uint8_t)byte;
		text += 2;
	}
	return 0;
}

int qoi_node_id(uint8_t id_out[QOI_NODE_ID_BYTES])
{
	char boot_id[BOOT_ID_CHARS + 1];
	char host[HOST_NAME_BYTES] = "";
	uint8_t id[QOI_NODE_ID_BYTES];
	uint64_t host_hash;
	int code = read_boot_id(boot_id);

	if (code == 0)
		code = parse_uuid(boot_id, id);
	if (code != 0)
		return code;
	/* A name that doesn't fit is cut, alike on all ranks of the node. */
	gethostname(host, sizeof(host) - 1);
	host_hash = hash_text(host);
	for (size_t i = 0; i < sizeof(host_hash); i++)
		id[i] ^= (uint8_t)(host_hash >> (8 * i));
	memcpy(id_out, id, sizeof(id));
	return 0;
}
