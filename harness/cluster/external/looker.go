package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness/cluster/clients"
)

// queryTimeout bounds the harness's own requests.
const queryTimeout = 3 * time.Second

// nodeClients queries nodes past all links, so that faults do not affect the queries. It sends only what any client may
// send: HELLO, and to Sentinels the questions by which clients find nodes.
type nodeClients struct {
	clients *clients.Set
	nodes   []clients.Node
}

// newNodeClients returns clients of nodes, which are Redis nodes or, if sentinels is true, Sentinels. It does not dial.
func newNodeClients(nodes []clients.Node, d clients.Deployment, sentinels bool) (*nodeClients, error) {
	to := clients.Deployment{Nodes: nodes, Masters: len(nodes), Username: d.Username, Password: d.Password, TLS: d.TLS}
	if sentinels {
		to.Username, to.Password = d.SentinelUsername, d.SentinelPassword
	}
	c, err := clients.Open(to, clients.Options{Groups: 1, Clients: 4, OpTimeout: queryTimeout})
	return &nodeClients{c, nodes}, err
}

func (l *nodeClients) close() {
	if l != nil && l.clients != nil {
		_ = l.clients.Close() // nothing is lost with it
	}
}

// do sends a command to l.nodes[node].
func (l *nodeClients) do(ctx context.Context, node int, words ...any) (any, error) {
	all, err := l.clients.ConnectAll(0)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	reply, err := all[node].(*redis.Client).Do(ctx, words...).Result()
	if err != nil {
		return nil, fmt.Errorf("%s %w", l.nodes[node].Name, plainError(err))
	}
	return reply, nil
}

// helloReply is a node's answer to HELLO, which needs no permission.
type helloReply struct{ server, version, mode, role string }

func (l *nodeClients) hello(ctx context.Context, node int) (g helloReply, err error) {
	reply, err := l.do(ctx, node, "HELLO", "2")
	if err != nil {
		return g, err
	}
	if _, ok := reply.([]any); !ok {
		return g, fmt.Errorf("%s does not answer HELLO as Redis does", l.nodes[node].Name)
	}
	said := pairsOf(reply)
	return helloReply{said["server"], said["version"], said["mode"], said["role"]}, nil
}

// pairsOf returns the values in a reply that lists names and values in turn, by name.
func pairsOf(reply any) map[string]string {
	words, _ := reply.([]any)
	values := map[string]string{}
	for pair := range slices.Chunk(words[:len(words)&^1], 2) {
		values[fmt.Sprint(pair[0])] = fmt.Sprint(pair[1])
	}
	return values
}

// primaryAddress returns the address of the primary that the Sentinel l.nodes[sentinel] names.
func (l *nodeClients) primaryAddress(ctx context.Context, sentinel int, master string) (string, error) {
	reply, err := l.do(ctx, sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", master)
	if err != nil {
		return "", err
	}
	parts, ok := reply.([]any)
	if !ok || len(parts) != 2 {
		return "", fmt.Errorf("%s names no primary", l.nodes[sentinel].Name)
	}
	return net.JoinHostPort(fmt.Sprint(parts[0]), fmt.Sprint(parts[1])), nil
}

// knownPeers returns the addresses that the Sentinel l.nodes[sentinel] lists. The parameter list is REPLICAS or
// SENTINELS.
func (l *nodeClients) knownPeers(ctx context.Context, sentinel int, list, master string) (all []string, err error) {
	reply, err := l.do(ctx, sentinel, "SENTINEL", list, master)
	if err != nil {
		return nil, err
	}
	rows, _ := reply.([]any)
	for _, row := range rows {
		if peer := pairsOf(row); peer["ip"] != "" && peer["port"] != "" {
			all = append(all, net.JoinHostPort(peer["ip"], peer["port"]))
		}
	}
	return all, nil
}

// plainError rewords a client's error without addresses, users and passwords. The new text continues a sentence that
// begins with a node's name, as in "r1 does not answer in time".
func plainError(err error) error {
	var reply redis.Error
	var network net.Error
	var op *net.OpError
	switch {
	case errors.As(err, &reply):
		return &redactedError{plainRefusal(err.Error()), err}
	case errors.As(err, &op):
		return &redactedError{"cannot be reached: " + op.Err.Error(), err}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return &redactedError{"does not answer in time", err}
	case errors.Is(err, context.Canceled):
		return err
	case strings.Contains(err.Error(), "sentinels specified"):
		return &redactedError{"cannot be found: no Sentinel answers", err}
	}
	return &redactedError{"cannot be reached", err}
}

// plainRefusal says what a server's error reply means. The reply itself may name users and addresses.
func plainRefusal(reply string) string {
	word, _, _ := strings.Cut(reply, " ")
	switch word {
	case "WRONGPASS":
		return "rejects the user and password (WRONGPASS): correct the URL"
	case "NOAUTH":
		return "requires a password (NOAUTH): give it in the URL"
	case "NOPERM":
		return "denies the user a permission (NOPERM): the permissions needed are in harness/cluster/external/README.md"
	}
	return fmt.Sprintf("refuses: %s", word)
}

// redactedError is an error whose text shows no addresses, users and passwords.
type redactedError struct {
	text string
	err  error
}

func (a *redactedError) Error() string { return a.text }
func (a *redactedError) Unwrap() error { return a.err }
