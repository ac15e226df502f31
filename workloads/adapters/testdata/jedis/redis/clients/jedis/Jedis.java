package redis.clients.jedis;

import java.io.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import redis.clients.jedis.exceptions.*;
import redis.clients.jedis.params.SetParams;

/** Stands in for Jedis, which Debian lacks, in tests. It has the methods that the adapter in Java calls. */
public class Jedis {
    private final Socket socket = new Socket();
    private InputStream in;
    private OutputStream out;

    public Jedis(URI uri, int timeout) {
        try {
            socket.connect(new InetSocketAddress(uri.getHost(), uri.getPort()), timeout);
            socket.setSoTimeout(timeout);
            in = new BufferedInputStream(socket.getInputStream());
            out = socket.getOutputStream();
        } catch (IOException e) {
            throw new JedisConnectionException(e);
        }
    }

    public String set(String key, String value, SetParams params) {
        List<String> words = new ArrayList<>(List.of("SET", key, value));
        words.addAll(params.words);
        return (String) command(words);
    }

    public Object eval(String script, List<String> keys, List<String> args) {
        List<String> words = new ArrayList<>(List.of("EVAL", script, String.valueOf(keys.size())));
        words.addAll(keys);
        words.addAll(args);
        return command(words);
    }

    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new JedisConnectionException(e);
        }
    }

    private Object command(List<String> words) {
        StringBuilder text = new StringBuilder("*" + words.size() + "\r\n"); // of ASCII only
        for (String w : words) text.append('$').append(w.length()).append("\r\n").append(w).append("\r\n");
        try {
            out.write(text.toString().getBytes(StandardCharsets.UTF_8));
            String head = line(), rest = head.substring(1);
            switch (head.charAt(0)) {
                case '+': return rest;
                case ':': return Long.valueOf(rest);
                case '$': return rest.equals("-1") ? null : line();
                default: throw new JedisDataException(rest);
            }
        } catch (IOException e) {
            throw new JedisConnectionException(e);
        }
    }

    private String line() throws IOException {
        StringBuilder text = new StringBuilder();
        for (int c; (c = in.read()) != '\n'; ) {
            if (c < 0) throw new EOFException();
            if (c != '\r') text.append((char) c);
        }
        return text.toString();
    }
}
