/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/qwindow/agree.h"
#include "examples/qwindow/bits.h"
#include "examples/qwindow/exchange.h"
#include "examples/qwindow/freeze.h"
#include "examples/qwindow/input.h"
#include "examples/qwindow/options.h"
#include "examples/qwindow/rack.h"
#include "examples/qwindow/report.h"
#include "examples/qwindow/schedule.h"
#include "examples/qwindow/timeline.h"
#include "examples/qwindow/verify.h"

#define PROGRAM "qwindow"
#define EXIT_PASSED 0
#define EXIT_CHECK_FAILED 1
#define EXIT_BAD_INPUT 2

struct program {
	MPI_Comm comm;
	uint32_t rank;
	uint32_t ranks;
	struct options options;
	struct input input;
	struct rack rack;
	struct exchange exchange;
	struct schedule_result run;
	struct verify_result checks;
	struct problem problem;
	/* With --freeze. */
	struct freeze freeze; /* of the rank that stops */
	struct timeline posts;
	struct timeline waits;
	struct timeline windows;
};

static int some_rank_freezes(const struct program *program)
{
	return program->options.freeze_rank >= 0;
}

static int this_rank_freezes(const struct program *program)
{
	return program->options.freeze_rank == (int64_t)program->rank;
}

static void shape_exchange(struct program *program)
{
	const struct plan *plan = &program->input.plan;
	const struct rack *rack = &program->rack;
	uint32_t patches = program->options.patches;
	uint32_t piece = schedule_piece_patches(patches);
	int edges = plan->slab_count > 1 && plan->buffer > 0;

	program->exchange = (struct exchange){
		.ops = program->options.mpi ? &exchange_mpi_ops :
					      &exchange_qo_ops,
		.comm = program->comm,
		.problem = &program->problem,
		.shape = {
			.rank = program->rank,
			.ranks = program->ranks,
			.block_bytes = rack->block_bytes,
			.block_offset = rack->block_offset,
			.recv_bytes = rack->recv_bytes,
			.equal_blocks = rack->layout == RACK_PATCH,
			.halo_bytes = edges ?
				patches * bits_bytes(plan->left_most) : 0,
			.seam_bytes = edges ?
				piece * bits_bytes(plan->seam_most) : 0,
			.pieces = (patches + piece - 1) / piece,
			.frame_bytes = bits_bytes(patches) *
				program->input.dem.observable_count,
		},
	};
	if (some_rank_freezes(program)) {
		program->exchange.posts = &program->posts;
		program->exchange.waits = &program->waits;
	}
}

/* Every rank checks the same. */
static int plan_freeze(struct program *program)
{
	const struct options *options = &program->options;
	uint64_t windows;

	if (!some_rank_freezes(program))
		return 0;
	if (options->freeze_rank >= (int64_t)program->ranks)
		return problem_set(&program->problem, -EINVAL,
				   "option --freeze: there is no rank %lld; "
				   "give one from 0 to %u",
				   (long long)options->freeze_rank,
				   program->ranks - 1);
	windows = schedule_windows(&program->input.plan, program->ranks,
				   (uint32_t)options->freeze_rank,
				   program->input.shots.count);
	if (windows == 0)
		return problem_set(&program->problem, -EINVAL,
				   "option --freeze: rank %lld has no slab, so "
				   "it decodes no window; give one below %u",
				   (long long)options->freeze_rank,
				   program->input.plan.slab_count);
	if ((uint64_t)options->freeze_window > windows)
		return problem_set(&program->problem, -EINVAL,
				   "option --freeze: rank %lld decodes %llu "
				   "windows; give WINDOW from 1 to that",
				   (long long)options->freeze_rank,
				   (unsigned long long)windows);
	program->freeze.window = options->freeze_window > 0
					 ? (uint64_t)options->freeze_window
					 : windows / 2 + 1;
	program->freeze.duration_ns = options->freeze_ms * 1000000;
	return 0;
}

static int prepare(struct program *program)
{
	int rc;

	program->rack = (struct rack){
		.layout = program->options.racks,
		.rank = program->rank,
		.ranks = program->ranks,
		.patches = program->options.patches,
		.plan = &program->input.plan,
		.shots = &program->input.shots,
	};
	rc = rack_create(&program->rack, &program->input.dem);
	if (rc != 0)
		return problem_set(&program->problem, rc,
				   "no memory for "
				   "racks; use fewer --patches");
	shape_exchange(program);
	return plan_freeze(program);
}

static int decode(struct program *program)
{
	struct schedule_params params = {
		.plan = &program->input.plan,
		.rack = &program->rack,
		.exchange = &program->exchange,
		.shots = &program->input.shots,
		.observable_count = program->input.dem.observable_count,
		.layer_count = program->input.dem.layer_count,
		.latency = program->options.latency,
		.poke = program->options.poke,
		.drop_seams = program->options.drop_seams,
		.progress = program->rank == 0 && isatty(STDERR_FILENO),
		.freeze = this_rank_freezes(program) ? &program->freeze : NULL,
		.windows = some_rank_freezes(program) ? &program->windows : NULL,
	};

	program->run.pace.round_ns = program->options.round_ns;
	/* Throughput mode waits for a frame two steps later. */
	program->run.pace.periods_allowed = program->options.latency ? 1 : 3;
	return schedule_run(&params, &program->run);
}

static int verify(struct program *program)
{
	const struct input *input = &program->input;
	struct verify_params params = {
		.comm = program->comm,
		.dem = &input->dem,
		.plan = &input->plan,
		.shots = &input->shots,
		.observables = input->observables.rows != NULL
				       ? &input->observables
				       : NULL,
		.result = &program->run,
		.reference_errors = input->reference_errors,
	};
	int rc = verify_run(&params, &program->checks);

	if (rc != 0)
		problem_set(&program->problem, rc,
			    "no memory for the checks; "
			    "use --shots=N");
	return rc;
}

static int tell(struct program *program)
{
	const char *json = program->options.json;
	struct report_freeze freeze = {
		.rank = (uint32_t)program->options.freeze_rank,
		.freeze = this_rank_freezes(program) ? &program->freeze : NULL,
		.posts = &program->posts,
		.waits = &program->waits,
		.windows = &program->windows,
	};
	struct report report = {
		.options = &program->options,
		.dem = &program->input.dem,
		.plan = &program->input.plan,
		.shots = &program->input.shots,
		.run = &program->run,
		.checks = &program->checks,
		.exchange = program->exchange.ops->name,
		.owner = program->exchange.owner,
		.ranks = program->ranks,
		.freeze = some_rank_freezes(program) ? &freeze : NULL,
	};
	int rc = report_gather(program->comm, &program->exchange, &report);

	if (rc == 0 && program->rank == 0) {
		if (json == NULL || strcmp(json, "-") != 0)
			report_print(&report);
		if (json != NULL)
			rc = report_write_json(&report, json, &program->problem);
	}
	report_release(&report);
	return rc;
}

static int make_helper(struct program *program)
{
	int rc = this_rank_freezes(program) ? freeze_open(&program->freeze) : 0;

	if (rc != 0)
		problem_set(&program->problem, rc,
			    "--freeze: no helper process: %s; raise the limit "
			    "of processes (ulimit -u)",
			    strerror(-rc));
	return rc;
}

/* A rank that gives up in the middle leaves the others waiting: end all. */
static void give_up(struct program *program)
{
	fprintf(stderr, PROGRAM ": rank %u: %s\n", program->rank,
		program->problem.text);
	MPI_Abort(program->comm, EXIT_CHECK_FAILED);
}

static int run(struct program *program)
{
	int rc;

	if (make_helper(program) != 0 ||
	    exchange_open(&program->exchange) != 0 || decode(program) != 0)
		give_up(program);
	freeze_close(&program->freeze);
	rc = verify(program);
	if (agree_or_print(program->comm, rc, &program->problem, PROGRAM) != 0)
		return EXIT_BAD_INPUT;
	rc = tell(program);
	exchange_close(&program->exchange);
	if (agree_or_print(program->comm, rc, &program->problem, PROGRAM) != 0)
		return EXIT_BAD_INPUT;
	return verify_passed(&program->checks) ? EXIT_PASSED : EXIT_CHECK_FAILED;
}

static int start(struct program *program, int argc, char **argv)
{
	int rc = options_parse(argc, argv, &program->options, &program->problem);

	if (rc == 0 && program->options.help) {
		if (program->rank == 0)
			options_print_help();
		return EXIT_PASSED;
	}
	if (rc == 0)
		rc = input_read(&program->options, &program->input,
				&program->problem);
	if (rc == 0)
		rc = prepare(program);
	if (agree_or_print(program->comm, rc, &program->problem, PROGRAM) != 0)
		return EXIT_BAD_INPUT;
	return run(program);
}

int main(int argc, char **argv)
{
	struct program program = { .comm = MPI_COMM_WORLD };
	int rank, ranks, status;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(program.comm, &rank);
	MPI_Comm_size(program.comm, &ranks);
	program.rank = (uint32_t)rank;
	program.ranks = (uint32_t)ranks;
	status = start(&program, argc, argv);
	schedule_result_release(&program.run);
	rack_destroy(&program.rack);
	input_release(&program.input);
	timeline_release(&program.posts);
	timeline_release(&program.waits);
	timeline_release(&program.windows);
	MPI_Finalize();
	return status;
}
