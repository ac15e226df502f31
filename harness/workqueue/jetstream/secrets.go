package jetstream

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// String returns the URL without users, passwords and tokens.
func (a Access) String() string {
	text, from := "", 0
	for _, span := range userinfos(a.URL) {
		text, from = text+a.URL[from:span[0]]+"***", span[1]
	}
	return text + a.URL[from:]
}

var (
	// scheme matches the beginning of each URL in a list.
	scheme = regexp.MustCompile(`(?:^|,)\s*[a-z]+:?//`)

	// userinfo matches what a library may have put before a host.
	userinfo = regexp.MustCompile(`//[^\s]*@`)
)

// userinfos returns the positions of users, passwords and tokens in a list of URLs: between each scheme and the last @
// before the next scheme. A password may contain an @, a comma or a slash, and the text need not be a valid URL, so it
// is not parsed as one.
func userinfos(text string) (all [][2]int) {
	starts := []int{0}
	for _, at := range scheme.FindAllStringIndex(text, -1) {
		starts = append(starts, at[1])
	}
	for i, start := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		if at := strings.LastIndex(text[start:end], "@"); at > 0 {
			all = append(all, [2]int{start, start + at})
		}
	}
	return all
}

// secrets returns the texts that must not be shown, the longest first.
func (a Access) secrets() (all []string) {
	infos := []string{a.Token}
	for _, span := range userinfos(a.URL) {
		infos = append(infos, a.URL[span[0]:span[1]])
	}
	for _, info := range infos {
		user, password, both := strings.Cut(info, ":")
		all = append(all, info, password)
		if !both {
			all = append(all, user) // it is a token
		}
	}
	for _, secret := range all {
		if plain, err := url.PathUnescape(secret); err == nil {
			all = append(all, plain)
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(all)
}

// redacted returns an error without the secrets that a library may have put into it.
func (a Access) redacted(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, secret := range a.secrets() {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = userinfo.ReplaceAllString(text, "//***@")
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
