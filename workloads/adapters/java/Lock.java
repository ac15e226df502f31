// A lock in Java (Jedis) for doublegrant: doublegrant explore -- java -cp 'lib/*:.' Lock
//
// To test your own lock, change acquire and release. The rest speaks the protocol:
// https://github.com/doublegrant/doublegrant/blob/main/workloads/adapters/README.md
import java.io.*;
import java.net.URI;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.SetParams;

/** The lock of one client. Each method returns whether it was done, and throws if nobody knows. */
class Lock {
    static final String RELEASE = "if redis.call(\"get\", KEYS[1]) == ARGV[1] then return redis.call(\"del\", KEYS[1]) end return 0";

    private final Jedis redis;

    Lock(String url, int timeout) { // timeout in milliseconds; 0: wait for as long as it takes
        redis = new Jedis(URI.create(url), timeout);
    }

    boolean acquire(String key, String owner, long ttl) { // try once; owner is a token that nobody else has
        return "OK".equals(redis.set(key, owner, SetParams.setParams().nx().px(ttl)));
    }

    boolean release(String key, String owner) {
        return Long.valueOf(1).equals(redis.eval(RELEASE, List.of(key), List.of(owner)));
    }

    void close() { redis.close(); }

    static String url;
    static int timeout;

    public static void main(String[] args) throws IOException {
        Map<String, ExecutorService> clients = new HashMap<>(); // a thread for each, which does one operation after the other
        Map<String, Lock> locks = new ConcurrentHashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String r = line, id = field(r, "id"), client = field(r, "client");
            switch (field(r, "do")) {
                case "init":
                    url = field(r, "redis");
                    timeout = Integer.parseInt("0" + field(r, "timeout_ms"));
                    say(id, "\"ok\":true,\"version\":1,\"can\":[\"acquire\",\"release\"],\"symmetric\":true");
                    break;
                case "reset":
                    say(id, "\"ok\":true");
                    break;
                default:
                    clients.computeIfAbsent(client, c -> Executors.newSingleThreadExecutor()).execute(() -> operate(r, id, client, locks));
            }
        }
        System.exit(0);
    }

    static void operate(String r, String id, String client, Map<String, Lock> locks) {
        try {
            Lock lock = locks.computeIfAbsent(client, c -> new Lock(url, timeout));
            boolean ok = field(r, "do").equals("acquire")
                ? lock.acquire(field(r, "key"), field(r, "owner"), Long.parseLong(field(r, "ttl_ms")))
                : lock.release(field(r, "key"), field(r, "owner"));
            say(id, "\"ok\":" + ok);
        } catch (JedisException e) {
            Lock lost = locks.remove(client); // the next operation connects anew
            if (lost != null) lost.close();
            say(id, "\"info\":\"" + e.getClass().getSimpleName() + "\"");
        }
    }

    /** Returns a field of a line; empty: it has none. Keys and tokens of the harness have no quotes. */
    static String field(String line, String name) {
        Matcher m = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(line);
        return m.find() ? m.group(1) : "";
    }

    static synchronized void say(String id, String rest) {
        System.out.println("{\"id\":" + id + "," + rest + "}");
    }
}
