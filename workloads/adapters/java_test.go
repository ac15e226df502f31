package adapters_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// jedis has the parts of Jedis that a compiler needs. Debian does not have Jedis.
var jedis = map[string]string{
	"Jedis": `package redis.clients.jedis;
public class Jedis {
	public Jedis(java.net.URI uri, int timeout) {}
	public String set(String key, String value, redis.clients.jedis.params.SetParams params) { return null; }
	public Object eval(String script, java.util.List<String> keys, java.util.List<String> args) { return null; }
	public void close() {}
}`,
	"params/SetParams": `package redis.clients.jedis.params;
public class SetParams {
	public static SetParams setParams() { return null; }
	public SetParams nx() { return this; }
	public SetParams px(long ms) { return this; }
}`,
	"exceptions/JedisException": `package redis.clients.jedis.exceptions;
public class JedisException extends RuntimeException {}`,
}

// The adapter in Java compiles. It is not run, since that needs Jedis.
func TestTheAdapterInJavaCompiles(t *testing.T) {
	t.Parallel()
	java.interpreter(t)
	folder := t.TempDir()
	files := []string{"-d", folder, "java/Lock.java"}
	for name, text := range jedis {
		path := filepath.Join(folder, "redis/clients/jedis", name+".java")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		files = append(files, path)
	}
	out, err := exec.Command("javac", files...).CombinedOutput()
	require.NoError(t, err, string(out))
}
