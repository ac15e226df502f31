package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness/cluster/attached"
)

// lookWithin is the time for which an answer to one of our own questions is waited for.
const lookWithin = 3 * time.Second

// looker asks nodes past all links, so that no fault blinds us. It asks no more than any client may: HELLO, and of Sentinels where
// the primary is.
type looker struct {
	clients *attached.Clients
	nodes   []attached.Node
}

// lookAt returns a looker at nodes, which are Redis nodes or all Sentinels. It dials nobody.
func lookAt(nodes []attached.Node, d attached.Deployment, sentinels bool) (*looker, error) {
	to := attached.Deployment{Nodes: nodes, Masters: len(nodes), Username: d.Username, Password: d.Password, TLS: d.TLS}
	if sentinels {
		to.Username, to.Password = d.SentinelUsername, d.SentinelPassword
	}
	c, err := attached.Open(to, attached.Options{Groups: 1, Clients: 4, OpTimeout: lookWithin})
	return &looker{c, nodes}, err
}

func (l *looker) close() error {
	if l == nil || l.clients == nil {
		return nil
	}
	return l.clients.Close()
}

// do sends a command to the node of that number.
func (l *looker) do(ctx context.Context, node int, words ...any) (any, error) {
	all, err := l.clients.ConnectAll(0)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	reply, err := all[node].(*redis.Client).Do(ctx, words...).Result()
	if err != nil {
		return nil, fmt.Errorf("%s %w", l.nodes[node].Name, plainly(err))
	}
	return reply, nil
}

// greeting is what a node says of itself in answer to HELLO, which needs no rights.
type greeting struct{ server, version, mode, role string }

func (l *looker) hello(ctx context.Context, node int) (g greeting, err error) {
	reply, err := l.do(ctx, node, "HELLO", "2")
	if err != nil {
		return g, err
	}
	fields, ok := reply.([]any)
	if !ok {
		return g, fmt.Errorf("%s does not answer HELLO as Redis does", l.nodes[node].Name)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		value := fmt.Sprint(fields[i+1])
		switch fmt.Sprint(fields[i]) {
		case "server":
			g.server = value
		case "version":
			g.version = value
		case "mode":
			g.mode = value
		case "role":
			g.role = value
		}
	}
	return g, nil
}

// primaryAddress returns the address by which the Sentinel of that number names the primary.
func (l *looker) primaryAddress(ctx context.Context, sentinel int, master string) (string, error) {
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

// others returns the addresses that the Sentinel of that number lists with SENTINEL REPLICAS or SENTINEL SENTINELS.
func (l *looker) others(ctx context.Context, sentinel int, list, master string) (all []string, err error) {
	reply, err := l.do(ctx, sentinel, "SENTINEL", list, master)
	if err != nil {
		return nil, err
	}
	rows, _ := reply.([]any)
	for _, row := range rows {
		fields, _ := row.([]any)
		ip, port := "", ""
		for i := 0; i+1 < len(fields); i += 2 {
			switch fmt.Sprint(fields[i]) {
			case "ip":
				ip = fmt.Sprint(fields[i+1])
			case "port":
				port = fmt.Sprint(fields[i+1])
			}
		}
		if ip != "" && port != "" {
			all = append(all, net.JoinHostPort(ip, port))
		}
	}
	return all, nil
}

// plainly returns an error of a client in words that follow a node's name, without addresses, users and passwords.
func plainly(err error) error {
	var reply redis.Error
	var network net.Error
	var op *net.OpError
	switch {
	case errors.As(err, &reply):
		return &answer{plainAnswer(err.Error()), err}
	case errors.As(err, &op):
		return &answer{"cannot be reached: " + op.Err.Error(), err}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return &answer{"does not answer in time", err}
	case errors.Is(err, context.Canceled):
		return err
	case strings.Contains(err.Error(), "sentinels specified"):
		return &answer{"cannot be asked for: no Sentinel answers", err}
	}
	return &answer{"cannot be reached", err}
}

// plainAnswer returns what a server's refusal means. Its own words may have names of users and addresses in them.
func plainAnswer(reply string) string {
	word, _, _ := strings.Cut(reply, " ")
	switch word {
	case "WRONGPASS":
		return "does not accept user and password (WRONGPASS)"
	case "NOAUTH":
		return "wants a password (NOAUTH): give it in the URL"
	case "NOPERM":
		return "does not let the user do this (NOPERM): see what it needs in harness/cluster/external/README.md"
	}
	return fmt.Sprintf("refuses: %s", word)
}

// answer is an error in words of our own.
type answer struct {
	text string
	err  error
}

func (a *answer) Error() string { return a.text }
func (a *answer) Unwrap() error { return a.err }
