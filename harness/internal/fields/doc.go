// Package fields reads structs from YAML files. Its errors name the file and the line of the mistake. Plans and suites
// use it.
package fields
