package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"
)

// stage is what test/interop/stage.ts tells in the variable REGISTRY.
type stage struct {
	Origin           string `json:"origin"`
	Namespace        string `json:"namespace"`
	PrivateNamespace string `json:"privateNamespace"`
	ReaderToken      string `json:"readerToken"`
	PublisherToken   string `json:"publisherToken"`
	ReadLink         string `json:"readLink"`
}

func readStage() (found stage, err error) {
	err = json.Unmarshal([]byte(os.Getenv("REGISTRY")), &found)
	return found, err
}

func (s stage) mcp(namespace string) string { return s.Origin + "/mcp/" + namespace }

// odd files of test/wire/library.ts: bytes that are no text, and a text whose BOM, CRLF and name are easily lost.
var odd = map[string]string{
	"skill://hiring-desk/match-candidates/assets/sample.bin":            "\xff\x00\xfe\x80",
	"skill://hiring-desk/match-candidates/references/Grüße & Anrede.md": "\ufeffSehr geehrte …\r\n",
}

// skillFile is a line of a skill's manifest.
type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

// verify holds content against size and digest, and against the bytes themselves where we know them.
func (f skillFile) verify(content []byte) error {
	if len(content) != f.Size {
		return fmt.Errorf("%s: %d bytes instead of %d", f.URI, len(content), f.Size)
	}
	sum := sha256.Sum256(content)
	if digest := "sha256:" + hex.EncodeToString(sum[:]); digest != f.Digest {
		return fmt.Errorf("%s: %s instead of %s", f.URI, digest, f.Digest)
	}
	name, err := url.PathUnescape(f.URI)
	if err != nil {
		return err
	}
	if known, isOdd := odd[name]; isOdd && known != string(content) {
		return fmt.Errorf("%s: %q", f.URI, content)
	}
	return nil
}

func freshName() string { return fmt.Sprintf("go-%d", time.Now().UnixNano()%1e9) }

// publish makes one release with the publisher's token, as the README does it.
func (s stage) publish(name, text string) error {
	skill := fmt.Sprintf("---\nname: %s\ndescription: A skill that somebody publishes while clients listen.\n---\n# %s\n", name, text)
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	if err := archive.WriteHeader(&tar.Header{Name: "SKILL.md", Mode: 0o644, Size: int64(len(skill))}); err != nil {
		return err
	}
	if _, err := archive.Write([]byte(skill)); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	request, err := http.NewRequest("POST", s.Origin+"/api/v1/namespaces/"+s.Namespace+"/skills", &packed)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.PublisherToken)
	request.Header.Set("Content-Type", "application/gzip")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("the publish was answered %s", answer.Status)
	}
	return nil
}
