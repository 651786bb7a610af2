/* Every scanner of kernel text on arbitrary bytes: no crash, no over-read, and what is accepted stays within its bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/collect/psi.h"
#include "useprobe/container.h"
#include "useprobe/row.h"
#include "useprobe/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void scan_text(const char *text)
{
	char out[64];
	struct up_u64 value;
	struct psi psi;
	unsigned cpus;
	bool unlimited;
	double number;
	uint64_t n;

	if (up_scan_key(text, "usage_usec", &value) == 0 && value.has && !strstr(text, "usage_usec"))
		abort();
	if (up_scan_single(text, &value, &unlimited) == 0 && value.has && unlimited)
		abort();
	if (up_scan_cpu_list(text, &cpus) == 0 && strchr(text, '\n') == NULL)
		abort();
	if (up_scan_whole_u64(text, &n) == 0 && text[0] == '\0')
		abort();
	if (up_scan_whole_decimal(text, &number) == 0 && number < 0)
		abort();
	if (psi_scan(text, &psi) == 0 && !psi.some_us.has && !psi.full_us.has)
		abort();
	if (up_scan_unescape(text, strlen(text), out, sizeof(out)) == 0 && strlen(out) >= sizeof(out))
		abort();
	up_detail_get_number(text, "cpus", &number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct up_containers containers = { 0 };
	char *text = malloc(size + 1);
	pid_t pid;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	scan_text(text);
	if (up_containers_parse(text, size, 0, &containers) < 0)
		containers.error[0] = '\0'; /* refused, as most bytes are */
	if (up_containers_parse_storage(text, size, &containers) == 0 && containers.count > UP_CONTAINERS_MAX)
		abort();
	up_containers_done(&containers);
	if (up_container_parse_pid(text, size, &pid) == 0 && pid < 0)
		abort();
	free(text);
	return 0;
}
