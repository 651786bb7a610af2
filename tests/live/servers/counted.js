// Node's own http server with exact counters: node counted.js PORT DELAY_MS. GET /_stats answers them.
const http = require('http');
const [port, delay] = process.argv.slice(2).map(Number);
const level = { n: 0, area: 0n, arrivals: 0, departures: 0, last: process.hrtime.bigint() };
function move(by) {
	const now = process.hrtime.bigint();
	level.area += BigInt(level.n) * (now - level.last);
	level.last = now;
	level.n += by;
	if (by > 0) level.arrivals++;
	if (by < 0) level.departures++;
}
const server = http.createServer((request, response) => {
	if (request.url === '/_stats') {
		move(0);
		return response.end(`{"mono_ns":${level.last},"arrivals":${level.arrivals},"departures":${level.departures},"in_flight_area_ns":${level.area}}`);
	}
	move(1);
	setTimeout(() => {
		response.end('ok\n');
		move(-1);
	}, delay);
});
server.keepAliveTimeout = 60000;
server.listen(port, '127.0.0.1');
