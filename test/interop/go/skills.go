package main

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK has no skills methods yet (go-sdk#1238), but calls any method that it was told of.

type skill struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Resources   []skillFile     `json:"resources"`
}

type pageParams struct {
	mcp.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

type uriParams struct {
	mcp.ParamsBase
	URI string `json:"uri"`
}

type listResult struct {
	mcp.ResultBase
	Skills     []skill `json:"skills"`
	NextCursor string  `json:"nextCursor,omitempty"`
}

type getResult struct {
	mcp.ResultBase
	Skill skill `json:"skill"`
}

type directoryResult struct {
	mcp.ResultBase
	Resources []mcp.Resource `json:"resources"`
}

func knowSkills(c *mcp.Client) error {
	if err := mcp.AddSendingCustomMethod[*pageParams, *listResult](c, "skills/list"); err != nil {
		return err
	}
	if err := mcp.AddSendingCustomMethod[*uriParams, *getResult](c, "skills/get"); err != nil {
		return err
	}
	return mcp.AddSendingCustomMethod[*uriParams, *directoryResult](c, "resources/directory/read")
}

func listSkills(ctx context.Context, session *mcp.ClientSession) (all []skill, err error) {
	for cursor := ""; ; {
		page, err := mcp.CallCustomMethod[*pageParams, *listResult](ctx, session, "skills/list", &pageParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Skills...)
		if cursor = page.NextCursor; cursor == "" {
			return all, nil
		}
	}
}

func getSkill(ctx context.Context, session *mcp.ClientSession, uri string) (skill, error) {
	found, err := mcp.CallCustomMethod[*uriParams, *getResult](ctx, session, "skills/get", &uriParams{URI: uri})
	if err != nil {
		return skill{}, err
	}
	return found.Skill, nil
}

func readDirectory(ctx context.Context, session *mcp.ClientSession, uri string) ([]mcp.Resource, error) {
	found, err := mcp.CallCustomMethod[*uriParams, *directoryResult](ctx, session, "resources/directory/read", &uriParams{URI: uri})
	if err != nil {
		return nil, err
	}
	return found.Resources, nil
}
