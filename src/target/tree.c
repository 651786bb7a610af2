/* Tree: every cgroup directory below the mounts, for lookups by name and for the list. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 64 /* the kernel allows any; what is deeper than this was not made by people */

static bool is_directory(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

int up_dir_children(
	const struct up_source *source, struct up_arena *arena, const char *path, char ***ret_names, size_t *ret_count)
{
	DIR *dir = up_source_opendir(source, path);
	struct dirent *entry;
	struct stat st;
	char **names = NULL;
	size_t count = 0, capacity = 0;

	if (!dir)
		return -errno;
	/* A directory without subdirectories has exactly two links on cgroup file systems (fs/kernfs/dir.c), "." and its own name. */
	if (fstat(dirfd(dir), &st) == 0 && st.st_nlink == 2) {
		closedir(dir);
		*ret_names = NULL;
		*ret_count = 0;
		return 0;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.' && (!entry->d_name[1] || (entry->d_name[1] == '.' && !entry->d_name[2])))
			continue;
		if (!is_directory(dir, entry))
			continue;
		if (count == capacity) {
			char **grown = up_arena_alloc(arena, sizeof(*grown) * (capacity = capacity ? capacity * 2 : 16));

			if (!grown)
				break;
			if (count)
				memcpy(grown, names, count * sizeof(*grown));
			names = grown;
		}
		names[count] = up_arena_strdup(arena, entry->d_name);
		if (!names[count])
			break;
		count++;
	}
	closedir(dir);
	if (entry)
		return -EFBIG;
	*ret_names = names;
	*ret_count = count;
	return 0;
}

static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h;
}

/* Slot of PATH, or the free one where it belongs. */
static uint32_t *find_slot(const struct up_tree *tree, const char *path)
{
	size_t at = hash(path) & (tree->slot_count - 1);

	while (tree->slots[at] && strcmp(tree->items[tree->slots[at] - 1].path, path) != 0)
		at = (at + 1) & (tree->slot_count - 1);
	return &tree->slots[at];
}

static int grow(struct up_tree *tree)
{
	const size_t capacity = tree->capacity ? tree->capacity * 2 : 256;
	struct up_tree_node *items = realloc(tree->items, capacity * sizeof(*items));
	uint32_t *slots;

	if (!items)
		return -ENOMEM;
	tree->items = items;
	slots = calloc(capacity * 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(tree->slots);
	tree->slots = slots;
	tree->slot_count = capacity * 2;
	tree->capacity = capacity;
	for (size_t i = 0; i < tree->count; i++)
		*find_slot(tree, tree->items[i].path) = (uint32_t)i + 1;
	return 0;
}

static int add(struct up_tree *tree, const char *path, int hierarchy)
{
	uint32_t *slot;

	if (tree->count == tree->capacity) {
		const int r = grow(tree);

		if (r < 0)
			return r;
	}
	slot = find_slot(tree, path);
	if (*slot)
		return 0;
	if (tree->count == UP_TREE_MAX) {
		tree->more++;
		return 0;
	}
	tree->items[tree->count] = (struct up_tree_node){ .path = path, .hierarchy = hierarchy };
	*slot = (uint32_t)++tree->count;
	return 0;
}

struct walk {
	const struct up_source *source;
	struct up_arena *arena;
	const char *mount;
	int hierarchy;
	struct up_tree *tree;
};

/* No descriptor stays open while the children are visited, so a deep tree needs no more of them than a flat one. */
static int descend(const struct walk *walk, const char *path, unsigned depth)
{
	char full[UP_PATH_MAX], **names = NULL;
	size_t count = 0;
	int r;

	if (depth > DEPTH_MAX || !up_path_join(walk->mount, path, full, sizeof(full)))
		return 0;
	r = up_dir_children(walk->source, walk->arena, full, &names, &count);
	if (r < 0)
		return r == -EFBIG ? r : 0; /* it vanished, or is not ours to read: the others are */
	for (size_t i = 0; i < count; i++) {
		const char *child = up_arena_printf(walk->arena, "%s/%s", strcmp(path, "/") == 0 ? "" : path, names[i]);

		r = child ? add(walk->tree, child, walk->hierarchy) : -EFBIG;
		if (r == 0)
			r = descend(walk, child, depth + 1);
		if (r < 0)
			return r;
	}
	return 0;
}

int up_tree_read(
	const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies, struct up_tree *ret)
{
	struct up_tree tree = { 0 };
	int order[UP_HIERARCHIES_MAX];
	const size_t count = up_hierarchies_order(hierarchies, order);

	for (size_t i = 0; i < count; i++) {
		const struct walk walk = { source, arena, hierarchies->items[order[i]].mount, order[i], &tree };
		const int r = descend(&walk, "/", 0);

		if (r == -ENOMEM) {
			up_tree_done(&tree);
			return r;
		}
		if (r < 0) {
			tree.more++; /* the arena is full: what was found is kept, and said not to be all */
			break;
		}
	}
	*ret = tree;
	return 0;
}

long up_tree_find(const struct up_tree *tree, const char *path)
{
	return tree->slot_count ? (long)*find_slot(tree, path) - 1 : -1;
}

void up_tree_done(struct up_tree *tree)
{
	free(tree->items);
	free(tree->slots);
	*tree = (struct up_tree){ 0 };
}
