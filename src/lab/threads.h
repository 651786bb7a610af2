#ifndef LAB_THREADS_H
#define LAB_THREADS_H

#include "server.h"

/* The bodies of a server's threads (server.c, background.c); each returns when the server stops. */
void lab_thread_acceptor(struct lab_server *server, struct lab_hand *hand);
void lab_thread_loop(struct lab_server *server, struct lab_hand *hand);
void lab_thread_worker(struct lab_server *server, struct lab_hand *hand);
void lab_thread_direct(struct lab_server *server, struct lab_hand *hand);

/* The report job: holds the report lock every report_every_ns. */
void lab_thread_report(struct lab_server *server, struct lab_hand *hand);

/* An innocent neighbour: burns decoy_ratio of its time, serves nobody. */
void lab_thread_decoy(struct lab_server *server, struct lab_hand *hand);

/* Answers counters on the admin listener, even while the loop is blocked. */
void lab_thread_admin(struct lab_server *server, struct lab_hand *hand);

/* Starts a child that stops this process at freeze_at_ns (since now) for freeze_for_ns. Its pid, or -errno. */
int lab_freezer_start(const struct lab_server_options *options);

#endif
