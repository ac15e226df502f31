package clients_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/clients"
	"github.com/doublegrant/doublegrant/harness/cluster/clients/clientstest"
)

// rules are the ACL rules that these tests need.
const rules = "~* &* +@all -@admin -@dangerous"

func TestEveryLinkFaultBitesInsideTLS(t *testing.T) {
	d := clientstest.Start(t, clientstest.Options{TLS: true, Rules: rules})
	a := open(t, d.Deployment, clients.Options{})
	r := connect(t, a, 1)
	writes(t, r)
	for _, f := range faults {
		t.Run(f.String(), func(t *testing.T) { bites(t, a, f) })
	}
	writes(t, r)
	heal, err := a.Impair([]harness.Link{{From: "g1", To: "r1"}}, harness.Latency(50*time.Millisecond, 0))
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, r.Set(t.Context(), "k", "v", 0).Err())
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond, "a connection with TLS that was there before")
	require.NoError(t, heal())
	writes(t, r)
	heal, err = a.Impair([]harness.Link{{From: "g1", To: "r1"}}, harness.Refuse())
	require.NoError(t, err)
	require.Error(t, r.Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, heal())
	writes(t, r)
}

func TestSentinelsWithTLSAndPasswords(t *testing.T) {
	d := clientstest.Start(t, clientstest.Options{TLS: true, Rules: rules, Replicas: 1, Sentinels: 3})
	seen := &servers{}
	a := open(t, d.Deployment, clients.Options{Groups: 2, OnServes: seen.serves})
	writes(t, connect(t, a, 0))
	require.Equal(t, []string{"r1"}, seen.of(0))
	require.NoError(t, a.Echo(t.Context(), "g1", "s3", 5))
	require.NoError(t, a.Echo(t.Context(), "g1", "r2", 5))
}

func TestWhoIsNotLetIn(t *testing.T) {
	d := clientstest.Start(t, clientstest.Options{TLS: true, Rules: rules})
	stranger, err := clientstest.CA()
	require.NoError(t, err)
	for name, change := range map[string]func(d *clients.Deployment){
		"not accepted":                          func(d *clients.Deployment) { d.Password = "canary-wrong" },
		"is signed by a CA that is not trusted": func(d *clients.Deployment) { d.TLS = &clients.TLS{CA: stranger} },
		"is for another name": func(d *clients.Deployment) {
			d.TLS = &clients.TLS{CA: d.TLS.CA, ServerName: "example.org"}
		},
		// the server may give the reason, or close first
		"": func(d *clients.Deployment) { d.TLS = &clients.TLS{CA: d.TLS.CA} },
	} {
		t.Run(name, func(t *testing.T) {
			d := d.Deployment
			change(&d)
			a := open(t, d, clients.Options{})
			err := a.Echo(t.Context(), "g0", "r1", 5)
			require.ErrorContains(t, err, name)
			require.NotContains(t, err.Error(), "canary")
		})
	}
}
