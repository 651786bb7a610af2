/* M/M/c, its closed sister, and the tangent knee. */
#include <errno.h>
#include <math.h>

#include "useprobe/queueing.h"

/* Erlang's C by the recurrence for B, which never overflows: B(0) = 1, B(k) = a B(k-1) / (k + a B(k-1)); C = B / (1 - rho (1 - B)). */
static double erlang_c(double load, unsigned servers)
{
	double b = 1, rho = load / servers;

	for (unsigned k = 1; k <= servers; k++)
		b = load * b / (k + load * b);
	return b / (1 - rho * (1 - b));
}

/* P(sojourn > t) of M/M/c, mu the service rate: with a = c mu - lambda the waiting part is exponential(a) with probability C. */
static double sojourn_above(double t, double wait_share, double mu, double a)
{
	if (fabs(a - mu) < 1e-9 * mu)
		return exp(-mu * t) * (1 + wait_share * mu * t);
	return (1 - wait_share) * exp(-mu * t) + wait_share * (mu * exp(-a * t) - a * exp(-mu * t)) / (mu - a);
}

static double sojourn_p99(double wait_share, double mu, double a)
{
	double lo = 0, hi = 1 / fmin(mu, a);

	while (sojourn_above(hi, wait_share, mu, a) > 0.01)
		hi *= 2;
	for (unsigned round = 0; round < 200; round++) {
		double mid = (lo + hi) / 2;

		if (sojourn_above(mid, wait_share, mu, a) > 0.01)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

int up_queue_mmc(double arrivals, double service, unsigned servers, struct up_queue *ret_queue)
{
	struct up_queue q;
	double load = arrivals * service;

	if (!(arrivals > 0) || !(service > 0) || servers == 0 || !(load < servers))
		return -EDOM;
	q.rho = load / servers;
	q.wait_share = erlang_c(load, servers);
	q.waiting = q.wait_share * q.rho / (1 - q.rho);
	q.response = service + q.waiting / arrivals;
	q.in_system = arrivals * q.response;
	q.response_p99 = sojourn_p99(q.wait_share, 1 / service, servers / service - arrivals);
	*ret_queue = q;
	return 0;
}

int up_queue_closed(unsigned users, double think, double service, unsigned servers, struct up_closed_queue *ret_queue)
{
	double weight = 1, sum = 1, in_system = 0, busy = 0;

	if (users == 0 || servers == 0 || !(service > 0) || !(think >= 0) || !isfinite(think))
		return -EDOM;
	if (think == 0) { /* everyone is always in the system */
		busy = users < servers ? users : servers;
		*ret_queue = (struct up_closed_queue){ busy / service, users * service / busy, busy / servers };
		return 0;
	}
	for (unsigned k = 1; k <= users; k++) {
		double at_work = k < servers ? k : servers;

		weight *= (users - k + 1) / think / (at_work / service);
		if (weight > 1e250) { /* only the proportions count */
			sum /= 1e250;
			in_system /= 1e250;
			busy /= 1e250;
			weight /= 1e250;
		}
		sum += weight;
		in_system += k * weight;
		busy += at_work * weight;
	}
	*ret_queue = (struct up_closed_queue){
		.throughput = busy / sum / service,
		.response = in_system / (busy / service),
		.utilisation = busy / sum / servers,
	};
	return 0;
}

double up_queue_tangent_knee(unsigned servers)
{
	return pow(servers + 1.0, -1.0 / servers);
}

int up_queue_tangent_knee_of(const double *rho, const double *response, int n)
{
	int best = -1;

	for (int i = 0; i < n; i++) {
		if (rho[i] > 0 && isfinite(response[i]) && (best < 0 || response[i] / rho[i] < response[best] / rho[best]))
			best = i;
	}
	return best;
}
