# SPDX-License-Identifier: BSD-3-Clause
# Without cmocka there are no unit tests. One test per file: add its name to
# unit_tests, and its _SOURCES and _LDADD.
unit_tests =
if HAVE_CMOCKA
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
endif

unit_tests += tests/unit/error_test
tests_unit_error_test_SOURCES = tests/unit/error_test.c tests/unit/capture.h
tests_unit_error_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/log_test
tests_unit_log_test_SOURCES = tests/unit/log_test.c tests/unit/capture.h
tests_unit_log_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/clock_test
tests_unit_clock_test_SOURCES = tests/unit/clock_test.c
tests_unit_clock_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/node_test
tests_unit_node_test_SOURCES = tests/unit/node_test.c
tests_unit_node_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/config_test
tests_unit_config_test_SOURCES = tests/unit/config_test.c tests/unit/capture.h
tests_unit_config_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/topology_test
tests_unit_topology_test_SOURCES = tests/unit/topology_test.c \
	tests/unit/capture.h
tests_unit_topology_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/schedule_test
tests_unit_schedule_test_SOURCES = tests/unit/schedule_test.c
tests_unit_schedule_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/coll_validate_test
tests_unit_coll_validate_test_SOURCES = tests/unit/coll_validate_test.c
tests_unit_coll_validate_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/reduce_test
tests_unit_reduce_test_SOURCES = tests/unit/reduce_test.c
tests_unit_reduce_test_LDADD = $(QO_TEST_LIBS)

# The schedules of all ranks run together, against a serial reference.
coll_sim_sources = tests/unit/coll_sim.c tests/unit/coll_sim.h \
	tests/unit/coll_case.c tests/unit/coll_expect.c
coll_sim_libs = $(QO_TEST_LIBS) -lm

unit_tests += tests/unit/coll_alltoall_test
tests_unit_coll_alltoall_test_SOURCES = tests/unit/coll_alltoall_test.c \
	$(coll_sim_sources)
tests_unit_coll_alltoall_test_LDADD = $(coll_sim_libs)

unit_tests += tests/unit/coll_allgather_test
tests_unit_coll_allgather_test_SOURCES = tests/unit/coll_allgather_test.c \
	$(coll_sim_sources)
tests_unit_coll_allgather_test_LDADD = $(coll_sim_libs)

unit_tests += tests/unit/coll_allreduce_test
tests_unit_coll_allreduce_test_SOURCES = tests/unit/coll_allreduce_test.c \
	$(coll_sim_sources)
tests_unit_coll_allreduce_test_LDADD = $(coll_sim_libs)

unit_tests += tests/unit/coll_bcast_test
tests_unit_coll_bcast_test_SOURCES = tests/unit/coll_bcast_test.c \
	$(coll_sim_sources)
tests_unit_coll_bcast_test_LDADD = $(coll_sim_libs)

# qo_info, and docs/config.md which is its output.
if HAVE_JANSSON
TESTS += tests/unit/qo_info_test.sh
unit_tests += tests/unit/info_status_test
endif
tests_unit_info_status_test_SOURCES = tests/unit/info_status_test.c \
	libqoffload/tools/info_status.c libqoffload/tools/info_status.h \
	libqoffload/tools/info_watch.c libqoffload/tools/info_watch.h
tests_unit_info_status_test_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_info_status_test_LDADD = $(QO_TEST_LIBS) $(JANSSON_LIBS)
EXTRA_DIST += tests/unit/qo_info_test.sh

unit_tests += tests/unit/atomic_test
tests_unit_atomic_test_SOURCES = tests/unit/atomic_test.c
tests_unit_atomic_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/queue_test
tests_unit_queue_test_SOURCES = tests/unit/queue_test.c tests/unit/queue_pair.h
tests_unit_queue_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/segment_test
tests_unit_segment_test_SOURCES = tests/unit/segment_test.c
tests_unit_segment_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/room_test
tests_unit_room_test_SOURCES = tests/unit/room_test.c
tests_unit_room_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/bell_test
tests_unit_bell_test_SOURCES = tests/unit/bell_test.c
tests_unit_bell_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/probe_test
tests_unit_probe_test_SOURCES = tests/unit/probe_test.c
tests_unit_probe_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/contract_test
tests_unit_contract_test_SOURCES = tests/unit/contract_test.c \
	tests/unit/queue_pair.h
tests_unit_contract_test_LDADD = $(QO_TEST_LIBS)

contract_scripts = tests/unit/contract_python_test.py tests/unit/contract_sv_test.py
EXTRA_DIST += $(contract_scripts) tests/unit/golden.py
if HAVE_PYTHON
TESTS += $(contract_scripts)
endif

# Providers, in pairs of endpoints.
provider_pair_sources = tests/unit/provider_pair.c tests/unit/provider_pair.h
provider_side_sources = $(provider_pair_sources) \
	tests/unit/provider_side.c tests/unit/provider_side.h
if PROVIDER_SELF
if PROVIDER_SHM
if PROVIDER_FAULT
unit_tests += \
	tests/unit/provider_registry_test \
	tests/unit/provider_self_test \
	tests/unit/provider_shm_test \
	tests/unit/provider_shm_connect_test \
	tests/unit/provider_shm_control_test \
	tests/unit/provider_shm_hostile_test \
	tests/unit/provider_shm_process_test \
	tests/unit/provider_shm_death_test \
	tests/unit/provider_fault_test \
	tests/unit/provider_fault_stream_test
endif
endif
endif
tests_unit_provider_registry_test_SOURCES = \
	tests/unit/provider_registry_test.c $(provider_pair_sources)
tests_unit_provider_registry_test_LDADD = $(QO_TEST_LIBS)
tests_unit_provider_self_test_SOURCES = tests/unit/provider_self_test.c \
	$(provider_pair_sources)
tests_unit_provider_self_test_LDADD = $(QO_TEST_LIBS)
tests_unit_provider_shm_test_SOURCES = tests/unit/provider_shm_test.c \
	$(provider_pair_sources)
tests_unit_provider_shm_test_LDADD = $(QO_TEST_LIBS)
tests_unit_provider_shm_control_test_SOURCES = \
	tests/unit/provider_shm_control_test.c $(provider_pair_sources)
tests_unit_provider_shm_control_test_LDADD = $(QO_TEST_LIBS)
tests_unit_provider_shm_hostile_test_SOURCES = \
	tests/unit/provider_shm_hostile_test.c $(provider_pair_sources)
tests_unit_provider_shm_hostile_test_LDADD = $(QO_TEST_LIBS)
tests_unit_provider_shm_process_test_SOURCES = \
	tests/unit/provider_shm_process_test.c $(provider_side_sources)
tests_unit_provider_shm_process_test_LDADD = $(QO_TEST_LIBS)
tests_unit_provider_fault_test_SOURCES = tests/unit/provider_fault_test.c \
	$(provider_pair_sources)
tests_unit_provider_fault_test_LDADD = $(QO_TEST_LIBS)
tests_unit_provider_shm_connect_test_SOURCES = \
	tests/unit/provider_shm_connect_test.c $(provider_pair_sources)
tests_unit_provider_shm_connect_test_LDADD = $(QO_TEST_LIBS)
tests_unit_provider_shm_death_test_SOURCES = \
	tests/unit/provider_shm_death_test.c $(provider_side_sources)
tests_unit_provider_shm_death_test_LDADD = $(QO_TEST_LIBS)
tests_unit_provider_fault_stream_test_SOURCES = \
	tests/unit/provider_fault_stream_test.c $(provider_pair_sources)
tests_unit_provider_fault_stream_test_LDADD = $(QO_TEST_LIBS)

# Requests, waiting, operations and meshes, from inside.
unit_tests += tests/unit/request_test tests/unit/patience_test \
	tests/unit/op_describe_test tests/unit/channel_test \
	tests/unit/exec_test tests/unit/agent_test tests/unit/mesh_test
tests_unit_request_test_SOURCES = tests/unit/request_test.c
tests_unit_request_test_LDADD = $(QO_TEST_LIBS)
tests_unit_patience_test_SOURCES = tests/unit/patience_test.c
tests_unit_patience_test_LDADD = $(QO_TEST_LIBS)
tests_unit_op_describe_test_SOURCES = tests/unit/op_describe_test.c
tests_unit_op_describe_test_LDADD = $(QO_TEST_LIBS)
channel_pair_sources = tests/unit/channel_pair.c tests/unit/channel_pair.h
tests_unit_channel_test_SOURCES = tests/unit/channel_test.c \
	$(channel_pair_sources)
tests_unit_channel_test_LDADD = $(QO_TEST_LIBS)
tests_unit_exec_test_SOURCES = tests/unit/exec_test.c $(channel_pair_sources)
tests_unit_exec_test_LDADD = $(QO_TEST_LIBS)
tests_unit_mesh_test_SOURCES = tests/unit/mesh_test.c
tests_unit_mesh_test_LDADD = $(QO_TEST_LIBS)
# With the provider self.
tests_unit_agent_test_SOURCES = tests/unit/agent_test.c
tests_unit_agent_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/daemon_half_test
tests_unit_daemon_half_test_SOURCES = tests/unit/daemon_half_test.c \
	tests/unit/daemon_ranks.c tests/unit/daemon_ranks.h
tests_unit_daemon_half_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/daemon_ask_test
tests_unit_daemon_ask_test_SOURCES = tests/unit/daemon_ask_test.c \
	tests/unit/daemon_ranks.c tests/unit/daemon_ranks.h
tests_unit_daemon_ask_test_LDADD = $(QO_TEST_LIBS)

unit_tests += tests/unit/reach_test
tests_unit_reach_test_SOURCES = tests/unit/reach_test.c
tests_unit_reach_test_LDADD = $(QO_TEST_LIBS)

# What a client and the daemon share.
unit_tests += tests/unit/attach_address_test tests/unit/attach_message_test \
	tests/unit/attach_segment_test tests/unit/fail_point_test
tests_unit_attach_address_test_SOURCES = tests/unit/attach_address_test.c
tests_unit_attach_address_test_LDADD = $(QO_TEST_LIBS)
tests_unit_attach_message_test_SOURCES = tests/unit/attach_message_test.c
tests_unit_attach_message_test_LDADD = $(QO_TEST_LIBS)
tests_unit_attach_segment_test_SOURCES = tests/unit/attach_segment_test.c
tests_unit_attach_segment_test_LDADD = $(QO_TEST_LIBS)
tests_unit_fail_point_test_SOURCES = tests/unit/fail_point_test.c
tests_unit_fail_point_test_LDADD = $(QO_TEST_LIBS)

# The daemon's sessions, by a client that says what a test wants.
daemon_fixture_sources = tests/unit/daemon_fixture.c \
	tests/unit/daemon_fixture.h tests/support/raw_client.c \
	tests/support/raw_client.h
unit_tests += tests/unit/daemon_attach_test
tests_unit_daemon_attach_test_SOURCES = tests/unit/daemon_attach_test.c \
	$(daemon_fixture_sources)
tests_unit_daemon_attach_test_LDADD = $(QO_TEST_LIBS)
unit_tests += tests/unit/daemon_end_test
tests_unit_daemon_end_test_SOURCES = tests/unit/daemon_end_test.c \
	$(daemon_fixture_sources)
tests_unit_daemon_end_test_LDADD = $(QO_TEST_LIBS)
unit_tests += tests/unit/daemon_session_test
tests_unit_daemon_session_test_SOURCES = tests/unit/daemon_session_test.c \
	$(daemon_fixture_sources)
tests_unit_daemon_session_test_LDADD = $(QO_TEST_LIBS)
unit_tests += tests/unit/daemon_status_test tests/unit/daemon_loop_test
tests_unit_daemon_status_test_SOURCES = tests/unit/daemon_status_test.c \
	$(daemon_fixture_sources)
tests_unit_daemon_status_test_LDADD = $(QO_TEST_LIBS)
tests_unit_daemon_loop_test_SOURCES = tests/unit/daemon_loop_test.c \
	$(daemon_fixture_sources)
tests_unit_daemon_loop_test_LDADD = $(QO_TEST_LIBS)

# The client's side of a daemon, against one that does what a test wants.
fake_agent_sources = tests/unit/fake_agent.c tests/unit/fake_agent.h \
	tests/unit/capture.h
unit_tests += tests/unit/link_test
tests_unit_link_test_SOURCES = tests/unit/link_test.c $(fake_agent_sources)
tests_unit_link_test_LDADD = $(QO_TEST_LIBS)
unit_tests += tests/unit/launch_test tests/unit/direct_test
tests_unit_launch_test_SOURCES = tests/unit/launch_test.c tests/unit/capture.h
tests_unit_launch_test_LDADD = $(QO_TEST_LIBS)
tests_unit_direct_test_SOURCES = tests/unit/direct_test.c
tests_unit_direct_test_LDADD = $(QO_TEST_LIBS)
far_fixture_sources = tests/unit/far_fixture.c tests/unit/far_fixture.h \
	$(fake_agent_sources)
unit_tests += tests/unit/far_op_test tests/unit/far_memory_test
tests_unit_far_op_test_SOURCES = tests/unit/far_op_test.c \
	$(far_fixture_sources)
tests_unit_far_op_test_LDADD = $(QO_TEST_LIBS)
tests_unit_far_memory_test_SOURCES = tests/unit/far_memory_test.c \
	$(far_fixture_sources)
tests_unit_far_memory_test_LDADD = $(QO_TEST_LIBS)
unit_tests += tests/unit/far_stage_test
tests_unit_far_stage_test_SOURCES = tests/unit/far_stage_test.c \
	$(fake_agent_sources)
tests_unit_far_stage_test_LDADD = $(QO_TEST_LIBS)
