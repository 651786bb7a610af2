/* Small file trees in the temporary directory. Every function fails the running test when it cannot do its work. */
#ifndef UP_TESTS_FAKE_TREE_H
#define UP_TESTS_FAKE_TREE_H

#include "check.h"

void fake_tree_temporary(char *ret, size_t size); /* makes a new directory */
void fake_tree_copy(const char *from, const char *to); /* TO exists */
void fake_tree_write(const char *dir, const char *path, const char *data, size_t len); /* makes missing directories */
void fake_tree_remove(const char *path); /* with all below; not there is fine */
/* Paths of all regular files below DIR, relative to it. The caller frees each and the array. */
char **fake_tree_files(const char *dir, size_t *ret_count);
char *fake_tree_read(const char *dir, const char *path, size_t *ret_len); /* the caller frees */

#endif
