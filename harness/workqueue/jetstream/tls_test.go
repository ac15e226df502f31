package jetstream_test

import (
	"crypto/tls"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// certificate returns httptest's self-signed certificate for 127.0.0.1, and a file with it for clients.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), 0o644))
	return web.TLS.Certificates[0], file
}

// identity returns a key pair and its public key.
func identity(t *testing.T, create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
	t.Helper()
	pair, err := create()
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	return pair, public
}

// credentials returns an operator, an account that may use JetStream, and a .creds file of one of its users.
func credentials(t *testing.T) (operator *jwt.OperatorClaims, accounts server.AccountResolver, system, file string) {
	t.Helper()
	operatorKey, operatorID := identity(t, nkeys.CreateOperator)
	operator = jwt.NewOperatorClaims(operatorID)
	accounts = &server.MemAccResolver{}
	add := func(jetStream bool) (nkeys.KeyPair, string) {
		key, id := identity(t, nkeys.CreateAccount)
		claims := jwt.NewAccountClaims(id)
		if jetStream {
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: jwt.NoLimit, MemoryStorage: jwt.NoLimit,
				Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
		}
		text, err := claims.Encode(operatorKey)
		require.NoError(t, err)
		require.NoError(t, accounts.Store(id, text))
		return key, id
	}
	_, system = add(false)
	accountKey, _ := add(true)
	userKey, userID := identity(t, nkeys.CreateUser)
	text, err := jwt.NewUserClaims(userID).Encode(accountKey)
	require.NoError(t, err)
	seed, err := userKey.Seed()
	require.NoError(t, err)
	creds, err := jwt.FormatUserConfig(text, seed)
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "team.creds")
	require.NoError(t, os.WriteFile(file, creds, 0o600))
	return operator, accounts, system, file
}

// TestTLSAndCredentials checks that a server that requires TLS and credentials is reached only with both.
func TestTLSAndCredentials(t *testing.T) {
	t.Parallel()
	cert, ca := certificate(t)
	operator, accounts, system, creds := credentials(t)
	s, err := server.NewServer(&server.Options{
		ServerName: "tls", Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		NoLog: true, NoSigs: true,
		TLS: true, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		TLSTimeout:       10,
		TrustedOperators: []*jwt.OperatorClaims{operator}, AccountResolver: accounts, SystemAccount: system,
	})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(time.Minute))
	a := jetstream.Access{URL: "tls://" + s.Addr().String(), Credentials: creds, CA: ca, Patience: time.Minute}
	q := lead(t, a, jetstream.Sizes{})
	doOne(t, q, join(t, a, "w"), workqueue.Unit{Kind: "x", Body: []byte("1")})
	require.NoError(t, q.End(t.Context()))

	without := a
	without.Credentials = ""
	_, _, err = jetstream.Join(t.Context(), without, "main", "w")
	oneLineWith(t, err, jetstream.ErrAccess, "refuses the token or credentials")
	stranger := a
	stranger.CA, stranger.Patience = "", 300*time.Millisecond
	_, _, err = jetstream.Join(t.Context(), stranger, "main", "w")
	oneLineWith(t, err, workqueue.ErrUnreachable, "certificate")
}
