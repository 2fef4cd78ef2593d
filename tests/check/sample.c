/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user's first program does; compiled against an installed copy. */
#include <qoffload/qoffload.h>
#include <stdio.h>

#ifdef QO_SAMPLE_MPI
#include <qoffload/mpi.h>
#endif

int main(int argc, char **argv)
{
	struct qo_agent_info info = QO_AGENT_INFO_INIT;
	qo_context_t context;
	int ret;

	(void)argv;
	ret = qo_init(NULL, &context);
	if (ret == 0)
		ret = qo_agent_query(context, &info);
#ifdef QO_SAMPLE_MPI
	if (argc > 1) {
		qo_team_t team;

		ret = qo_team_from_mpi(context, MPI_COMM_WORLD, &team);
	}
#endif
	if (ret == 0)
		ret = qo_fini(context);
	printf("kind %d, %s\n", (int)info.kind, qo_error_string(ret));
	return argc > 9 || ret != 0;
}
