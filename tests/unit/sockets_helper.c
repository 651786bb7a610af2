#include "sockets_helper.h"

#include <stdlib.h>

#include "check.h"

struct up_sockets *sockets_fake_new(const struct up_targets *targets)
{
	struct up_sockets *sockets = calloc(1, sizeof(*sockets));

	assert_non_null(sockets);
	sockets->targets = targets;
	sockets->window_tick = UINT64_MAX;
	sockets->groups = calloc(UP_LISTENERS_MAX, sizeof(*sockets->groups));
	assert_non_null(sockets->groups);
	pthread_mutex_init(&sockets->space_lock, NULL);
	pthread_mutex_init(&sockets->lock, NULL);
	pthread_cond_init(&sockets->wake, NULL);
	sockets->view[sockets->view_count].space.inode = FAKE_NETNS;
	sockets->view[sockets->view_count++].mask = UINT32_MAX;
	return sockets;
}

void sockets_fake_listener(struct up_sockets *sockets, uint64_t cookie, const char *text, uint32_t mask)
{
	struct sockets_known *grown = realloc(sockets->known, (sockets->known_count + 1) * sizeof(*grown));
	struct sockets_known known = { .cookie = cookie, .inode = FAKE_NETNS, .mask = mask, .owner = UP_OWNER_FD };
	struct up_endpoint endpoint;

	assert_non_null(grown);
	assert_int_equal(up_endpoint_parse(text, &endpoint), 0);
	while (sockets->groups[known.group].used && !up_endpoint_equal(&sockets->groups[known.group].shared.endpoint, &endpoint))
		known.group++;
	if (!sockets->groups[known.group].used) {
		sockets->groups[known.group] = (struct sockets_group){
			.shared = { .endpoint = endpoint, .netns = FAKE_NETNS, .first_ns = 1 },
			.mask = mask,
			.owner = UP_OWNER_FD,
			.used = true,
		};
		snprintf(sockets->groups[known.group].shared.name, UP_LISTENER_NAME, "tcp:%s", text);
	}
	sockets->known = grown;
	sockets->known[sockets->known_count++] = known;
	qsort(sockets->known, sockets->known_count, sizeof(known), sockets_known_order);
	sockets->found_once = true;
}

bool sockets_fake_poll(struct up_sockets *sockets, uint64_t now_ms, const struct sockets_fake_row *rows, size_t count)
{
	struct sockets_row items[16];
	const struct sockets_rows all = { .items = items, .count = count };

	assert_true(count <= UP_COUNT(items));
	for (size_t i = 0; i < count; i++)
		items[i] = (struct sockets_row){
			.cookie = rows[i].cookie,
			.queue = rows[i].queue,
			.backlog = rows[i].backlog,
			.drops = rows[i].drops,
			.has_drops = true,
			.has_backlog = true,
		};
	return sockets_fold(sockets, FAKE_NETNS, &all, now_ms * UP_NS_PER_MS);
}
