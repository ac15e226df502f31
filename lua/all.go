package lua

import "io/fs"

// All returns the text of every script of the folder, by file name.
func All() map[string]string {
	all := map[string]string{}
	names, err := fs.Glob(files, "*.lua")
	if err != nil {
		panic(err) // only a malformed pattern is an error
	}
	for _, name := range names {
		all[name] = source(name)
	}
	return all
}
