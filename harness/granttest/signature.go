package granttest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// This file finds methods that no client would call, because their signature differs from that of the interface with
// the same method. Otherwise such a method would silently stay untested.

// optional is a method that an algorithm may have.
type optional struct {
	name string
	args []string     // names of its arguments, for messages
	in   reflect.Type // an interface with only this method
	with string       // another optional method, without which clients do not call this one; empty: none
}

// optionals lists the optional methods of each kind. Each belongs to an interface in options.go.
var optionals = map[kind][]optional{
	lockKind: {
		{"Extend", []string{"ctx", "key", "owner", "ttl"}, reflect.TypeFor[interface {
			Extend(context.Context, string, string, time.Duration) (bool, error)
		}](), ""},
		{"Fence", nil, reflect.TypeFor[interface{ Fence() string }](), ""},
	},
	dedupKind: {
		{"Confirm", []string{"ctx", "id", "window"}, reflect.TypeFor[interface {
			Confirm(context.Context, string, time.Duration) (bool, error)
		}](), "Lease"},
		{"Lease", []string{"window"}, reflect.TypeFor[interface {
			Lease(time.Duration) time.Duration
		}](), "Confirm"},
		{"Inspect", []string{"ctx", "id"}, reflect.TypeFor[interface {
			Inspect(context.Context, string) (bool, time.Duration, error)
		}](), ""},
	},
}

// required names the methods that every algorithm of a kind has. The compiler enforces them.
var required = map[kind][]string{lockKind: {"Acquire", "Release"}, dedupKind: {"First"}, sequenceKind: {"Next"}}

// untried explains, one line per method, why clients would not call optional methods of typ. It is empty if clients
// call all of them.
func untried(k kind, typ reflect.Type) (lines []string) {
	for _, m := range optionals[k] {
		if why := m.untriedIn(k, typ); why != "" {
			lines = append(lines, fmt.Sprintf("%s has %s", strings.TrimLeft(typ.String(), "*"), why))
		}
	}
	return lines
}

// untriedIn describes the method or field of typ that has the name of m, and why clients cannot call it. It is empty if
// clients can call it, or if typ has no method or field of that name.
func (m optional) untriedIn(k kind, typ reflect.Type) string {
	if got, ok := typ.MethodByName(m.name); ok {
		if !typ.Implements(m.in) {
			return fmt.Sprintf("%s%s, which cannot be tested: it has to be %s", m.name, signatureOf(got), m)
		}
		if other := partner(k, m.with); m.with != "" && !typ.Implements(other.in) && !has(typ, m.with) {
			return fmt.Sprintf("%s but no %s, and one cannot be tested without the other: add %s", m.name, m.with,
				other)
		}
		return ""
	}
	if isValue(typ) && has(reflect.PointerTo(typ), m.name) {
		return fmt.Sprintf("%s with a pointer receiver, but the constructor returns no pointer, so it cannot be "+
			"tested: let it return a *%v", m.name, typ)
	}
	if f, ok := fieldOf(typ, m.name); ok && f.Type == m.in.Method(0).Type {
		return fmt.Sprintf("%s as a field, which cannot be tested: it has to be a method, %s", m.name, m)
	}
	return ""
}

// partner returns the optional method with a given name; the zero value if there is none.
func partner(k kind, name string) (other optional) {
	if i := slices.IndexFunc(optionals[k], func(o optional) bool { return o.name == name }); i >= 0 {
		return optionals[k][i]
	}
	return other
}

func has(typ reflect.Type, method string) bool {
	_, ok := typ.MethodByName(method)
	return ok
}

func isValue(typ reflect.Type) bool {
	return typ.Kind() != reflect.Pointer && typ.Kind() != reflect.Interface
}

// fieldOf returns the field of a struct or of a pointer to one.
func fieldOf(typ reflect.Type, name string) (f reflect.StructField, ok bool) {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return f, false
	}
	return typ.FieldByName(name)
}

func (m optional) String() string {
	typ := m.in.Method(0).Type
	var args []string
	for i, name := range m.args {
		if i+1 < typ.NumIn() && typ.In(i+1) == typ.In(i) { // Go names the type of adjacent arguments once
			args = append(args, name)
			continue
		}
		args = append(args, name+" "+typ.In(i).String())
	}
	return m.name + "(" + strings.Join(args, ", ") + ")" + resultsOf(typ)
}

// signatureOf returns the arguments and results of a method, without its receiver.
func signatureOf(m reflect.Method) string {
	first := 1
	if !m.Func.IsValid() { // a method of an interface has no receiver
		first = 0
	}
	var args []string
	for i := first; i < m.Type.NumIn(); i++ {
		arg := m.Type.In(i).String()
		if m.Type.IsVariadic() && i == m.Type.NumIn()-1 {
			arg = "..." + m.Type.In(i).Elem().String()
		}
		args = append(args, arg)
	}
	return "(" + strings.Join(args, ", ") + ")" + resultsOf(m.Type)
}

// resultsOf returns the results of a function, after a space if there are any.
func resultsOf(f reflect.Type) string {
	var out []string
	for i := range f.NumOut() {
		out = append(out, f.Out(i).String())
	}
	switch len(out) {
	case 0:
		return ""
	case 1:
		return " " + out[0]
	}
	return " (" + strings.Join(out, ", ") + ")"
}
