// HTTP/2 without TLS: http2.js serve PORT answers after 20 ms; http2.js load PORT keeps 16 streams busy on each of 4 connections for 20 s.
const http2 = require('http2');
const [what, port] = process.argv.slice(2);
if (what === 'serve') {
	const server = http2.createServer();
	server.on('stream', (stream) => setTimeout(() => {
		if (stream.destroyed) return;
		stream.respond({ ':status': 200 });
		stream.end('ok\n');
	}, 20));
	server.listen(Number(port), '127.0.0.1');
} else {
	for (let i = 0; i < 4; i++) {
		const session = http2.connect(`http://127.0.0.1:${port}`);
		session.on('error', () => process.exit(0));
		const ask = () => {
			const request = session.request({ ':path': '/' });
			request.on('data', () => {});
			request.on('error', () => process.exit(0));
			request.on('end', ask);
			request.end();
		};
		for (let k = 0; k < 16; k++) ask();
	}
	setTimeout(() => process.exit(0), 20000);
}
