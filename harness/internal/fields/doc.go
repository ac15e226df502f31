// Package fields reads structs from YAML files, and says in which file and on which line something is wrong. Plans and suites
// are read by it.
package fields
