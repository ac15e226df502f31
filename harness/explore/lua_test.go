package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/lua"
)

func TestWhichScriptsRepeat(t *testing.T) {
	for body, want := range map[string]bool{
		`return 1`:                          true,
		`return redis.call("GET", KEYS[1])`: true,
		`if redis . pcall ( 'get' , KEYS[1]) then return 1 end`:          true,
		`return server.call('set', KEYS[1], ARGV[1])`:                    true,
		`return redis.error_reply('held')`:                               true,
		`local t = redis.call('TIME') return t[1]`:                       true,
		`-- as the redis documentation has it` + "\n" + `return 1`:       true,
		`local ok = redis.call('set', KEYS[1], ARGV[1], 'NX') return ok`: true,

		`return redis.call('SPOP', KEYS[1])`:                                       false,
		`return redis.call('SRANDMEMBER', KEYS[1])`:                                false,
		`return server.call('spop', KEYS[1])`:                                      false,
		`return redis.call('WAIT', 1, 0)`:                                          false,
		`return redis.call('HEXPIRE', KEYS[1], 10, 'FIELDS', 1, 'f')`:              false,
		`return redis.call(ARGV[1], KEYS[1])`:                                      false,
		`return redis.call('S' .. 'POP', KEYS[1])`:                                 false,
		`local call = redis.call return call('SPOP', KEYS[1])`:                     false,
		`local r = redis return r.call('SPOP', KEYS[1])`:                           false,
		`local r = redis` + "\n" + `return r.call('SPOP', KEYS[1])`:                false,
		`local r = (redis) return r.call('SPOP', KEYS[1])`:                         false,
		`local t = {redis} return t[1].call('SPOP', KEYS[1])`:                      false,
		`local f = function(r) return r.call('SPOP', KEYS[1]) end return f(redis)`: false,
		`local f = function() return redis end return f().call('SPOP', KEYS[1])`:   false,
		`return redis['call']('SPOP', KEYS[1])`:                                    false,
		`return _G.redis.call('get', KEYS[1])`:                                     false,
		`return loadstring(ARGV[1])()`:                                             false,
		`return os.clock()`:                                                        false,
	} {
		require.Equal(t, want, scriptRepeats(body), body)
	}
}

// The project's own scripts are run from memory, but for the one that lists keys.
func TestTheProjectsScriptsRepeat(t *testing.T) {
	for name, body := range lua.All() {
		require.Equal(t, name != "scan_on_primary.lua", scriptRepeats(body), name)
	}
}
