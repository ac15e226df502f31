package workloads

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/suggest"
)

// Catalogue lists every variant that comes with the project, in the order of its documentation.
func Catalogue() []Variant {
	return slices.Concat(lockVariants(), foreignVariants(), dedupVariants(), sequenceVariants(),
		[]Variant{saddVariant(), saddWait(waitAcks), roundsVariant(0)})
}

func lockVariants() []Variant {
	return []Variant{
		setnx(),
		setnxExpire(),
		setnxExpireTruncated(),
		luaConstant(),
		luaOwner(),
		luaKeys(),
		setNXPX(),
		setNXPXGetDel(),
		blindDel(),
		getsetDeadline(),
		watchMulti(),
		redisson(),
		redissonWatchdog(),
		watchdogRearms(),
		blpopSignal(),
		blpopSignalLease(),
		fenced(),
		setNXPXWait(waitAcks),
		redlock(),
		libRedsync(),
		libRedsyncQuorum(),
		libRedsyncRetries(),
		libRedislock(),
		libRedislockToken(),
		libRedislockRetries(),
		libGoRedisLock(),
	}
}

func dedupVariants() []Variant {
	return []Variant{
		dedupGetSet(),
		dedupGetSetLua(),
		dedupSetnxExpire(),
		dedupSetNXEX(),
		dedupWatchMulti(),
		dedupLockGetSet(),
		dedupSetNXEXWait(waitAcks),
		dedupClaimConfirm(),
		libGoRedisDedup(),
	}
}

func sequenceVariants() []Variant {
	all := []Variant{
		sequenceStringCompare(),
		sequenceStringCompareHash(),
		sequenceNumericCompareHash(),
		sequenceDigitsCompare(),
		sequenceIncr(),
		sequenceIncrWait(waitAcks),
		sequenceGetSet(),
	}
	for i := range all {
		all[i].inspect = inspectSequence
	}
	return all
}

// Find returns the variant called id. The error for an unknown id names similar ones.
func Find(id string) (Variant, error) {
	if id == "" {
		return Variant{}, errors.New("no variant is named: `doublegrant list` shows them all")
	}
	if instead := ownName(id); instead != "" {
		return Variant{}, fmt.Errorf("%q is the name that doublegrant gives to your own %s, not a variant of the "+
			"catalogue", id, instead)
	}
	var sameFamily, all []string
	for _, v := range Catalogue() {
		if v.ID == id {
			return v, nil
		}
		all = append(all, v.ID)
		if strings.HasPrefix(v.ID, strings.SplitN(id, "/", 2)[0]+"/") {
			sameFamily = append(sameFamily, v.ID)
		}
	}
	if suggestion := suggest.Question("", id, all); suggestion != "" {
		return Variant{}, fmt.Errorf("unknown variant %q: %s `doublegrant list` shows them all", id, suggestion)
	}
	if len(sameFamily) > 0 {
		return Variant{}, fmt.Errorf("unknown variant %q: choose one of %s", id, strings.Join(sameFamily, ", "))
	}
	return Variant{}, fmt.Errorf("unknown variant %q: `doublegrant list` shows them all", id)
}

// ScriptPrefix is the start of the ids of variants that are Lua scripts of the user.
const ScriptPrefix = "script/"

// ownName says, for an error message, how to run a user's own script or adapter, given its id in reports. For any other
// id it returns "".
func ownName(id string) string {
	switch {
	case strings.HasPrefix(id, AdapterPrefix):
		return "adapter: give its command (--adapter \"python3 lock.py\", or adapter in a file)"
	case strings.HasPrefix(id, ScriptPrefix):
		return "script: give its file (--script take.lua --as lock, or script in a file)"
	}
	return ""
}
