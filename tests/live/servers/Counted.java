// The JDK's own HttpServer on a pool of 64 threads, with exact counters: java Counted.java PORT DELAY_MS. GET /_stats answers them.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Counted {
	static long n, area, arrivals, departures, last = System.nanoTime();

	static synchronized void move(int by) {
		long now = System.nanoTime();
		area += n * (now - last);
		last = now;
		n += by;
		if (by > 0) arrivals++;
		if (by < 0) departures++;
	}

	static synchronized String stats() {
		move(0);
		return "{\"mono_ns\":" + last + ",\"arrivals\":" + arrivals + ",\"departures\":" + departures + ",\"in_flight_area_ns\":" + area + "}";
	}

	static void answer(HttpExchange exchange, String body) throws IOException {
		exchange.sendResponseHeaders(200, body.length());
		exchange.getResponseBody().write(body.getBytes());
		exchange.close();
	}

	public static void main(String[] args) throws Exception {
		long delay = Long.parseLong(args[1]);
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 512);
		server.setExecutor(Executors.newFixedThreadPool(64));
		server.createContext("/_stats", exchange -> answer(exchange, stats()));
		server.createContext("/", exchange -> {
			move(1);
			try {
				Thread.sleep(delay);
			} catch (InterruptedException e) {
				return;
			}
			answer(exchange, "ok\n");
			move(-1);
		});
		server.start();
	}
}
