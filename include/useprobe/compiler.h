/* Small compiler helpers shared by every module. */
#ifndef UP_COMPILER_H
#define UP_COMPILER_H

#define UP_MUST_CHECK __attribute__((warn_unused_result))
#define UP_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#define UP_CLEANUP(function) __attribute__((cleanup(function)))
#define UP_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
