// The official Go SDK's client against a started registry, in both eras that it speaks. Prints a row for each thing tried.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const matchCandidates = "skill://hiring-desk/match-candidates/SKILL.md"

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	where, err := readStage()
	if err != nil {
		log.Fatal(err)
	}
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		try(era, "connect; list, search and load by tools", func() (string, error) { return tryTools(ctx, where, era) })
		try(era, "skills/list, skills/get, directory; every file to the byte", func() (string, error) { return trySkills(ctx, where, era) })
		try(era, "told of a publish: list_changed, and updated for a watched skill", func() (string, error) { return tryChanges(ctx, where, era) })
		try(era, "private namespace: bearer token, read link; refused without", func() (string, error) { return tryPrivate(ctx, where, era) })
		try(era, "its own OAuth from nothing; refreshes; asks again once that is withdrawn at /account", func() (string, error) { return trySignIn(ctx, where, era) })
	}
}

// bearer sends a token with every request, as a host would.
type bearer string

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	if b != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(request)
}

func connect(ctx context.Context, url, era string, token bearer, options *mcp.ClientOptions) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, options)
	if err := knowSkills(c); err != nil {
		return nil, err
	}
	transport := &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: token}}
	session, err := c.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		return nil, err
	}
	if spoken := session.InitializeResult().ProtocolVersion; spoken != era {
		session.Close()
		return nil, fmt.Errorf("negotiated %s", spoken)
	}
	return session, nil
}

func tryTools(ctx context.Context, where stage, era string) (string, error) {
	session, err := connect(ctx, where.mcp(where.Namespace), era, "", nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	names := map[string]bool{}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return "", err
		}
		names[tool.Name] = true
	}
	if !names["search_skills"] || !names["load_skill"] {
		return "", fmt.Errorf("tools: %v", names)
	}
	question := map[string]any{"query": "which vacancy suits this CV"}
	found, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "search_skills", Arguments: question})
	if err != nil {
		return "", err
	}
	var answer struct{ Cards []struct{ URI string } }
	if err := remarshal(found.StructuredContent, &answer); err != nil {
		return "", err
	}
	if len(answer.Cards) == 0 || answer.Cards[0].URI != matchCandidates {
		return "", fmt.Errorf("found %+v", answer)
	}
	loaded, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "load_skill", Arguments: map[string]any{"uri": matchCandidates}})
	if err != nil {
		return "", err
	}
	for _, content := range loaded.Content {
		if text, isText := content.(*mcp.TextContent); isText && strings.Contains(text.Text, "name: match-candidates") {
			return "", nil
		}
	}
	return "", fmt.Errorf("loaded %+v", loaded.Content)
}

func trySkills(ctx context.Context, where stage, era string) (string, error) {
	session, err := connect(ctx, where.mcp(where.Namespace), era, "", nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	if _, has := session.InitializeResult().Capabilities.Extensions["io.modelcontextprotocol/skills"]; !has {
		return "", fmt.Errorf("no extension in %+v", session.InitializeResult().Capabilities)
	}
	skills, err := listSkills(ctx, session)
	if err != nil {
		return "", err
	}
	files, oddFiles := 0, 0
	for _, listed := range skills {
		got, err := getSkill(ctx, session, listed.URI)
		if err != nil {
			return "", err
		}
		if !reflect.DeepEqual(got, listed) {
			return "", fmt.Errorf("skills/get differs from the list: %+v", got)
		}
		for _, file := range listed.Resources {
			content, err := readBytes(ctx, session, file.URI)
			if err != nil {
				return "", err
			}
			if err := file.verify(content); err != nil {
				return "", err
			}
			files++
			if strings.Contains(file.URI, "/sample.bin") || strings.Contains(file.URI, "Anrede.md") {
				oddFiles++
			}
		}
	}
	if oddFiles != len(odd) {
		return "", fmt.Errorf("only %d of the odd files are listed", oddFiles)
	}
	children, err := readDirectory(ctx, session, strings.TrimSuffix(matchCandidates, "/SKILL.md"))
	if err != nil {
		return "", err
	}
	if len(children) != 3 {
		return "", fmt.Errorf("the skill's folder holds %+v", children)
	}
	return fmt.Sprintf("by CallCustomMethod, since %s has no skills methods; %d skills, %d files", version(), len(skills), files), nil
}

func readBytes(ctx context.Context, session *mcp.ClientSession, uri string) ([]byte, error) {
	read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", uri, err)
	}
	if len(read.Contents) != 1 || read.Contents[0].URI != uri {
		return nil, fmt.Errorf("asked for %s, got %+v", uri, read.Contents)
	}
	if read.Contents[0].Blob != nil {
		return read.Contents[0].Blob, nil
	}
	return []byte(read.Contents[0].Text), nil
}

func tryChanges(ctx context.Context, where stage, era string) (string, error) {
	name := freshName()
	uri := strings.Replace(matchCandidates, "match-candidates", name, 1)
	if err := where.publish(name, "Steps."); err != nil {
		return "", err
	}
	heard := make(chan string, 100)
	session, err := connect(ctx, where.mcp(where.Namespace), era, "", &mcp.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { heard <- "list_changed" },
		ResourceUpdatedHandler: func(_ context.Context, told *mcp.ResourceUpdatedNotificationRequest) {
			heard <- "updated " + told.Params.URI
		},
	})
	if err != nil {
		return "", err
	}
	defer session.Close()
	if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
		return "", err
	}
	if _, err := readBytes(ctx, session, uri); err != nil { // so that it is in the client's cache
		return "", err
	}
	time.Sleep(time.Second) // the streams open in the background
	if err := where.publish(name, "Other steps."); err != nil {
		return "", err
	}
	missing := map[string]bool{"list_changed": true, "updated " + uri: true}
	deadline := time.After(10 * time.Second)
	for len(missing) > 0 {
		select {
		case what := <-heard:
			delete(missing, what) // the same may come twice
		case <-deadline:
			return "", fmt.Errorf("never heard %v", missing)
		}
	}
	text, err := readBytes(ctx, session, uri)
	if err == nil && !strings.Contains(string(text), "Other steps") {
		err = fmt.Errorf("after the notification it reads %q", text)
	}
	return "", err
}

func tryPrivate(ctx context.Context, where stage, era string) (string, error) {
	for url, token := range map[string]bearer{
		where.mcp(where.PrivateNamespace): bearer(where.ReaderToken),
		where.ReadLink + "/mcp":           "",
	} {
		session, err := connect(ctx, url, era, token, nil)
		if err != nil {
			return "", err
		}
		defer session.Close()
		skills, err := listSkills(ctx, session)
		if err != nil {
			return "", err
		}
		if len(skills) != 1 {
			return "", fmt.Errorf("listed %+v", skills)
		}
		content, err := readBytes(ctx, session, skills[0].URI)
		if err != nil {
			return "", err
		}
		if !strings.Contains(string(content), "# Inner") {
			return "", fmt.Errorf("read %q", content)
		}
	}
	session, err := connect(ctx, where.mcp(where.PrivateNamespace), era, "", nil)
	if err == nil {
		session.Close()
		return "", fmt.Errorf("a stranger connected to a private namespace")
	}
	if !strings.Contains(err.Error(), "Unauthorized") {
		return "", fmt.Errorf("refused otherwise: %w", err)
	}
	return "without: " + err.Error(), nil
}

func remarshal(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}
