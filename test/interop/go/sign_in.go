package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// host is what an application brings: a listener on loopback, and a way to open the user's browser, behind which sits
// the scripted person of $BROWSER.
type host struct {
	arrived chan *auth.AuthorizationResult
	asked   int
}

func (h *host) ServeHTTP(_ http.ResponseWriter, request *http.Request) {
	if query := request.URL.Query(); query.Has("code") {
		h.arrived <- &auth.AuthorizationResult{Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss")}
	}
}

func (h *host) open(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	h.asked++
	if h.asked > 1 {
		return nil, errors.New("asked again")
	}
	if err := exec.Command(os.Getenv("BROWSER"), args.URL).Run(); err != nil {
		return nil, err
	}
	select {
	case result := <-h.arrived:
		return result, nil
	case <-time.After(20 * time.Second):
		return nil, errors.New("the browser never came")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// trySignIn lets the SDK sign in by itself. Its first access token counts as over at once, so that it refreshes.
func trySignIn(ctx context.Context, where stage, era string) (string, error) {
	application := &host{arrived: make(chan *auth.AuthorizationResult, 1)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	go http.Serve(listener, application)
	callback := "http://" + listener.Addr().String() + "/callback"
	first, last := "", func() string { return "" }
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName:   "A host of the Go SDK",
			RedirectURIs: []string{callback},
			GrantTypes:   []string{"authorization_code", "refresh_token"},
		}},
		AuthorizationCodeFetcher: application.open,
		NewTokenSource: func(ctx context.Context, config *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			first = token.AccessToken
			over := *token
			over.Expiry = time.Now().Add(-time.Second)
			source := config.TokenSource(ctx, &over)
			last = func() string {
				if token, err := source.Token(); err == nil {
					return token.AccessToken
				}
				return ""
			}
			return source, nil
		},
	})
	if err != nil {
		return "", err
	}
	connect := func() (*mcp.ClientSession, error) {
		c := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, nil)
		transport := &mcp.StreamableClientTransport{Endpoint: where.mcp(where.PrivateNamespace), OAuthHandler: handler}
		return c.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	}
	session, err := connect()
	if err != nil {
		return "", err
	}
	defer session.Close()
	content, err := readBytes(ctx, session, "skill://"+where.PrivateNamespace+"/inner-secret/SKILL.md")
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(content), "# Inner") {
		return "", fmt.Errorf("read %q", content)
	}
	if now := last(); now == "" || now == first {
		return "", fmt.Errorf("it did not refresh")
	}
	withdrawn, err := exec.Command(os.Getenv("BROWSER"), "--withdraw", where.Origin).CombinedOutput()
	if err != nil || strings.TrimSpace(string(withdrawn)) != "1" {
		return "", fmt.Errorf("withdrawn: %s %w", withdrawn, err)
	}
	again, err := connect()
	if err == nil {
		again.Close()
		return "", errors.New("it still connects after its sign-in was withdrawn")
	}
	if application.asked < 2 {
		return "", fmt.Errorf("refused otherwise: %w", err)
	}
	return "", nil
}
