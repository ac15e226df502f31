package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// Access is where a NATS is and how to reach it.
type Access struct {
	URL         string // such as "nats://127.0.0.1:4222"; tls:// for TLS; several URLs with commas between
	Token       string // empty: no token
	Credentials string // path of a .creds file; empty: no file
	// CA is the path of the CA certificates that the server's certificate is checked against; empty: the machine's.
	CA string

	// Patience is how long NATS may be away, at the beginning or later, before the error is workqueue.ErrUnreachable.
	// Default 2m.
	Patience time.Duration

	// Waiting is called each time NATS is away, or does not have the coordination yet; may be nil. It must not block.
	Waiting func(why string)

	// Broken returns why the NATS can no longer store anything, or nil if it can. Only an embedded NATS sets this
	// function; otherwise it may be nil.
	Broken func() error
}

// health returns why the NATS can no longer store anything, or nil if it can or that is unknown.
func (a Access) health() error {
	if a.Broken == nil {
		return nil
	}
	return a.Broken()
}

// DefaultPatience is the default of Access.Patience.
const DefaultPatience = 2 * time.Minute

var (
	// ErrAccess marks a URL, token, file or name that is wrong.
	ErrAccess = errors.New("no access to NATS")

	// ErrNoCoordination says that NATS answers, but has no coordination with the given name.
	ErrNoCoordination = errors.New("no such coordination")

	// ErrTaken says that another coordinator of the same name is at work.
	ErrTaken = errors.New("another coordinator with this name is running")

	// ErrOther says that a name is taken by other work, or by another program.
	ErrOther = errors.New("this name belongs to other work")
)

const (
	pause       = 100 * time.Millisecond // time between two attempts
	firstTime   = 2 * time.Second        // timeout of the first attempt at any request
	attemptTime = 5 * time.Second        // timeout of an attempt at a small request
	readTime    = time.Second            // timeout of a question that is soon asked again
)

// connect connects to NATS, where the connection gets the given name. After an error that may pass, connect tries again
// until the patience is over.
func (a Access) connect(ctx context.Context, as string) (*nats.Conn, error) {
	options, err := a.options(as)
	if err != nil {
		return nil, err
	}
	warned := false
	for end := time.Now().Add(a.patience()); ; {
		nc, err := nats.Connect(a.URL, options...)
		if err == nil {
			return nc, nil
		}
		err = a.redacted(err)
		switch {
		case isAccess(err):
			return nil, fmt.Errorf("%w: %s refuses the token or credentials (%w): use those that the coordinator "+
				"printed", ErrAccess, a, err)
		case time.Now().After(end):
			return nil, fmt.Errorf("%w: %s: gave up after %v: %w", workqueue.ErrUnreachable, a, a.patience(), err)
		}
		if !warned && a.Waiting != nil {
			a.Waiting(fmt.Sprintf("cannot reach %s (%v): trying for %v", a, err, a.patience()))
			warned = true
		}
		if rest(ctx); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// isAccess reports whether an error says that the server refused the credentials.
func isAccess(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) ||
		strings.Contains(strings.ToLower(err.Error()), "authorization violation")
}

// options returns the options of a connection with the given name. An error wraps ErrAccess.
func (a Access) options(as string) ([]nats.Option, error) {
	for _, one := range strings.Split(a.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Hostname() == "" || strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") ||
			!strings.Contains(" nats tls ws wss ", " "+u.Scheme+" ") {
			return nil, fmt.Errorf("%w: %q is not the URL of a NATS server: give one such as nats://127.0.0.1:4222",
				ErrAccess, a.String())
		}
	}
	o := []nats.Option{
		nats.Name(as), nats.MaxReconnects(-1), nats.ReconnectWait(pause), nats.ReconnectJitter(pause/2, pause/2),
		nats.Timeout(attemptTime),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
		nats.ReconnectBufSize(-1), // a request made while NATS was away is repeated, never sent late
		nats.SetCustomDialer(dialer{}),
	}
	if a.Waiting != nil {
		o = append(o, nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if !nc.IsClosed() && err != nil {
				a.Waiting(fmt.Sprintf("lost the connection to %s (%v): trying for "+
					"%v", a, a.redacted(err), a.patience()))
			}
		}))
	}
	if a.Token != "" {
		o = append(o, nats.Token(a.Token))
	}
	for _, path := range []string{a.Credentials, a.CA} {
		if path == "" {
			continue
		}
		if _, err := os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAccess, err)
		}
	}
	if a.Credentials != "" {
		o = append(o, nats.UserCredentials(a.Credentials))
	}
	if a.CA != "" {
		o = append(o, nats.RootCAs(a.CA))
	}
	return o, nil
}

func (a Access) patience() time.Duration { return cmp.Or(max(0, a.Patience), DefaultPatience) }

// dialer makes connections with a small send buffer. A large one would delay the renewal of a lease, which waits until
// the bytes ahead of it are sent.
type dialer struct{}

// sendBuffer is the size of the send buffer, in bytes.
const sendBuffer = 128 << 10

func (dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, attemptTime)
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // if that fails, a slow link delays signs of life for longer
	}
	return conn, err
}

// String returns the URL without users, passwords and tokens.
func (a Access) String() string {
	text, from := "", 0
	for _, span := range userinfos(a.URL) {
		text, from = text+a.URL[from:span[0]]+"***", span[1]
	}
	return text + a.URL[from:]
}

var (
	// scheme matches the beginning of each URL in a list of URLs.
	scheme = regexp.MustCompile(`(?:^|,)\s*[a-z]+:?//`)

	// userinfo matches a user, password or token before a host, as error texts of libraries quote it.
	userinfo = regexp.MustCompile(`//[^\s]*@`)
)

// userinfos returns the positions of users, passwords and tokens in a list of URLs: from each scheme to the last @
// before the next scheme. It does not parse the URLs, which may be invalid: a password may contain an @, a comma or a
// slash.
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

// redacted removes from an error the secrets that a library may have put into its text.
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
