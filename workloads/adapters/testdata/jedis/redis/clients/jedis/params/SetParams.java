package redis.clients.jedis.params;

import java.util.*;

public class SetParams {
    public final List<String> words = new ArrayList<>();

    public static SetParams setParams() { return new SetParams(); }

    public SetParams nx() { return with("NX"); }

    public SetParams px(long ms) { return with("PX", String.valueOf(ms)); }

    private SetParams with(String... more) {
        words.addAll(List.of(more));
        return this;
    }
}
