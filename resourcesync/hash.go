package resourcesync

import (
	"encoding/hex"
	"fmt"
	"iter"
	"strings"
)

// Hash is the value of a hash attribute: digests of one bitstream, separated by
// white space, each as algorithm, colon and hexadecimal digits. See
// Z39.99-2017 §7.
type Hash string

// HashOf joins pairs of algorithm and hexadecimal digest into a Hash.
func HashOf(pairs ...[2]string) Hash {
	words := make([]string, len(pairs))
	for i, p := range pairs {
		words[i] = p[0] + ":" + p[1]
	}
	return Hash(strings.Join(words, " "))
}

// All yields algorithm and digest of each part, in order, as they are written.
// A part without a colon comes out as an algorithm with an empty digest.
func (h Hash) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for word := range strings.FieldsSeq(string(h)) {
			algorithm, digest, _ := strings.Cut(word, ":")
			if !yield(algorithm, digest) {
				return
			}
		}
	}
}

// Get returns the digest by one algorithm, in lower case, or "" if there is
// none.
func (h Hash) Get(algorithm string) string {
	for a, d := range h.All() {
		if strings.EqualFold(a, algorithm) {
			return strings.ToLower(d)
		}
	}
	return ""
}

// hexDigits says how long the digests of well-known algorithms are.
var hexDigits = map[string]int{"md5": 32, "sha-1": 40, "sha-256": 64, "sha-384": 96, "sha-512": 128}

// Check returns an error if the attribute is not a list of digests: if a part
// has no algorithm, is not hexadecimal, is too long or too short for its
// algorithm, or if an algorithm comes twice.
func (h Hash) Check() error {
	seen := map[string]bool{}
	for algorithm, digest := range h.All() {
		algorithm = strings.ToLower(algorithm)
		if seen[algorithm] {
			return fmt.Errorf("hash %q: two digests by %s", h, algorithm)
		}
		seen[algorithm] = true
		if err := checkDigest(algorithm, digest); err != nil {
			return fmt.Errorf("hash %q: %w", h, err)
		}
	}
	if len(seen) == 0 {
		return fmt.Errorf("hash %q: no digest in it", h)
	}
	return nil
}

func checkDigest(algorithm, digest string) error {
	if algorithm == "" || digest == "" {
		return fmt.Errorf("a part is not of the form algorithm:digest")
	}
	if _, err := hex.DecodeString(digest); err != nil {
		return fmt.Errorf("the %s digest is not hexadecimal", algorithm)
	}
	if want := hexDigits[algorithm]; want != 0 && len(digest) != want {
		return fmt.Errorf("the %s digest has %d digits, not %d", algorithm, len(digest), want)
	}
	return nil
}
