package redis.clients.jedis.exceptions;

public class JedisConnectionException extends JedisException {
    public JedisConnectionException(Throwable cause) { super(cause); }
}
