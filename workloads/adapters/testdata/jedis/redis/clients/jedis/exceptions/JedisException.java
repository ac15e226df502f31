package redis.clients.jedis.exceptions;

public class JedisException extends RuntimeException {
    public JedisException(String message) { super(message); }

    public JedisException(Throwable cause) { super(cause); }
}
