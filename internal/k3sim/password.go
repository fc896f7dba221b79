package k3sim

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"

	"golang.org/x/crypto/scrypt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PasswordType is the type of the Secrets that hold the passwords of nodes, in kube-system.
const PasswordType corev1.SecretType = "k3s.cattle.io/node-password"

// PasswordOf is the name of the Secret of a node's password.
func PasswordOf(node string) string { return node + ".node-password.k3s" }

// errPassword says that a node's password is another one, or cannot be told from another one.
var errPassword = errors.New("unable to verify password for node")

// hashForm is version, salt, the logarithm of N, r, p, and the key in base64.
const hashForm = "$%d:%x:%d:%d:%d:%s"

// hashOf is a password as a server keeps it.
func hashOf(password string) (string, error) {
	salt := make([]byte, 8)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	key, err := scrypt.Key([]byte(password), salt, 1<<15, 8, 1, 64)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(hashForm, 1, salt, 15, 8, 1, base64.RawStdEncoding.EncodeToString(key)), nil
}

// verifyHash says why a password is not the one behind a hash, nil when it is.
func verifyHash(hash, password string) error {
	var version, logN, r, p int
	var salt []byte
	var text string
	if _, err := fmt.Sscanf(hash, hashForm, &version, &salt, &logN, &r, &p, &text); err != nil {
		return err
	}
	key, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	if version != 1 || logN < 1 || logN > 20 {
		return fmt.Errorf("hash version %d with 2^%d rounds is not known", version, logN)
	}
	again, err := scrypt.Key([]byte(password), salt, 1<<logN, r, p, len(key))
	switch {
	case err != nil:
		return err
	case subtle.ConstantTimeCompare(again, key) != 1:
		return errors.New("hash does not match")
	}
	return nil
}

// ensurePassword holds a node's password to that of its Secret, which is made where there is none.
func (s *Server) ensurePassword(ctx context.Context, node, password string) error {
	secrets := s.client.CoreV1().Secrets(metav1.NamespaceSystem)
	known, err := secrets.Get(ctx, PasswordOf(node), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		var hash string
		if hash, err = hashOf(password); err != nil {
			return err
		}
		immutable := true
		_, err = secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: PasswordOf(node)},
			Type:       PasswordType, Immutable: &immutable, Data: map[string][]byte{"hash": []byte(hash)},
		}, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		known, err = secrets.Get(ctx, PasswordOf(node), metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	if err := verifyHash(string(known.Data["hash"]), password); err != nil {
		return fmt.Errorf("%w %s: %w", errPassword, node, err)
	}
	return nil
}
