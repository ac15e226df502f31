package jetstream_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// TestNoPasswordIsShown looks for canaries: parts of a user, a password or a token.
func TestNoPasswordIsShown(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"nats://10.0.0.5:4222":                               "nats://10.0.0.5:4222",
		"nats://canary1:canary2@h:4222":                      "nats://***@h:4222",
		"nats://canary1:canary2@canary3@h":                   "nats://***@h",
		"nats://canary1@h":                                   "nats://***@h",
		"nats://canary1@canary2@h":                           "nats://***@h",
		"nats://canary1:canary2/canary3@h":                   "nats://***@h",
		"nats://canary1:canary2,canary3@h":                   "nats://***@h",
		"nats://canary1:canary2#canary3?canary4@h":           "nats://***@h",
		"nats://canary1:%63anary%40x@h":                      "nats://***@h",
		"nats://canary1:canary2@h1,tls://canary3@canary4@h2": "nats://***@h1,tls://***@h2",
		"nats://h1, nats://canary1:canary2@h2,nats://h3":     "nats://h1, nats://***@h2,nats://h3",
		"canary1:canary2@h":                                  "***@h",
		"nats//canary1:canary2@h":                            "nats//***@h",
		"nats://canary1:canary2://canary3@h":                 "nats://***@h",
		"nats://canary1:nats://canary2@h":                    "nats://***@h",
	} {
		a := jetstream.Access{URL: url, Patience: time.Nanosecond}
		require.Equal(t, want, a.String())
		if strings.Contains(url, "canary") {
			a.Waiting = func(why string) { require.NotContains(t, why, "anary", url) }
			_, _, err := jetstream.Join(t.Context(), a, "main", "w")
			require.Error(t, err)
			require.NotContains(t, err.Error(), "anary", url)
			require.NotContains(t, err.Error(), "\n")
		}
	}
}

// TestNoSecretOfALibrarysErrorIsShown has error texts of libraries that quote a part of the URL or the token.
func TestNoSecretOfALibrarysErrorIsShown(t *testing.T) {
	t.Parallel()
	a := jetstream.Access{URL: "nats://user:canary1@canary2%40@h1,nats://canary3@h2", Token: "canary4"}
	for _, text := range []string{
		`parse "nats://user:canary1@canary2%40@h1": it is bad`,
		"dial: user:canary1@canary2%40 is no port",
		"the password canary1@canary2@ is wrong",
		"the password canary1@canary2%40 is wrong",
		"the token canary3 is wrong", "the token canary4 is wrong",
	} {
		require.NotContains(t, jetstream.Redacted(a, text), "canary")
		require.Contains(t, jetstream.Redacted(a, text), "***")
	}
	require.Equal(t, "i/o timeout", jetstream.Redacted(a, "i/o timeout"))
}
