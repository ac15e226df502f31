package external

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster/clients"
)

func TestURLs(t *testing.T) {
	node := func(name, addr string) clients.Node { return clients.Node{Name: name, Announced: addr} }
	for text, want := range map[string]clients.Deployment{
		"redis://h":         {Nodes: []clients.Node{node("r1", "h:6379")}},
		"redis://h:1\n":     {Nodes: []clients.Node{node("r1", "h:1")}},
		"redis://[::1]:7/2": {Nodes: []clients.Node{node("r1", "[::1]:7")}, Database: 2},
		"redis://[::1]":     {Nodes: []clients.Node{node("r1", "[::1]:6379")}},
		"redis://:p%40ss@h": {Nodes: []clients.Node{node("r1", "h:6379")}, Password: "p@ss"},
		"rediss://u:p:q@h": {Nodes: []clients.Node{node("r1", "h:6379")}, Username: "u", Password: "p:q",
			TLS: &clients.TLS{}},
		"redis+sentinel://a,b:5/main": {Sentinels: []clients.Node{node("s1", "a:26379"), node("s2", "b:5")},
			MasterName: "main"},
		"rediss+sentinel://u:p@a/m/3?sentinel_password=s&sentinel_username=t": {
			Sentinels: []clients.Node{node("s1", "a:26379")}, MasterName: "m", Database: 3, Username: "u",
			Password:         "p",
			SentinelUsername: "t", SentinelPassword: "s", TLS: &clients.TLS{},
		},
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got.seeds, text)
	}
	got, err := Parse("redis+sentinel://u:canary@a,b:5/main")
	require.NoError(t, err)
	require.Equal(t, "a:26379,b:5", got.Hosts())
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		require.Equal(t, "0 Redis nodes, 2 Sentinels, a password", fmt.Sprintf(verb, got))
	}
}

func TestAWrongURLIsNotRepeated(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "has an unknown form",
		"canary:6379":                        "has an unknown form",
		"http://canary":                      "has an unknown form",
		"redis://":                           "HOST or HOST:PORT",
		"redis://canary:x":                   "HOST or HOST:PORT",
		"redis://canary:99999":               "HOST or HOST:PORT",
		"redis://::1":                        "brackets",
		"redis://canary@h":                   "a user and no password",
		"redis://u:canary%zz@h":              "percent-encoded",
		"redis://canary,h":                   "several hosts",
		"redis://h/canary":                   "not a number",
		"redis://h/-1":                       "not a number",
		"redis+sentinel://canary":            "MASTER-NAME",
		"redis://h?password=canary":          "leave the rest out",
		"redis://h?sentinel_password=c":      "of Sentinels",
		"redis+sentinel://h/m?%zz=canary":    "percent-encoded",
		"redis+sentinel://h/m/0?user=canary": "leave the rest out",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "canary", text)
	}
}

func TestCertificatesAreForTLS(t *testing.T) {
	plain, err := Parse("redis://h")
	require.NoError(t, err)
	_, err = plain.WithTLS("canary", "", "")
	require.ErrorContains(t, err, "rediss://")
	secured, err := Parse("rediss://h")
	require.NoError(t, err)
	_, err = secured.WithTLS("canary", "", "")
	require.ErrorContains(t, err, "no certificate in")
	_, err = secured.WithTLS("", "canary", "canary")
	require.ErrorContains(t, err, "not a pair")
	same, err := plain.WithTLS("", "", "")
	require.NoError(t, err)
	require.Equal(t, plain, same)
}
