/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every limit that guards an allocation or a wait against foreign input, in
 * one place.  A value read from a network, a file, a user or another process
 * is compared with one of these before anything is allocated or looped over.
 */
#ifndef SF_BASE_LIMITS_H
#define SF_BASE_LIMITS_H

/* Longest text for people that travels in an error buffer, NUL included. */
#define SF_ERRBUF_SIZE 512

/* JSON from others: depth of nesting. */
#define SF_JSON_DEPTH_MAX 16

/* Control sockets (base/ctl.h): bytes of a request and of an answer;
 * connections in all and of one ordinary user; seconds that a client may sit
 * idle, and seconds that it may take none of its answer. */
#define SF_CTL_REQUEST_MAX (1024 * 1024)
#define SF_CTL_REPLY_MAX (64 * 1024 * 1024)
#define SF_CTL_ASK_MAX 8 /* daemons that one client asks at once */
#define SF_CTL_CLIENTS_MAX 128
#define SF_CTL_USER_CLIENTS_MAX 16
#define SF_CTL_GROUPS_MAX 1024
#define SF_CTL_IDLE_SECONDS 60
#define SF_CTL_STALL_SECONDS 10

/* How much of a node's Extra, as Slurm tells it, is looked at. */
#define SF_SLURM_EXTRA_MAX 4096

/* MUNGE: longest payload that is sealed.  munged refuses 1 MiB in all. */
#define SF_SEAL_PAYLOAD_MAX (512 * 1024)

/* impid and its processes (task_wire): longest text, NUL included; strings
 * in one environment; payload of one frame from a process, and from impid
 * (a world of 10^5 ranks is about 8 MB); what a process may have left unread,
 * as the kernel counts it, when it is passed memory of others (a short frame is
 * about 800). */
#define SF_TASK_TEXT_MAX 512
#define SF_TASK_ENV_MAX 256
#define SF_TASK_REQUEST_MAX (64 * 1024)
#define SF_TASK_REPLY_MAX (64 * 1024 * 1024)
#define SF_TASK_UNREAD_MAX 8192

/* Seconds of silence after which the other end of an idle TCP connection counts
 * as lost, and what the user may choose for that between MPI processes. */
#define SF_SILENCE 180
#define SF_IMPI_SILENCE_MIN 12 /* a second between two questions */
#define SF_IMPI_SILENCE_MAX 86400

/* IMPI start-up.  32 clients is the width of client_mask (2.3.5). */
#define SF_IMPI_CLIENTS_MAX 32
#define SF_IMPI_HOSTS_MAX 65536
#define SF_IMPI_PROCS_MAX 262144
/* Lines of nodes whose agents may start with the first call of MPI; of how many
 * nodes they surely fit into the queue of one listener (net.core). */
#define SF_IMPI_LINES_MAX 65536
#define SF_IMPI_LINES_WAIT_MAX 2048
/* What impi-server has said and nobody has taken, bytes. */
#define SF_SERVER_WORDS_MAX (256 * 1024)
/* Members of a communicator whose collective calls may go straight between
 * all of them: each may need a connection to every other one. */
#define SF_IMPI_FLAT_MAX 64
/* There: Alltoall of short blocks goes by way of others among so many. */
#define SF_IMPI_ROUNDS_LEAST 5
#define SF_IMPI_ROUNDS_BLOCK_MAX 2048
/* Elsewhere: short blocks of an Allgather go straight among so many. */
#define SF_IMPI_STRAIGHT_MAX 16
#define SF_IMPI_TAGUB_MIN 32767 /* section 3.9 */
/* Commands of one MPI_Comm_spawn_multiple, as srun takes components; steps that
 * one launch has had started and that still run. */
#define SF_IMPI_SPAWN_MAX 128
#define SF_IMPI_SPAWNED_MAX 1024
/* Seconds that children may take to leave their processors when their parents
 * have disconnected from them and spawn others. */
#define SF_IMPI_SPAWN_WAIT 10

/* Worlds that meet by a port (impi/couple.h): callers that have not been let in
 * yet; open ports of a process; text of a refusal; processes of other worlds
 * that one process has ever met; bytes of a service's name and of its file;
 * seconds that a call waits for one who accepts, unless the program says
 * otherwise. */
#define SF_IMPI_PORT_CALLERS_MAX 64
#define SF_IMPI_PORTS_MAX 1024
#define SF_IMPI_REFUSAL_MAX 256
#define SF_IMPI_FOREIGN_MAX SF_IMPI_PROCS_MAX
#define SF_IMPI_SERVICE_MAX 200
#define SF_IMPI_SERVICE_FILE_MAX 1024
#define SF_IMPI_CONNECT_SECONDS 180

/* IMPI server, against its clients: words of an AUTH mask; text of a MUNGE
 * credential; payload of one command; payloads and labels of one client in
 * all; connections that have not authenticated (with one more, one must go:
 * base/guests.h). */
#define SF_IMPI_AUTH_WORDS_MAX 8
#define SF_IMPI_CREDENTIAL_MAX 4096
#define SF_IMPI_CMD_MAX (16 * 1024 * 1024)
#define SF_IMPI_CLIENT_BYTES_MAX (16 * 1024 * 1024)
#define SF_IMPI_CLIENT_LABELS_MAX 1024
#define SF_IMPI_PENDING_MAX 64
/* Connections that one turn of a loop takes in: then those that are there have
 * their say. */
#define SF_ACCEPTS_MAX 16
/* A peer whose connection was closed before its proof was answered tries again
 * after a pause, ms, and for so long, s, in all. */
#define SF_RETRY_MS_MIN 8u
#define SF_RETRY_MS_MAX 1000u
#define SF_RETRY_SECONDS 60

/* Agent frames: a frame, a rendezvous key, a blob, all that one rendezvous
 * key collects, keys waiting at once, agents, text. */
#define SF_AGENT_FRAME_MAX (64u * 1024 * 1024)
#define SF_AGENT_KEY_MAX 256
#define SF_AGENT_BLOB_MAX (32u * 1024 * 1024)
#define SF_AGENT_KEYS_OPEN_MAX 4096
#define SF_AGENTS_MAX 65536
#define SF_AGENT_NODE_MAX 256
#define SF_AGENT_TEXT_MAX SF_ERRBUF_SIZE
/* Text in which an agent says who is lost with it: the whole, and the ranks of
 * one client. */
#define SF_AGENT_HOLDS_MAX 160
#define SF_AGENT_RANKS_MAX 64

/* The tree of a step's agents: children of impi-server and of each agent, where
 * the site says nothing else (FanOut); seconds until an agent whose parent is
 * gone tells so, if impi-server has not seen it before. */
#define SF_AGENT_FANOUT 16
#define SF_AGENT_PARENT_SECONDS 10

/* What goes up the tree to one key is held for the others: so many bytes, and
 * so many ms the first time, twice as long each further time; keys that an
 * agent gave straight before it had a parent, and remembers. */
#define SF_AGENT_HELD_MAX (1024u * 1024)
#define SF_AGENT_HOLD_MS 20u
#define SF_AGENT_HOLD_MS_MAX 10000u
#define SF_AGENT_STRAIGHT_MAX 64

/* Connections that strangers may hold half open at a port of a relay, an agent
 * or a process, beyond one for each that is due there. */
#define SF_GUESTS_EXTRA 64

/* impi-server: bytes that wait for one agent; generations at once. */
#define SF_AGENT_OUT_MAX (512u * 1024 * 1024)
#define SF_IMPI_GENERATIONS_MAX 64
/* impid as a relay: bytes that wait for one host or process.  Flow control
 * (hiwater packets for each pair) keeps honest senders far below. */
#define SF_IMPI_RELAY_QUEUE_MAX (512u * 1024 * 1024)

/* Rendezvous: contributions to one key; bytes that wait in all keys. */
#define SF_RENDEZVOUS_PARTS_MAX 262144
#define SF_RENDEZVOUS_BYTES_MAX (512u * 1024 * 1024)

/* Process to process: memory of the unexpected messages of one pair that are
 * acknowledged before they are received. */
#define SF_IMPI_UNEXPECTED_MAX (64u * 1024 * 1024)
/* Answers that wait to be sent to one peer; more only pile up for a peer that
 * asks and never reads. */
#define SF_IMPI_CONTROLS_MAX (1024u * 1024)
/* Runs of a datatype's type map. */
#define SF_IMPI_RUNS_MAX 65536
/* One-sided communication: bytes of data of one operation; datatypes of one
 * peer that are kept; bytes of messages that an origin may send before its lock
 * is granted, and of an operation that waits for the unlock; data from how many
 * bytes on go straight to their place. */
#define SF_IMPI_RMA_DATA_MAX (1024u * 1024 * 1024)
#define SF_IMPI_RMA_TYPES_MAX 64
#define SF_IMPI_RMA_EARLY_MAX (16u * 1024)
#define SF_IMPI_RMA_HELD_MAX (4u * 1024)
#define SF_IMPI_RMA_PLACE_MIN (64u * 1024)
/* Files: runs of one process's part in a collective access. */
#define SF_IMPI_IO_RUNS_MAX (16u * 1024 * 1024)

/* Processes of a PMIx namespace up to which each is told the host of each. */
#define SF_PMIX_TOLD_MAX 1024

/* PMI server: what get_maxes answers, the key-value space of one client,
 * processes of a client on a node. */
#define SF_PMI_KVSNAME_MAX 256
#define SF_PMI_KEY_MAX 64
#define SF_PMI_VALUE_MAX 1024
#define SF_PMI_KVS_MAX (64 * 1024 * 1024)
#define SF_PMI_LOCAL_MAX 65536
/* PMI-1: one line (a put of the longest value fits). */
#define SF_PMI1_LINE_MAX 2048
/* PMI-2: one message (its clients make none that is longer), the name of a
 * thread that waits for an answer, attributes of the node for which the threads
 * of one process wait. */
#define SF_PMI2_MESSAGE_MAX (64 * 1024)
#define SF_PMI2_THREAD_MAX 32
#define SF_PMI2_WAITS_MAX 64

/* Elan: highest Elan id of a node, most nodes of one step or of elanhosts,
 * most rails of a machine (one bit each in RailMask). */
#define SF_ELAN_NODE_ID_MAX 65535
#define SF_ELAN_NODES_MAX 65536
#define SF_ELAN_RAILS_MAX 8

/* Lists of host names: names in one list, a name with its NUL, bracket pairs
 * in one name, digits of one number in brackets. */
#define SF_HOST_NAMES_MAX (256u * 1024)
#define SF_HOST_NAME_MAX 256
#define SF_HOST_NAME_BRACKETS_MAX 4
#define SF_HOST_NAME_DIGITS_MAX 9

/* Elan: a file's name, NUL included; digits of a decimal number. */
#define SF_ELAN_PATH_MAX 1024
#define SF_ELAN_DIGITS_MAX 9

/* Path of a configuration or run-time file. */
#define SF_SITEDIR_PATH_MAX 1024

/* Elan: elanhosts, bytes; `--network=` and SwitchParameters, bytes. */
#define SF_ELAN_HOSTS_SIZE_MAX (16 * 1024 * 1024)
#define SF_ELAN_OPTIONS_MAX 4096

/* Elan: longest job info in the clear; a sealed payload of
 * SF_SEAL_PAYLOAD_MAX is 700 KB of text. */
#define SF_ELAN_JOBINFO_MAX (1024 * 1024)

/* switch/elan in slurmctld: launches that wait for contexts. */
#define SF_WAITERS_MAX 256
/* Refused launches whose users were told why and that will ask once more; bytes
 * of what they are told. */
#define SF_SWITCH_TOLD_MAX 64
#define SF_SWITCH_TOLD_TEXT_MAX 1024

/* Program descriptions (src/elan/program*): capabilities of one program (one
 * per rail), processes between a member and its task that are looked at for
 * the context it took, pids in one answer, connections that a holder serves at
 * a time, seconds that emptying a program may take, different processes that
 * are told apart when they are counted; seconds that a holder without a program
 * waits for the next one, and how many do on a node. */
#define SF_PROGRAM_CAPS_MAX SF_ELAN_RAILS_MAX
#define SF_PROGRAM_CHAIN_MAX 64
#define SF_PROGRAM_PIDS_MAX 32768
#define SF_PROGRAM_CLIENTS_MAX 64
#define SF_PROGRAM_KILL_SECONDS 10
#define SF_PROGRAM_SEEN_MAX 65536
#define SF_PROGRAM_LINGER_SECONDS 20
#define SF_PROGRAM_SPARES_MAX 4
/* impid: what it is told at its start (the task map may be long). */
#define SF_IMPID_CONF_MAX (1024 * 1024)

/* Fabric: hosts and crossbars of one net (65 536 hosts and what joins them);
 * ports of one crossbar (source routes reach 64, InfiniBand's switches are
 * read too); a node's name, NUL included. */
#define SF_NET_NODES_MAX (256u * 1024)
#define SF_NET_XBAR_PORTS_MAX 255u
#define SF_NET_NAME_MAX 256
/* Its files: bytes (65 536 hosts take 10 MB), bytes of one line (a line of
 * topology.conf may list many nodes). */
#define SF_NET_FILE_MAX (64u * 1024 * 1024)
#define SF_NET_LINE_MAX (256 * 1024)

/* Rings in shared memory: bytes of a ring, of one record; rings of the bell
 * that are taken at a time. */
#define SF_RING_SIZE_MAX (256u * 1024 * 1024)
#define SF_RING_RECORD_MAX (1024u * 1024)
#define SF_RING_BELLS 16
/* Channels of IMPI in shared memory: bytes of the ring each way. */
#define SF_SHARE_RING (256u * 1024)
/* Channels of IMPI over libfabric: name of a provider and an address there;
 * bytes of one frame, and frames that one end may have on the way, as a peer
 * may say and as we do; time for the first frame each way, ms. */
#define SF_FABRIC_NAME_MAX 64
#define SF_FABRIC_ADDR_MAX 256
#define SF_FABRIC_ORDER_MAX 256 /* IMPI_FABRIC as a whole */
#define SF_FABRIC_FRAME_MIN 4096
#define SF_FABRIC_FRAME_MAX (1024u * 1024)
#define SF_FABRIC_CREDITS_MIN 4
#define SF_FABRIC_CREDITS_MAX 1024
#define SF_FABRIC_FRAME (16u * 1024)
#define SF_FABRIC_CREDITS 32
/* For the first frame: so long, or this part of IMPI_SILENCE. */
#define SF_FABRIC_HELLO_MS 5000
#define SF_FABRIC_HELLO_PART 36
/* Pieces of a sender's memory that a receiver reads at a time, as a peer may
 * say and as we do; bytes of one, at most and from which on it is worth it. */
#define SF_FABRIC_LENDS_MAX 16
#define SF_FABRIC_LENDS 8
#define SF_FABRIC_LEND_MAX (4u * 1024 * 1024)
#define SF_FABRIC_LEND_MIN (32u * 1024)
/* Bytes of a put or get of a window from which on the network does it without
 * messages. */
#define SF_FABRIC_MOVE_MIN (16u * 1024)
/* Mapping (src/mapper/gm*): hosts, crossbars and pieces of one GM-2 map;
 * members of one cloud. */
#define SF_GM_HOSTS_MAX 131072
#define SF_GM_XBARS_MAX 65536
#define SF_GM_TWINS_MAX 64 /* hosts of a map whose board id is there before */
#define SF_GM_PIECES_MAX 16384
#define SF_GM_CLOUD_MAX 8192
#define SF_GM_PAST_MAX 4 /* maps of before that children may still have */

/* Health reports: a name (node, crossbar, end of a link) and an evidence, NUL
 * included; what one report holds (2048 records are at most 500 KB, which MUNGE
 * takes); parts of one map, all that the model may know; a credential on the
 * wire; reports that a sender keeps while switchmgrd is away, a whole map among
 * them.  The port is where switchmgrd listens. */
#define SF_REPORT_NAME_MAX 64
#define SF_REPORT_WHY_MAX 64
#define SF_REPORT_NIC_MAX 64
#define SF_REPORT_COUNTER_NAME_MAX 40
#define SF_REPORT_RECORDS_MAX 2048
#define SF_REPORT_COUNTERS_MAX 256
#define SF_REPORT_PEERS_MAX 1024
#define SF_REPORT_PARTS_MAX 256
#define SF_REPORT_CREDENTIAL_MAX (1024 * 1024)
#define SF_SENDER_QUEUE_MAX 256
/* The key of a connection of reports: bytes (AES-128, FIPS 197); seconds and
 * reports that it serves at most, a sender takes another at half of either. */
#define SF_REPORT_KEY 16
#define SF_REPORT_KEY_SECONDS 3600
#define SF_REPORT_KEY_REPORTS_MAX (1u << 31)
/* A report of at most so many bytes is kept by both ends of its connection, for
 * a later one that says the same. */
#define SF_REPORT_KEPT_MAX 4096
/* A file of rules for the counters of ports (health/tally.h). */
#define SF_PORT_RULES_MAX 65536
/* nicd: ports that it watches, names of devices and models, entries of a
 * directory that are looked at, bytes of a file of sysfs. */
#define SF_NIC_PORTS_MAX 64
#define SF_NIC_NAME_MAX 32
#define SF_NIC_ENTRIES_MAX 1024
#define SF_NIC_FILE_MAX 256
#define SF_REPORT_PORT 6830

/* Health model: hosts, links and crossbars together; reporters. */
#define SF_HEALTH_ITEMS_MAX (512 * 1024)
#define SF_HEALTH_REPORTERS_MAX (256 * 1024)

/* Health table: bytes of the file.  A text of a node of Slurm that we merge
 * ours into (features, Extra). */
#define SF_HEALTH_TABLE_MAX (16 * 1024 * 1024)
/* What switchmgrd keeps of its model over a restart. */
#define SF_HEALTH_STATE_MAX (1024 * 1024 * 1024)
#define SF_PLAN_TEXT_MAX 1024
/* Software fabric: faults of one script (a flapping cable is many). */
#define SF_SWFAB_FAULTS_MAX 100000

/* hsnd: one request or answer on its socket, connections, those of one user
 * but root (endpoints, too), programs that are registered, senders that one
 * program remembers (every possible process), ring of an endpoint in bytes;
 * reports and calls that wait for munged. */
#define SF_HSN_REQUEST_MAX (60 * 1024)
#define SF_HSN_PORTS_MAX 8192
#define SF_HSN_USER_MAX 2048
#define SF_HSN_PROGRAMS_MAX 4096
#define SF_HSN_SOURCES_MAX 16384
#define SF_HSN_RING_MIN (64 * 1024)
#define SF_HSN_RING_MAX (64 * 1024 * 1024)
#define SF_HSN_ROUTES_SIZE_MAX (64 * 1024 * 1024)
#define SF_HSN_ASK_MAX 32
#define SF_HSN_POOL_SLICES_MAX 256 /* endpoints that share their pages */
#define SF_HSN_POOL_USER_MAX 256   /* endpoints with pages, of one user */

/* swfabd: bytes of a line of its files, of a file; parts of one fabric;
 * smallest ring of a host; connections that have not said who they are, and
 * the seconds they have for it; HELLOs that are looked at per second, at once,
 * of all of a kind and of one stranger's address; addresses that are
 * remembered; HELLOs that wait for munged. */
#define SF_SWFABD_LINE_MAX 4096
#define SF_SWFABD_PARTS_SIZE_MAX (4 * 1024 * 1024)
#define SF_SWFABD_PARTS_MAX 1024
#define SF_SWFABD_RING_MIN (64 * 1024)
#define SF_SWFABD_COMERS_MAX 64
#define SF_SWFABD_COMER_SECONDS 5
#define SF_SWFABD_HELLO_RATE 100
#define SF_SWFABD_HELLO_BURST 200
#define SF_SWFABD_SOURCE_RATE 40
#define SF_SWFABD_SOURCE_BURST 80
#define SF_SWFABD_SOURCES_MIN 1024 /* a power of two */
#define SF_SWFABD_ASK_MAX 256
/* switchmgrd: nodes of Slurm; connections of reporters (hsnd and nicd of
 * 65 536 nodes, and more); seconds that one may
 * take for a report it has begun; events kept for `sfabric events`; ports of a
 * crossbar and crossbars in a tree of link status. */
#define SF_SWITCHMGR_NODES_MAX (256 * 1024)
#define SF_SWITCHMGR_CONNS_MAX (160 * 1024)
#define SF_SWITCHMGR_FDS_OTHER 128 /* descriptors that are no reporter's */
#define SF_SWITCHMGR_STALL_SECONDS 10
#define SF_SWITCHMGR_EVENTS_MAX 4096
/* Its bad reports, each a look by munged: those in a row that end a connection
 * (a reporter may send as many that were made too long ago); those of one
 * address, at once (of sixteen such reporters) and per second; addresses that
 * are remembered for it. */
#define SF_SWITCHMGR_BAD_MAX SF_SENDER_QUEUE_MAX
#define SF_SWITCHMGR_BAD_BURST (16 * SF_SWITCHMGR_BAD_MAX)
#define SF_SWITCHMGR_BAD_RATE 20
#define SF_SWITCHMGR_OFFENDERS_MAX 4096
#define SF_SFABRIC_TIMEOUT_MAX 86400 /* seconds */
#define SF_LINKSRC_PORTS_MAX 256
#define SF_LINKSRC_XBARS_MAX 4096

/* The web page: a host's name with its port, NUL included; jobs whose nodes are
 * known, and bytes of a list of nodes, which has at most some 8 for each of
 * 8192 nodes that follow in no order. */
#define SF_PAGE_HOST_MAX 264
#define SF_SWITCHMGR_JOBS_MAX (128 * 1024)
#define SF_JOB_NODES_MAX (64 * 1024)

/* History of links: links, a link's name (a node, a slash and its rail) and
 * the path of a file, NUL included; bytes of the file of names (a line of each
 * at most 110). */
#define SF_HISTORY_LINKS_MAX (256 * 1024)
#define SF_HISTORY_NAME_MAX (SF_REPORT_NAME_MAX + 8)
#define SF_HISTORY_PATH_MAX 1200
#define SF_HISTORY_NAMES_MAX (SF_HISTORY_LINKS_MAX * 110)

/* A topology.conf that switchmgrd installs, bytes. */
#define SF_TOPOLOGY_SIZE_MAX (32 * 1024 * 1024)

/* Files of domains (net/topo_domains.h): NVLink joins some dozens of nodes, so
 * the largest fabrics have some thousands of domains.  A name is one of Slurm's
 * blocks (topology.yaml(5): 64 letters). */
#define SF_DOMAINS_MAX 8192
#define SF_DOMAIN_NAME_MAX 65
#define SF_DOMAINS_SIZE_MAX (4 * 1024 * 1024)

/* Descriptors that go with one message (base/fd_pass.h). */
#define SF_FD_PASS_MAX 3

#endif
