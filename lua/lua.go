// Package lua holds every script under test, one file each, embedded. A script's header says what its KEYS and ARGV
// are, what it returns, and where its algorithm comes from.
package lua

import "embed"

//go:embed *.lua
var files embed.FS

// The scripts, by what they do.
var (
	CompareDelete             = source("compare_delete.lua")
	ComparePExpire            = source("compare_pexpire.lua")
	LockSetnxExpire           = source("lock_setnx_expire.lua")
	LockSetnxExpireBoolean    = source("lock_setnx_expire_boolean.lua")
	LockReleaseByCodes        = source("lock_release_by_codes.lua")
	LockSetnxSetexKeys        = source("lock_setnx_setex_keys.lua")
	LockRedissonAcquire       = source("lock_redisson_acquire.lua")
	LockRedissonExtend        = source("lock_redisson_extend.lua")
	LockRedissonRelease       = source("lock_redisson_release.lua")
	LockSignalRelease         = source("lock_signal_release.lua")
	LockExtendOrTake          = source("lock_extend_or_take.lua")
	LockFenced                = source("lock_fenced.lua")
	DedupGetSet               = source("dedup_get_set.lua")
	DedupConfirm              = source("dedup_confirm.lua")
	SequenceStringCompare     = source("sequence_string_compare.lua")
	SequenceStringCompareHash = source("sequence_string_compare_hash.lua")
	SequenceNumericCompare    = source("sequence_numeric_compare_hash.lua")
	SequenceDigitsCompare     = source("sequence_digits_compare.lua")
	ScanOnPrimary             = source("scan_on_primary.lua")
)

// source returns the text of an embedded script. It panics if there is no such file: then the list above has a wrong
// name, which any test shows.
func source(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(b)
}
