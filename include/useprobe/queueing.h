/* Closed forms of queueing theory, for what a curve should look like. */
#ifndef UP_QUEUEING_H
#define UP_QUEUEING_H

/* M/M/1 and M/M/c (Kleinrock 1975; Erlang C): Poisson arrivals, exponential service, one queue. Times in the unit of the service time. */
struct up_queue {
	double rho; /* utilisation of a server */
	double wait_share; /* probability that a request waits */
	double response; /* mean, waiting and service */
	double in_system; /* mean number, = arrival rate * response */
	double waiting; /* mean number waiting */
	double response_p99; /* exact: the 99th percentile of the sojourn time */
};
/* ARRIVALS per unit of time, SERVICE time, SERVERS >= 1. 0, or -EDOM when it has no steady state (rho >= 1) or the numbers make no sense. */
int up_queue_mmc(double arrivals, double service, unsigned servers, struct up_queue *ret_queue);

/* Machine-repair model M/M/c//N: USERS who think THINK on average and are served by SERVERS. Exact birth-death. 0 or -EDOM. */
struct up_closed_queue {
	double throughput, response, utilisation;
};
int up_queue_closed(unsigned users, double think, double service, unsigned servers, struct up_closed_queue *ret_queue);

/* Utilisation at which the tangent from the origin touches R = 1 / (1 - rho^m): (m + 1)^(-1/m), the knee of a latency curve for m servers after Millsap
 * and Schwartz. */
double up_queue_tangent_knee(unsigned servers);
/* The same from samples of RHO (ascending) and RESPONSE: the index where response / rho is smallest; -1 without samples. */
int up_queue_tangent_knee_of(const double *rho, const double *response, int n);

#endif
