// Package fields reads structs from YAML files. Its errors name the file and the line that are wrong. Plans and suites
// use it.
package fields
