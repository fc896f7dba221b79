package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	attestation "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// buildType names how the files were made: by make release, as the repository has it.
const buildType = "https://sluice.dev/sluice/make-release/v1"

// provenance is an in-toto statement with a SLSA predicate: from which commit, by which Go, the files were made. It is not signed.
func (b build) provenance(files []entry) ([]byte, error) {
	parameters, err := structpb.NewStruct(map[string]any{"version": b.version, "target": "make release"})
	if err != nil {
		return nil, err
	}
	p := &provenance.Provenance{
		BuildDefinition: &provenance.BuildDefinition{
			BuildType: buildType, ExternalParameters: parameters,
			ResolvedDependencies: []*attestation.ResourceDescriptor{
				{Name: "sluice", Uri: "git+https://sluice.dev/sluice@" + b.version, Digest: map[string]string{"gitCommit": b.revision}},
				{Name: "go", Uri: "pkg:generic/go@" + b.goes[len("go"):]},
			},
		},
		RunDetails: &provenance.RunDetails{Builder: &provenance.Builder{Id: buildType}},
	}
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("provenance: %w", err)
	}
	text, err := protojson.Marshal(p)
	if err != nil {
		return nil, err
	}
	predicate := &structpb.Struct{}
	if err := protojson.Unmarshal(text, predicate); err != nil {
		return nil, err
	}
	s := &attestation.Statement{Type: attestation.StatementTypeUri, PredicateType: "https://slsa.dev/provenance/v1", Predicate: predicate}
	for _, f := range files {
		s.Subject = append(s.Subject, &attestation.ResourceDescriptor{Name: f.name, Digest: map[string]string{"sha256": fmt.Sprintf("%x", sha256.Sum256(f.content))}})
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("provenance: %w", err)
	}
	if text, err = protojson.Marshal(s); err != nil {
		return nil, err
	}
	var out bytes.Buffer // protojson's own spaces differ from run to run
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	return append(out.Bytes(), '\n'), nil
}
