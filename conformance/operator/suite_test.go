package operator

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

const (
	patience = 60 * time.Second
	// Where the definition and the webhooks are, seen from where this is run.
	folder = "conformance/operator/"
)

var api client.Client

// TestMain installs the definition and the webhooks and runs the operator, as suites on envtest do;
// only that the server is already there.
func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code, err := inEnvironment(m.Run)
	if err != nil {
		fmt.Println("FAILED:", err)
		code = 1
	}
	os.Exit(code)
}

func inEnvironment(run func() int) (int, error) {
	existing := true
	environment := &envtest.Environment{
		Config:                &rest.Config{Host: os.Getenv("LISTWATCH_SERVER")},
		UseExistingCluster:    &existing,
		CRDDirectoryPaths:     []string{folder + "crd.yaml"},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{folder + "webhooks.yaml"}},
	}
	config, err := environment.Start()
	if err != nil {
		return 1, err
	}
	if err := addToScheme(scheme.Scheme); err != nil {
		return 1, err
	}
	if api, err = client.New(config, client.Options{Scheme: scheme.Scheme}); err != nil {
		return 1, err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	manager, err := newManager(ctx, config, environment.WebhookInstallOptions)
	if err != nil {
		stop()
		return 1, err
	}
	go func() { ended <- manager.Start(ctx) }()
	<-manager.Elected()
	if err := waitForPort(environment.WebhookInstallOptions); err != nil {
		stop()
		return 1, err
	}
	code := run()
	stop()
	if err := <-ended; err != nil {
		return 1, err
	}
	return code, environment.Stop()
}

func newManager(
	ctx context.Context,
	config *rest.Config,
	hooks envtest.WebhookInstallOptions,
) (ctrl.Manager, error) {
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme.Scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "greetings",
		LeaderElectionNamespace:       "default",
		LeaderElectionReleaseOnCancel: true,
		WebhookServer: webhook.NewServer(webhook.Options{
			Host:    hooks.LocalServingHost,
			Port:    hooks.LocalServingPort,
			CertDir: hooks.LocalServingCertDir,
		}),
	})
	if err != nil {
		return nil, err
	}
	reconciler := &Reconciler{Client: manager.GetClient()}
	if err := reconciler.setUp(ctx, manager); err != nil {
		return nil, err
	}
	return manager, setUpWebhook(manager)
}

func waitForPort(hooks envtest.WebhookInstallOptions) error {
	address := net.JoinHostPort(hooks.LocalServingHost, strconv.Itoa(hooks.LocalServingPort))
	deadline := time.Now().Add(patience)
	for {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			return connection.Close()
		}
		if time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// newNamespace makes a namespace for one test, and sees it go away with all that is in it.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, api.Create(t.Context(), &namespace))
	t.Cleanup(func() {
		ctx := context.Background()
		must(t, client.IgnoreNotFound(api.Delete(ctx, &namespace)))
		eventually(t, "the namespace is gone", func() bool {
			err := api.Get(ctx, client.ObjectKeyFromObject(&namespace), &namespace)
			return apierrors.IsNotFound(err)
		})
	})
	return namespace.Name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("in vain we waited that %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
