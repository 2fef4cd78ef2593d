/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The generated C header against the golden vectors of spec/golden, which the
 * Python test reads too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>

#include "tests/unit/queue_pair.h"

#define LINE_BYTES 512
#define IMAGE_BYTES 256

/* Where a field lies, by the compiler's word. */
struct place {
	const char *layout;
	const char *name;
	uint32_t offset;
	uint32_t element_bytes;
	uint32_t count;
};

#define PLACE(field, bits, elements)                                           \
	{ LAYOUT_NAME, #field, offsetof(struct LAYOUT, field), (bits) / 8,     \
	  elements },

/* clang-format off */
static const struct place places[] = {
#define LAYOUT qoi_layout_command_slot
#define LAYOUT_NAME "command_slot"
	QOI_LAYOUT_COMMAND_SLOT_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_queue_header
#define LAYOUT_NAME "queue_header"
	QOI_LAYOUT_QUEUE_HEADER_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_edge_slot
#define LAYOUT_NAME "edge_slot"
	QOI_LAYOUT_EDGE_SLOT_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_bell
#define LAYOUT_NAME "bell"
	QOI_LAYOUT_BELL_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_hello
#define LAYOUT_NAME "hello"
	QOI_LAYOUT_HELLO_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_counters
#define LAYOUT_NAME "counters"
	QOI_LAYOUT_COUNTERS_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_attach_header
#define LAYOUT_NAME "attach_header"
	QOI_LAYOUT_ATTACH_HEADER_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_attach_offer
#define LAYOUT_NAME "attach_offer"
	QOI_LAYOUT_ATTACH_OFFER_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_attach_welcome
#define LAYOUT_NAME "attach_welcome"
	QOI_LAYOUT_ATTACH_WELCOME_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_attach_region
#define LAYOUT_NAME "attach_region"
	QOI_LAYOUT_ATTACH_REGION_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_attach_op
#define LAYOUT_NAME "attach_op"
	QOI_LAYOUT_ATTACH_OP_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_attach_op_end
#define LAYOUT_NAME "attach_op_end"
	QOI_LAYOUT_ATTACH_OP_END_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_attach_answer
#define LAYOUT_NAME "attach_answer"
	QOI_LAYOUT_ATTACH_ANSWER_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_attach_status_ask
#define LAYOUT_NAME "attach_status_ask"
	QOI_LAYOUT_ATTACH_STATUS_ASK_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_attach_status_total
#define LAYOUT_NAME "attach_status_total"
	QOI_LAYOUT_ATTACH_STATUS_TOTAL_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_attach_status_client
#define LAYOUT_NAME "attach_status_client"
	QOI_LAYOUT_ATTACH_STATUS_CLIENT_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_attach_status_error
#define LAYOUT_NAME "attach_status_error"
	QOI_LAYOUT_ATTACH_STATUS_ERROR_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_schedule_step
#define LAYOUT_NAME "schedule_step"
	QOI_LAYOUT_SCHEDULE_STEP_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_attach_page
#define LAYOUT_NAME "attach_page"
	QOI_LAYOUT_ATTACH_PAGE_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
#define LAYOUT qoi_layout_completion_slot
#define LAYOUT_NAME "completion_slot"
	QOI_LAYOUT_COMPLETION_SLOT_FIELDS(PLACE)
#undef LAYOUT
#undef LAYOUT_NAME
};
/* clang-format on */

/* A vector while it is read: from its fields, and from its bytes. */
struct vector {
	char sort[16];
	char layout[32];
	char name[80];
	uint8_t from_fields[IMAGE_BYTES];
	uint8_t from_bytes[IMAGE_BYTES];
	uint32_t word[4]; /* state, error, rank, generation */
};

struct message {
	char name[80];
	struct qoi_queue_shape shape;
	uint64_t position;
	uint16_t kind;
	uint16_t flags;
	uint8_t payload[IMAGE_BYTES];
	uint32_t bytes;
	uint32_t index;
	uint32_t stride;
	uint8_t slot[IMAGE_BYTES];
};

static FILE *open_golden(const char *name)
{
	const char *srcdir = getenv("srcdir");
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/spec/golden/%s",
		 srcdir != NULL ? srcdir : ".", name);
	file = fopen(path, "r");
	if (file == NULL)
		print_error("cannot open %s\n", path);
	assert_non_null(file);
	return file;
}

/* Gives the length. */
static uint32_t read_hex(const char *text, uint8_t *to, uint32_t room)
{
	uint32_t n = 0;
	unsigned int byte;

	while (sscanf(text + 2 * (size_t)n, "%2x", &byte) == 1) {
		assert_true(n < room);
		to[n++] = (uint8_t)byte;
	}
	return n;
}

static void read_bytes(char *rest, uint8_t *image)
{
	char hex[LINE_BYTES];
	unsigned int offset;

	assert_int_equal(sscanf(rest, "%u %511s", &offset, hex), 2);
	assert_true(offset < IMAGE_BYTES);
	read_hex(hex, image + offset, IMAGE_BYTES - offset);
}

static const struct place *find_place(const struct vector *vector,
				      const char *field)
{
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strcmp(places[i].layout, vector->layout) == 0 &&
		    strcmp(places[i].name, field) == 0)
			return &places[i];
	print_error("%s has no %s\n", vector->layout, field);
	fail();
	return NULL;
}

static void set_number(uint8_t *at, uint32_t bytes, uint64_t value)
{
	uint8_t u8 = (uint8_t)value;
	uint16_t u16 = (uint16_t)value;
	uint32_t u32 = (uint32_t)value;

	if (bytes == 1)
		memcpy(at, &u8, 1);
	else if (bytes == 2)
		memcpy(at, &u16, 2);
	else if (bytes == 4)
		memcpy(at, &u32, 4);
	else
		memcpy(at, &value, 8);
}

static void read_struct_field(struct vector *vector, char *rest)
{
	char *name = strtok(rest, " \n");
	const struct place *place = find_place(vector, name);
	uint8_t *at = vector->from_fields + place->offset;
	uint32_t i;

	if (place->element_bytes == 1 && place->count > 1) {
		read_hex(strtok(NULL, " \n"), at, place->count);
		return;
	}
	for (i = 0; i < place->count; i++)
		set_number(at + (size_t)i * place->element_bytes,
			   place->element_bytes,
			   strtoull(strtok(NULL, " \n"), NULL, 0));
}

static void read_word_field(struct vector *vector, char *rest)
{
	static const char *const names[] = { "state", "error", "rank",
					     "generation" };
	char *name = strtok(rest, " \n");
	uint32_t value = (uint32_t)strtoull(strtok(NULL, " \n"), NULL, 0);
	int i;

	for (i = 0; i < 4; i++)
		if (strcmp(name, names[i]) == 0) {
			vector->word[i] = value;
			return;
		}
	fail();
}

static void check_word(struct vector *vector)
{
	const uint32_t *want = vector->word;
	uint64_t word = qoi_completion_pack(want[0], want[1], want[2], want[3]);

	assert_string_equal(vector->layout, "completion");
	memcpy(vector->from_fields, &word, sizeof(word));
	assert_int_equal(qoi_completion_state(word), want[0]);
	assert_int_equal(qoi_completion_error(word), want[1]);
	assert_int_equal(qoi_completion_rank(word), want[2]);
	assert_int_equal(qoi_completion_generation(word), want[3]);
}

/* Counts vectors, but for the empty one before the first. */
static int check_vector(struct vector *vector)
{
	if (vector->sort[0] == '\0')
		return 0;
	if (strcmp(vector->sort, "word") == 0)
		check_word(vector);
	if (memcmp(vector->from_fields, vector->from_bytes, IMAGE_BYTES) != 0)
		print_error("vector %s\n", vector->name);
	assert_memory_equal(vector->from_fields, vector->from_bytes,
			    IMAGE_BYTES);
	return 1;
}

static void structures_lie_in_memory_as_the_vectors_say(void **state)
{
	FILE *file = open_golden("structures.txt");
	char line[LINE_BYTES];
	struct vector vector;
	int count = 0;

	(void)state;
	memset(&vector, 0, sizeof(vector));
	while (fgets(line, sizeof(line), file) != NULL) {
		char *rest = strchr(line, ' ');

		if (line[0] == '#' || line[0] == '\n')
			continue;
		assert_non_null(rest);
		if (strncmp(line, "bytes ", 6) == 0) {
			read_bytes(rest, vector.from_bytes);
		} else if (strncmp(line, "field ", 6) != 0) {
			count += check_vector(&vector);
			memset(&vector, 0, sizeof(vector));
			assert_int_equal(sscanf(line, "%15s %31s %79s",
						vector.sort, vector.layout,
						vector.name),
					 3);
		} else if (strcmp(vector.sort, "word") == 0) {
			read_word_field(&vector, rest + 1);
		} else {
			read_struct_field(&vector, rest + 1);
		}
	}
	count += check_vector(&vector);
	fclose(file);
	assert_int_equal(count, 24);
}

static int check_message(const struct message *want)
{
	uint32_t told = qoi_slot_stride(&want->shape);
	struct qoi_message found;
	struct pair pair;
	uint8_t *slot;

	if (want->name[0] == '\0')
		return 0;
	print_message("%s\n", want->name);
	assert_int_equal(told, want->stride);
	assert_int_equal(pair_create(&pair, want->shape.slot_count,
				     want->shape.payload_bytes,
				     want->shape.encoding, want->position, 1),
			 0);
	assert_int_equal(qoi_producer_send(&pair.producer, want->payload,
					   want->bytes, want->kind, want->flags),
			 0);
	slot = pair.slots + (size_t)want->index * want->stride;
	if (want->shape.encoding == QOI_ENCODING_CLASSIC)
		told = QOI_SLOT_HEADER_BYTES + want->bytes;
	assert_memory_equal(slot, want->slot, told);
	/* And back: the bytes of the vector, not those that were sent. */
	memset(pair.slots, 0, qoi_queue_bytes(&pair.shape));
	memcpy(slot, want->slot, told);
	assert_int_equal(qoi_consumer_peek(&pair.consumer, &found), 0);
	assert_int_equal(found.bytes, want->bytes);
	assert_int_equal(found.kind, want->kind);
	assert_int_equal(found.flags, want->flags);
	assert_memory_equal(found.payload, want->payload, want->bytes);
	pair_destroy(&pair);
	return 1;
}

static void read_message_line(struct message *message, char *line)
{
	char key[32], text[LINE_BYTES];
	uint64_t value;

	if (sscanf(line, "%31s %511s", key, text) != 2)
		fail();
	value = strtoull(text, NULL, 0);
	if (strcmp(key, "encoding") == 0)
		message->shape.encoding = (uint32_t)value;
	else if (strcmp(key, "slot_count") == 0)
		message->shape.slot_count = (uint32_t)value;
	else if (strcmp(key, "payload_bytes") == 0)
		message->shape.payload_bytes = (uint32_t)value;
	else if (strcmp(key, "position") == 0)
		message->position = value;
	else if (strcmp(key, "kind") == 0)
		message->kind = (uint16_t)value;
	else if (strcmp(key, "flags") == 0)
		message->flags = (uint16_t)value;
	else if (strcmp(key, "payload") == 0)
		message->bytes = read_hex(text, message->payload, IMAGE_BYTES);
	else if (strcmp(key, "bytes") == 0)
		read_bytes(strchr(line, ' '), message->slot);
	else if (strcmp(key, "slot") == 0)
		assert_int_equal(sscanf(line, "%*s %u %u", &message->index,
					&message->stride),
				 2);
	else
		fail();
}

static void messages_lie_in_slots_as_the_vectors_say(void **state)
{
	FILE *file = open_golden("queues.txt");
	char line[LINE_BYTES];
	struct message message;
	int count = 0;

	(void)state;
	memset(&message, 0, sizeof(message));
	while (fgets(line, sizeof(line), file) != NULL) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (strncmp(line, "message ", 8) == 0) {
			count += check_message(&message);
			memset(&message, 0, sizeof(message));
			assert_int_equal(sscanf(line, "%*s %79s", message.name),
					 1);
		} else {
			read_message_line(&message, line);
		}
	}
	count += check_message(&message);
	fclose(file);
	assert_int_equal(count, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structures_lie_in_memory_as_the_vectors_say),
		cmocka_unit_test(messages_lie_in_slots_as_the_vectors_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
