package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScriptsThatTouchTheirKEYSOnly(t *testing.T) {
	for body, want := range map[string]bool{
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`:     true,
		`return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`:                                  true,
		"local key = KEYS[1]\nlocal v = redis.pcall('hget', key, 'f')\nreturn redis.call('incr', KEYS[2])": true,
		`return 1`: true,

		`return redis.call("get", ARGV[1])`:                                              false,
		`return redis.call("get", "lock")`:                                               false,
		`return redis.call("get", KEYS[1] .. ":fence")`:                                  false,
		`return redis.call("del", KEYS[1], "fence")`:                                     false,
		`return redis.call("mset", KEYS[1], 1, "fence", 2)`:                              false,
		`redis.call("select", KEYS[1])`:                                                  false,
		`return redis.call("keys", KEYS[1])`:                                             false,
		"local key = KEYS[1]\nkey = 'fence'\nreturn redis.call('get', key)":              false,
		"local key = KEYS[1]\nkey, n = 'fence', 1\nreturn redis.call('get', key)":        false,
		"local key = KEYS[1]\nlocal n, key = 1, 'fence'\nreturn redis.call('get', key)":  false,
		"local key = KEYS[1]\nfor _, key in ipairs(ARGV) do redis.call('get', key) end":  false,
		"local key = KEYS[1]\nlocal f = function(key) return redis.call('get', key) end": false,
		`KEYS[1] = "fence" return redis.call("get", KEYS[1])`:                            false,
		`KEYS = ARGV return redis.call("get", KEYS[1])`:                                  false,
		`table.insert(KEYS, "fence") return redis.call("get", KEYS[2])`:                  false,
		`local f = redis.call return f("get", "fence")`:                                  false,
		`return redis.call(ARGV[1], KEYS[1])`:                                            false,
		`return redis.call("eval", KEYS[1])`:                                             false,
	} {
		known := NewScripts(nil)
		require.Equal(t, want, known.TouchesKEYSOnly([][]byte{[]byte("EVAL"), []byte(body), []byte("1"), []byte("k")}),
			body)
		require.False(t, known.TouchesKEYSOnly(
			[][]byte{[]byte("EVALSHA"), []byte(Hash(body)), []byte("1"), []byte("k")}), "nobody has seen it")
	}
}
