// Package suggest finds the names that a misspelled one may have been meant for.
package suggest

import (
	"cmp"
	"slices"
	"strings"
)

const (
	most    = 3  // largest number of names that are suggested
	longest = 60 // length in bytes of the longest word for which names are suggested
)

// Nearest lists up to three of the names that a word may be a misspelling of, the nearest first. Names that begin with
// the word are nearest, if the word has at least three bytes. Any other name may differ from the word in a third of the
// word's bytes, at least one and at most three. A word without a slash is also compared with the part of each name that
// follows a slash. Nearest returns nothing for an empty word, or for a word of more than 60 bytes.
func Nearest(word string, names []string) (near []string) {
	if word == "" || len(word) > longest {
		return nil
	}
	type candidate struct {
		name string
		far  int
	}
	var all []candidate
	for _, name := range names {
		far := Distance(word, name)
		if _, last, ok := strings.Cut(name, "/"); ok && !strings.Contains(word, "/") {
			far = min(far, Distance(word, last))
		}
		if len(word) > 2 && strings.HasPrefix(name, word) {
			far = 0
		}
		if far <= min(3, max(1, len(word)/3)) && far < len(word) {
			all = append(all, candidate{name, far})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	for _, c := range all[:min(most, len(all))] {
		near = append(near, c.name)
	}
	return near
}

// Question returns "did you mean a, or b?" with the names nearest to the word, each with the prefix in front. The
// result is empty if no name is near.
func Question(prefix, word string, names []string) string {
	near := Nearest(word, names)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + prefix + strings.Join(near, ", or "+prefix) + "?"
}

// DidYouMean returns what to say about an unknown word: a Question that suggests the nearest names or, if no name is
// near, "choose one of" and all names.
func DidYouMean(word string, names []string) string {
	return cmp.Or(Question("", word, names), "choose one of "+strings.Join(names, ", "))
}

// Distance returns the least number of edits that turn a into b. An edit inserts, removes or changes a byte, or swaps
// two neighbouring bytes. No byte is edited twice.
func Distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			rows[i][j] = min(change, rows[i][j-1]+1, rows[i-1][j]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
