package external

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/doublegrant/doublegrant/harness/cluster/clients"
)

// Target is the address of a deployment and how to log in. Parse makes it. Printed, it shows no address and no secret.
type Target struct {
	seeds clients.Deployment // nodes or Sentinels as given
}

// String describes the target without addresses.
func (t Target) String() string { return t.seeds.String() }

// GoString returns String.
func (t Target) GoString() string { return t.String() }

// Hosts returns host:port of each given node or Sentinel, separated by commas, for the user to confirm. It is the only
// method that shows an address.
func (t Target) Hosts() string {
	var hosts []string
	for _, n := range slices.Concat(t.seeds.Nodes, t.seeds.Sentinels) {
		hosts = append(hosts, n.Announced)
	}
	return strings.Join(hosts, ",")
}

// forms lists the forms of a target, for errors.
const forms = "redis://USER:PASSWORD@HOST:PORT or redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER-NAME, " +
	"with TLS rediss"

// Parse reads a URL:
//
//	redis[s]://[[user]:password@]host[:port][/database]
//	redis[s]+sentinel://[[user]:password@]host[:port],.../master-name[/database][?query]
//
// The default port is 6379, and 26379 for Sentinels. User and password are for the Redis nodes, percent-encoded where
// they have special characters. User and password for the Sentinels are sentinel_username and sentinel_password in the
// query. rediss means TLS, also to Sentinels. Errors repeat nothing of the URL.
func Parse(text string) (Target, error) {
	scheme, rest, ok := strings.Cut(strings.TrimSpace(text), "://")
	sentinel := strings.HasSuffix(scheme, "+sentinel")
	plain := strings.TrimSuffix(scheme, "+sentinel")
	if !ok || plain != "redis" && plain != "rediss" {
		return Target{}, errors.New("the URL of Redis has an unknown form: write " + forms)
	}
	var t Target
	if plain == "rediss" {
		t.seeds.TLS = &clients.TLS{}
	}
	rest, query, _ := strings.Cut(rest, "?")
	if err := t.readQuery(query, sentinel); err != nil {
		return Target{}, err
	}
	rest, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		if err := t.readUser(rest[:i]); err != nil {
			return Target{}, err
		}
		rest = rest[i+1:]
	}
	if err := t.readPath(path, sentinel); err != nil {
		return Target{}, err
	}
	return t, t.readHosts(strings.Split(rest, ","), sentinel)
}

func (t *Target) readUser(text string) (err error) {
	user, password, _ := strings.Cut(text, ":")
	if t.seeds.Username, err = url.PathUnescape(user); err == nil {
		t.seeds.Password, err = url.PathUnescape(password)
	}
	switch {
	case err != nil:
		return errors.New("user or password in the URL of Redis is not percent-encoded: write %40 for @, %3A for :, " +
			"%2F for /, %25 for %")
	case t.seeds.Username != "" && t.seeds.Password == "":
		return errors.New("the URL of Redis has a user and no password: write USER:PASSWORD@, or :PASSWORD@ without " +
			"a user")
	}
	return nil
}

func (t *Target) readPath(path string, sentinel bool) (err error) {
	database := path
	if sentinel {
		var name string
		name, database, _ = strings.Cut(path, "/")
		if t.seeds.MasterName, err = url.PathUnescape(name); err != nil || t.seeds.MasterName == "" {
			return errors.New("the URL of Sentinels needs the name by which they know the primary: " +
				"HOST:PORT/MASTER-NAME")
		}
	}
	if database == "" {
		return nil
	}
	if t.seeds.Database, err = strconv.Atoi(database); err != nil || t.seeds.Database < 0 {
		return errors.New("the database in the URL of Redis is not a number")
	}
	return nil
}

func (t *Target) readQuery(query string, sentinel bool) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("what follows ? in the URL of Redis is not percent-encoded")
	}
	for name := range values {
		switch {
		case sentinel && name == "sentinel_username":
			t.seeds.SentinelUsername = values.Get(name)
		case sentinel && name == "sentinel_password":
			t.seeds.SentinelPassword = values.Get(name)
		default:
			return errors.New("what follows ? in the URL of Redis can be sentinel_username and sentinel_password, of " +
				"Sentinels: leave the rest out")
		}
	}
	return nil
}

func (t *Target) readHosts(all []string, sentinel bool) error {
	letter, port, into := "r", "6379", &t.seeds.Nodes
	if sentinel {
		letter, port, into = "s", "26379", &t.seeds.Sentinels
	}
	if !sentinel && len(all) > 1 {
		return errors.New("the URL of Redis has several hosts: name the primary alone, or the Sentinels with " +
			"redis+sentinel://")
	}
	for i, text := range all {
		host, given, err := net.SplitHostPort(text)
		if err != nil {
			host, given, err = net.SplitHostPort(text + ":" + port)
		}
		if number, wrong := strconv.Atoi(given); err != nil || host == "" || wrong != nil || number < 1 ||
			number > 65535 {
			return errors.New("a host in the URL of Redis is not HOST or HOST:PORT; an IPv6 address stands in brackets")
		}
		*into = append(*into, clients.Node{Name: fmt.Sprintf("%s%d", letter, i+1),
			Announced: net.JoinHostPort(host, given)})
	}
	return nil
}

// WithTLS returns the target with certificates as PEM texts: the CA of the servers, and the client's certificate and
// key. Empty texts change nothing. The error says that the target has no TLS, or what is wrong with the texts.
func (t Target) WithTLS(ca, certificate, key string) (Target, error) {
	if ca == "" && certificate == "" && key == "" {
		return t, nil
	}
	if t.seeds.TLS == nil {
		return t, errors.New("certificates are for TLS: write rediss:// or rediss+sentinel:// in the URL of Redis")
	}
	t.seeds.TLS = &clients.TLS{CA: ca, Certificate: certificate, Key: key}
	_, err := t.seeds.TLS.Config()
	return t, err
}
